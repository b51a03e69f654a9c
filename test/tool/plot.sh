#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tulle predict and tulle plot: every kind of picture from recorded lines, and what malformed ones are told.
# plot.sh TULLE LINES
set -u
tulle=$1
lines=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
. "$(dirname "$0")/tap.sh"
# expect STATUS PATTERN COMMAND...
expect() {
    status=$1 pattern=$2
    shift 2
    "$tulle" "$@" >"$work/out" 2>&1
    got=$?
    [ $got = "$status" ] && grep -q -e "$pattern" "$work/out"
    report $? "$* -> $got (wanted $status, '$pattern'): $(head -c 300 "$work/out" | tr '\n' ' ')"
}
# holds PATTERN TEXT: the script that was kept has such a line
holds() {
    grep -q -e "$1" "$work/p.gp"
    report $? "$2"
}

draws() { # ARGUMENTS: silently
    "$tulle" plot "$@" >"$work/out" 2>&1 && [ ! -s "$work/out" ]
    report $? "plot $*: $(head -c 300 "$work/out")"
}

# what is in the scripts
draws scaling "$lines/runs.json" "$lines/predictions.json" -o "$work/p.gp"
holds "title 'spgemm rmat:scale=6 stationary-c'" "a curve a name, with what differs in it"
holds "title 'spmm rmat:scale=8 summa (model)'" "predictions are told from runs"
[ "$(grep -c '^\$series' "$work/p.gp")" = 6 ] && [ "$(sed -n '/^\$series0/,/^EOD/p' "$work/p.gp" | wc -l)" = 5 ]
report $? "six curves, the first of three points"
holds "'24' 24,'96' 96" "PEs on the axis"
draws scaling "$lines/solves.json" -o "$work/p.gp"
holds "xlabel 'PEs'" "solves over PEs"
draws tasks "$lines/solves.json" -o "$work/p.gp"
[ "$(grep -c '^\$series' "$work/p.gp")" = 2 ] && [ "$(sed -n '/^\$series0/,/^EOD/p' "$work/p.gp" | wc -l)" = 6 ]
report $? "solves: two triangles, four numbers of tasks"
holds "xlabel 'tasks a PE'" "tasks on the axis"
draws roofline "$lines/predictions.json" -o "$work/p.gp" --title "it's a roof"
holds "set title 'it''s a roof' .*noenhanced" "a title with a quote in it"
holds 'plot min(16000, x \* 3.83)' "the slope of Summit's network under the peak of a V100"
[ "$(grep -c 'nohead dt 2' "$work/p.gp")" = 6 ]
report $? "a local roof a line"
draws breakdown "$lines/runs.json" -o "$work/p.gp"
holds '^"stationary-a, 4 PEs" [0-9.e-]* [0-9.e-]* [0-9.e-]* [0-9.e-]*$' "four phases of a run"
draws imbalance "$lines/stat.json" -o "$work/p.gp"
[ "$(sed -n '/^\$map0/,/^EOD/p' "$work/p.gp" | wc -l)" = 26 ] && [ "$(grep -c 'with boxxyerror.*lc palette' "$work/p.gp")" = 2 ]
report $? "maps of 4 x 6 cells, end to end and of a stage"
holds "^set xrange \[-0.5:5.5\]" "columns from left to right"
holds "^set yrange \[3.5:-0.5\]" "rows from top to bottom"
"$tulle" stat rmat:scale=8 --grid 16x16 --json | "$tulle" plot imbalance - -o "$work/p.gp"
holds '^set xtics 0,2 ' "no more ticks than have room"
"$tulle" stat rmat:scale=8 --grid 4x4 --json | "$tulle" plot imbalance - -o "$work/p.gp"
holds '^set xtics 0,1 ' "ticks are at whole numbers"
draws imbalance "$lines/stat.json" -o "$work/p.gp"
ratio=$(sed -n 's/.*"flops_imbalance":\([0-9.]*\).*/\1/p' "$lines/stat.json")
grep -q "end to end: max / mean $(printf %.2f "$ratio")" "$work/p.gp"
report $? "the map's imbalance is that of stat ($ratio)"
draws timeline "$lines/timeline.json" -o "$work/p.gp"
holds "title 'multiply'" "a colour a kind of span"
holds "^set ytics ('PE 0' 0,'PE 1' 1)" "rows have their names"
{
    echo '{"displayTimeUnit":"ms","traceEvents":['
    for row in '1,"PE 1"' '1048576,"PE 0 thread 1"' '0,"PE 0"' '1048577,"PE 1 thread 1"'; do
        echo "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":${row%,*},\"args\":{\"name\":${row#*,}}},"
        echo "{\"ph\":\"X\",\"name\":\"outer\",\"pid\":0,\"tid\":${row%,*},\"ts\":0,\"dur\":100},"
        echo "{\"ph\":\"X\",\"name\":\"inner\",\"pid\":0,\"tid\":${row%,*},\"ts\":10,\"dur\":20},"
    done
    echo ']}'
} >"$work/threads.json"
draws timeline "$work/threads.json" -o "$work/p.gp"
holds "^set ytics ('PE 0' 0,'PE 0 thread 1' 1,'PE 1' 2,'PE 1 thread 1' 3)" "threads stand below their PE"
[ "$(grep -c '^\$spans[01]_[01] <<' "$work/p.gp")" = 2 ] && holds '^0.010000 3 0.010000 0.030000 2.68 3.32$' "a span inside another is narrower"
draws convergence "$lines/history.json" -o "$work/p.gp"
[ "$(grep -c '^\$series' "$work/p.gp")" = 4 ] && holds "title 'column 4'" "a curve a column" # those of the plot are indented
[ "$(sed -n '/^\$widths/,/^EOD/p' "$work/p.gp" | sed -n '2p;$!d')" = '0 4' ]
report $? "the width of a block: $(sed -n '/^\$widths/,/^EOD/p' "$work/p.gp" | tr '\n' ',')"

draws slabs "$lines/slabs.json" -o "$work/p.gp"
holds "title 'all columns at once, hidden'" "a curve a way of streaming"
[ "$(grep -c '^\$series' "$work/p.gp")" = 6 ] && [ "$(sed -n '/^\$series0/,/^EOD/p' "$work/p.gp" | wc -l)" = 4 ]
report $? "six ways, auto apart; what did not fit is left out"

# what tells curves apart, repetitions, machines
XDG_CACHE_HOME="$work/other" "$tulle" spgemm rmat:scale=7 --pes 1 --json -q --reps 3 >"$work/real.json" 2>&1
for seconds in 1 2 4 8 16 3 5 6 7 9 10 11; do # so many curves, at two numbers of PEs
    for pes in 1 2; do
        sed "s/\"alg\":\"[^\"]*\"/\"alg\":\"a$seconds\"/; s/\"pes\":1/\"pes\":$pes/; s/\"seconds\":[^,]*/\"seconds\":$seconds/; s/\"seconds_all\":[^]]*/\"seconds_all\":[$seconds,0.5,20/" "$work/real.json"
    done
done >"$work/many.json"
draws scaling "$work/many.json" -o "$work/p.gp"
[ "$(sed -n 's/^set linetype [0-9]* lc rgb \(.*\) lw.* pt \([0-9]*\) .*/\1 \2/p' "$work/p.gp" | sort -u | wc -l)" = 12 ] &&
    [ "$(grep -c '\$series.* lt [0-9]* title' "$work/p.gp")" = 12 ] && [ "$(sed -n 's/.*\$series.* lt \([0-9]*\) title.*/\1/p' "$work/p.gp" | sort -u | wc -l)" = 12 ]
report $? "twelve curves, each with a colour, dashes and marker of its own"
holds '^2 16 0.5 20$' "the fastest and the slowest of all runs"
[ "$(grep -c 'using 1:3:(0):(\$4-\$3) with vectors' "$work/p.gp")" = 12 ]
report $? "and bars for them"
[ "$(sed -n '/^\$ideal/,/^EOD/p' "$work/p.gp" | tr '\n' ' ')" = '$ideal << EOD 1 1 2 0.5 EOD ' ] && holds "title 'ideal'" "the ideal line begins at the fastest"
holds "^set title 'seconds over PEs: spgemm rmat:scale=7' .*'f64, on $(uname -n), bars: the fastest and slowest of 3 runs' noenhanced" "operation, input and machine"
draws scaling "$lines/predictions.json" -o "$work/p.gp"
holds "'f32, model of summit'" "a model's machine"
! grep -q 'with vectors' "$work/p.gp"
report $? "no bars where nothing was repeated"
draws scaling "$work/real.json" -o "$work/p.gp" --title mine
holds "^set title 'mine' .*'f64, on" "a title of one's own stands above the machine"
! grep -q ideal "$work/p.gp"
report $? "no ideal line for one number of PEs"
draws scaling "$lines/runs.json" "$lines/predictions.json" -o "$work/p.gp"
! grep -q ideal "$work/p.gp"
report $? "nor for different products"
"$tulle" solve stencil2d:n=9 --method cg --precond jacobi --history "$work/cg.json" -q >/dev/null
draws convergence "$work/cg.json" -o "$work/p.gp"
holds "with jacobi: cg stencil2d:n=9' .*'f64, on" "a history tells what was solved, how and where"
"$tulle" stream fem:nodes=6,dof=3 --products 4 --slabs 3 --json -q >"$work/stream.json"
draws slabs "$work/stream.json" -o "$work/p.gp"
holds 'the fastest and slowest of 4 runs' "streams have bars too"
spread=$(sed -n 's/.*"loop_all":\[\([^]]*\)\].*/\1/p' "$work/stream.json" | tr , '\n' | grep -c .)
[ "$spread" = 4 ]
report $? "as lines have the times of all products"

# drawing
if command -v gnuplot >/dev/null 2>&1; then
    for kind in scaling:runs tasks:solves roofline:predictions breakdown:predictions imbalance:stat imbalance:predictions timeline:timeline slabs:slabs convergence:history; do
        for ending in svg png pdf; do
            file=$work/${kind%:*}-${kind#*:}.$ending
            "$tulle" plot "${kind%:*}" "$lines/${kind#*:}.json" -o "$file" >"$work/out" 2>&1 && [ ! -s "$work/out" ] &&
                [ "$(wc -c <"$file")" -gt 2000 ] && head -c 300 "$file" | grep -aq -e '<svg' -e 'PNG' -e '%PDF'
            report $? "${kind%:*} of ${kind#*:} as $ending: $(head -c 200 "$work/out")"
        done
    done
    ! ls "$work" | grep -q '\.tmp'
    report $? "nothing else is left behind"
    for grid in 8x1 1x8; do
        "$tulle" stat rmat:scale=8 --grid $grid --json | "$tulle" plot imbalance - -o "$work/column.svg"
        colours=$(grep -io "fill *= *'rgb([^']*'\|fill *= *'#[0-9a-f]*'" "$work/column.svg" | sort -u | wc -l)
        [ "$colours" -ge 6 ]
        report $? "a map of $grid shows its cells, in $colours colours"
    done
    mkdir "$work/bin"
    printf '#!/bin/sh\nsed s/pdfcairo/nosuch/ "$1" | "%s"\n' "$(command -v gnuplot)" >"$work/bin/gnuplot"
    chmod +x "$work/bin/gnuplot"
    env PATH="$work/bin:$PATH" "$tulle" plot scaling "$lines/runs.json" -o "$work/none.pdf" >"$work/told" 2>&1
    [ $? = 2 ] && grep -q 'draws no .pdf file, as it was built without the terminal pdfcairo' "$work/told" && ! ls "$work" | grep -q none
    report $? "a gnuplot without the terminal: $(head -c 300 "$work/told")"
else
    report 0 "# SKIP drawing: gnuplot is not installed"
fi
env PATH=/nowhere "$tulle" plot scaling "$lines/runs.json" -o "$work/none.svg" >"$work/told" 2>&1
[ $? = 2 ] && grep -q 'gnuplot, which draws, is not installed' "$work/told" && ! ls "$work" | grep -q none
report $? "without gnuplot there is a message, and no picture: $(head -c 300 "$work/told")"

# what will not do
expect 2 "did you mean 'scaling'" plot scalin "$lines/runs.json" -o "$work/p.svg"
expect 2 'no output is named' plot scaling "$lines/runs.json"
expect 2 "a picture is a .svg, .png or .pdf file" plot scaling "$lines/runs.json" -o "$work/p.jpg"
expect 2 "no number 'slabs'\|no text 'operand'" plot slabs "$lines/history.json" -o "$work/p.svg"
expect 2 'cannot be opened' plot scaling "$work/absent.json" -o "$work/p.svg"
expect 2 'stat.json:1: no text' plot scaling "$lines/stat.json" -o "$work/p.svg"
expect 2 'runs.json:1: .grid. has\|runs.json:1: .work_per_pe. has' plot imbalance "$lines/runs.json" -o "$work/p.svg"
# line N of a file is spoilt; the message names it. COLUMN may be empty
spoil() { # TEXT PATTERN
    { head -1 "$lines/runs.json"; echo; printf '%s\n' "$1"; } >"$work/bad.json"
    expect 2 "bad.json:3:$2" plot scaling "$work/bad.json" -o "$work/p.svg"
}
spoil 'not json' '1: expected one JSON object'
spoil '{"op":"spmm"' '13: expected one JSON object'
spoil '{"op":spmm}' '7: expected one JSON object'
spoil '{"op":"spmm}' '[0-9]*: expected one JSON object'
spoil '{"op":"s\q"}' '[0-9]*: expected one JSON object'
spoil '{op:1}' '[0-9]*: expected one JSON object'
spoil '{"op" 1}' '7: expected one JSON object'
spoil '{"op":"x"} {}' '12: expected one JSON object'
spoil '[1]' '1: expected one JSON object'
spoil '{"op":1e999}' " no text 'op'"
spoil '{"op":7}' " no text 'op'"
sed 's/"seconds":[^,]*/"seconds":-1/' "$lines/runs.json" >"$work/bad.json"
expect 2 "bad.json:1: 'seconds' is -1" plot scaling "$work/bad.json" -o "$work/p.svg"
sed 's/,"pes":4/,"pes":"4"/' "$lines/runs.json" >"$work/bad.json"
expect 2 "bad.json:7: no number 'pes'" plot breakdown "$work/bad.json" -o "$work/p.svg"
sed 's/"grid":\[4,6\]/"grid":[4,7]/' "$lines/stat.json" >"$work/bad.json"
expect 2 "bad.json:1: 'work_per_pe' has 24 numbers instead of 28" plot imbalance "$work/bad.json" -o "$work/p.svg"
: >"$work/empty.json"
expect 2 'empty.json: nothing to draw' plot scaling "$work/empty.json" -o "$work/p.svg"
head -c 100 "$lines/runs.json" >"$work/bad.json"
expect 2 'bad.json:1:' plot scaling "$work/bad.json" -o "$work/p.svg"
[ ! -e "$work/p.svg" ]
report $? "no picture of what is wrong"

# predict
expect 0 'stationary-c .*' predict rmat:scale=8 --pes 384 --machine summit --grid 16x24
grep -q 'cannon  *skipped' "$work/out" && [ "$(grep -c -e '<- auto' "$work/out")" = 1 ]
report $? "one is the best, one is skipped"
grep -q 'the transfers of .* (.* flop/byte) allow .* GF/s a PE' "$work/out"
report $? "and the network's roof is reported"
expect 0 'summa .*' predict water:n=3 --blocks auto --filter 1e-4 --pes 16 --machine summit --grid 4x4
expect 0 '"alg":"stationary-c".*"flops":8503056,' predict water:n=3 --blocks 6 --pes 9 --machine summit --json
expect 2 'two sparse matrices' predict water:n=2 --blocks 6 --cols 4 --machine summit
expect 0 'stationary-c *devices: .* MB up in' predict rmat:scale=8 --pes 4 --device limit:mem=64M,link=12G --devices 2 --machine summit
expect 0 '"device":.*"devices":1,"modelled":true,"exact":true,.*"upload_bytes":' predict rmat:scale=8 --cols 8 --device model:mem=64M,link=12G,flops=7T --machine summit --json
expect 3 'do not hold the tiles of one product' predict rmat:scale=8 --device limit:mem=1K,link=12G --machine summit
expect 2 'limit: or model:mem=SIZE' predict rmat:scale=8 --device cuda --machine summit
expect 0 'on 384 PEs of summit, grid' predict rmat:scale=8 --pes 384 --machine summit --cols 64 --type f32
expect 0 '(estimated)' predict rmat:scale=8 --pes 16 --machine dgx2 --estimate
expect 0 '"alg":"cannon"' predict rmat:scale=8 --pes 16 --machine dgx2 --grid 4x4 --json
expect 0 'ash219.*219 x 85 .* 85 x 219' predict "$lines/../../data/ash219.mtx.gz" --pes 3 --machine dgx2
expect 2 'run .tulle calibrate' predict rmat:scale=6 --pes 4
expect 2 'grid of 2x2 has 4 PEs' predict rmat:scale=6 --pes 5 --grid 2x2 --machine summit
expect 0 'grid     6x4x4, 0 idle' predict gemm --size 100000 --pes 96 --machine summit
expect 0 'volume   880000000000 bytes by all PEs, at most 9166700000 by one' predict gemm --size 100000 --pes 96 --machine summit
expect 0 '3 idle' predict gemm --size 100000 --pes 128 --machine summit
expect 0 '"grid":\[3,2,1\].*"bytes_moved":2800000,' predict gemm --m 400 --n 500 --k 250 --pes 7 --grid 3x2 --machine dgx2 --json
expect 0 'volume   2160000 bytes' predict gemm --size 300 --pes 7 --grid 2x1x3 --machine summit
expect 0 '"bytes_moved":2160000,' gemm --size 300 --pes 7 --grid 2x1x3 --comm threads:direct=off --threads 1 --json --machine summit
expect 0 'passed' gemm --m 50 --n 70 --k 41 --pes 8 --grid 2x2x2 --comm threads:direct=off --threads 1 --check --machine summit
expect 2 'does not fit 4 PEs' gemm --size 9 --grid 2x2x2 --pes 4 --machine summit
expect 2 'excludes --tiles-b' gemm --size 9 --grid 2x1x2 --pes 4 --tiles-b 2 --machine summit
expect 0 'passed' gemm --size 90 --grid 2x1x2 --pes 4 --tiles 2 --machine summit --check --device limit:mem=100K+cpu
expect 2 'needs --size' predict gemm --pes 4 --machine summit
expect 0 '"upload_bytes":878400,"download_bytes":115200,"peer_bytes":432000,' predict gemm --size 240 --pes 4 --grid 2x2 --tiles 4 --devices 2 --device limit:mem=60K,link=1G,peer=2G --machine summit --json
expect 0 '"downloads":64,.*"upload_bytes":3513600,"downloads":64,"download_bytes":460800,"peer_copies":240,"peer_bytes":1728000' gemm --size 240 --pes 4 --grid 2x2x1 --tiles 4 --devices 2 --device limit:mem=60K,link=1G,peer=2G+cpu --machine summit --json
expect 2 'need not exist' predict gemm --size 240 --device cuda --machine summit
expect 3 'takes 86400' predict gemm --size 240 --tiles 4 --device limit:mem=20K --machine summit
expect 2 'RxCxL' predict gemm --size 9 --grid 2y2 --pes 4 --machine summit
expect 2 'does not fit 4 PEs' predict gemm --size 9 --grid 2x2x2 --pes 4 --machine summit
expect 3 'the least is' predict gemm --size 10000 --pes 8 --memory 1M --machine summit
expect 2 'omit it or B' predict rmat:scale=6 rmat:scale=6 --cols 4 --machine summit
expect 2 'cannot be opened' predict "$work/absent.mtx" --pes 2 --machine summit
expect 2 'No such file' predict rmat:scale=6 --pes 2 --machine "$work/absent"
expect 0 'PEs of the same node .* us a range of a list' calibrate --threads 1 --pes 2
export TULLE_MACHINE="$work/machine"
expect 0 '"spgemm":\[' calibrate --threads 1 --pes 1 --json
expect 0 '"same_node_range":[0-9.e-]*,"other_node_range":0,' calibrate --threads 1 --pes 2 --json
expect 0 'stationary-c' predict rmat:scale=6 --pes 4 --machine "$work/machine"
expect 3 'tile products; the limit is' predict rmat:scale=6 --pes 4 --grid 2x2 --tiles 256 --machine summit
unset TULLE_MACHINE
# what is predicted of a run's bytes and messages is what the run counts, through the whole command
"$tulle" predict rmat:scale=8 --pes 6 --grid 2x3 --machine summit --transfers whole --json -q >"$work/said"
"$tulle" spgemm rmat:scale=8 --pes 6 --grid 2x3 --threads 1 --machine summit --comm threads:direct=off --alg all --transfers whole --json -q >"$work/was" 2>/dev/null
for alg in stationary-c stationary-a stationary-b summa; do
    for what in bytes_moved messages partials; do
        said=$(sed -n "s/.*\"alg\":\"$alg\".*\"$what\":\([0-9]*\).*/\1/p" "$work/said")
        was=$(sed -n "s/.*\"alg\":\"$alg\".*\"$what\":\([0-9]*\).*/\1/p" "$work/was")
        [ -n "$said" ] && [ "$said" = "$was" ]
        report $? "$alg, $what: $said said, $was counted"
    done
done
expect 0 '"grid":\[[0-9]*,[0-9]*\]' spgemm rmat:scale=8 --pes 6 --grid auto --machine summit --json --comm threads:direct=off
expect 0 'predicted' spmm rmat:scale=8 --pes 2 --grid auto --check
expect 2 'or auto, not' spmm rmat:scale=8 --pes 2 --grid square
expect 2 'No such file' spmm rmat:scale=8 --pes 2 --machine "$work/absent"
report_end
