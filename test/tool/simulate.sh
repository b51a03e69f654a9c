#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command in virtual time: hundreds of PEs, the same report twice, and what it says of itself. simulate.sh TULLE
set -u
tulle=$1
. "$(dirname "$0")/workspace.sh"
run() { # NAME ARGUMENTS...: into work/NAME
    name=$1
    shift
    "$tulle" "$@" >"$work/$name" 2>"$work/err"
    got=$?
    report $got "tulle $*: $(head -c 300 "$work/err" | tr '\n' ' ')"
}
told() { # FILE: what must be the same in two runs; memory is that of the process
    sed 's/"memory_peak":[0-9]*//' "$work/$1"
}
has() { # FILE PATTERN
    grep -q -e "$2" "$work/$1"
    report $? "$2 in the report of $1"
}

"$tulle" spmm rmat:scale=4 --comm SIM:platform=Sumit --pes 2 >"$work/err" 2>&1
grep -q "unknown platform 'Sumit'; did you mean 'summit'? There are summit, .*, and files that end in .xml" "$work/err"
report $? "an unknown platform names those that there are"
run capitals spmm rmat:scale=4 --comm SIM:platform=SUMMIT,compute=Model --pes 2
has capitals 'virtual'

# twice the same, to the bit, with every algorithm: the product of 24 PEs on 4 nodes
for op in spmm spgemm; do
    run first $op rmat:scale=10 --comm sim:platform=summit --pes 24 --grid 6x4 --alg all --check --json
    run again $op rmat:scale=10 --comm sim:platform=summit --pes 24 --grid 6x4 --alg all --check --json
    [ -s "$work/first" ] && [ "$(told first)" = "$(told again)" ]
    report $? "$op: two processes report the same to the last digit"
    has first '"time":"virtual"'
    has first '"bound_seconds":null'
    [ "$(grep -c '"passed":true' "$work/first")" -ge 7 ]
    report $? "$op: $(grep -c '"passed":true' "$work/first") algorithms are right"
done

# for a reader, too, and with a timeline
run table spmm rmat:scale=9 --comm sim:platform=dgx2 --pes 16 --check --trace "$work/trace.json"
has table 'Times are virtual'
has trace.json '"multiply"'

# kernels as long as they take here; two PEs read each other's tiles in place
run here spmm rmat:scale=10 --comm sim:platform=here --pes 2 --threads 2 --alg stationary-c --check --json
has here '"passed":true'
has here '"bytes_moved":0,'
has here '"compute":{"max":[0-9.e-]*[1-9]'

# a platform that lacks a route is refused, not run into
cat >"$work/islands.xml" <<'EOF'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Tf"/><host id="b" speed="1Tf"/></zone></platform>
EOF
"$tulle" spmm rmat:scale=6 --comm "sim:platform=$work/islands.xml,memory=1G,cache=1G" --pes 2 >"$work/islands" 2>&1
[ $? = 2 ] && grep -q 'no route from a to b' "$work/islands"
report $? "islands: $(head -c 300 "$work/islands")"

# what was found
run info info
has info '^sim: yes'

# a faster network makes the same product faster
run slow spmm rmat:scale=10 --comm sim:platform=fattree,far_bw=1G --pes 16 --json
run fast spmm rmat:scale=10 --comm sim:platform=fattree,far_bw=50G,leaf=0 --pes 16 --json
seconds() {
    sed 's/.*"seconds_reused_plan":\([^,]*\),.*/\1/' "$work/$1"
}
awk "BEGIN { exit !($(seconds fast) < $(seconds slow)) }"
report $? "$(seconds fast) s over a fast network, $(seconds slow) s over a slow one"

# sizes only: the same report, of several algorithms in the order asked for
for data in real none; do
    run $data spmm rmat:scale=10 --comm sim:node=1,data=$data --pes 8 --grid 4x2 --alg summa,stationary-a --transfers whole --memory 4G --json
    sed 's/"memory_peak":[0-9]*//; s/,data=[a-z]*//g' "$work/$data" >"$work/$data.told"
done
[ -s "$work/real.told" ] && cmp -s "$work/real.told" "$work/none.told"
report $? "data=none reports what real tiles do"
[ "$(sed 's/.*"alg":"\([^"]*\)".*/\1/' "$work/none" | tr '\n' ' ')" = "summa stationary-a " ]
report $? "algorithms by a list, in its order"
"$tulle" spmm rmat:scale=6 --pes 2 --alg summa,sumna >"$work/list" 2>&1
[ $? = 2 ] && grep -q "did you mean 'summa'" "$work/list"
report $? "a wrong one among them: $(head -c 200 "$work/list")"
for option in --check "-o $work/never.mtx"; do
    "$tulle" spmm rmat:scale=6 --comm sim:data=none --pes 2 $option >"$work/refused" 2>&1
    [ $? = 2 ] && grep -q 'simulates sizes only' "$work/refused" && [ ! -e "$work/never.mtx" ]
    report $? "$option: $(head -c 200 "$work/refused")"
done
"$tulle" gen er:n=20 -o "$work/never.mtx" --comm sim:data=none --pes 2 >"$work/refused" 2>&1
[ $? != 0 ] && grep -q 'needs values' "$work/refused" && [ ! -e "$work/never.mtx" ]
report $? "gen: $(head -c 200 "$work/refused")"

# what is faster over a network: one PE with a gathered triangle, or all by push
run waves trisolve stencil2d:nx=60,ny=60 --from tril --comm sim:platform=dgx1 --pes 4 --check --json
has waves '"method":"push"'
has waves '"passed":true'
run tiny trisolve er:n=40 --from tril --unit --scale --comm sim:platform=dgx1 --pes 4 --check --json
has tiny '"method":"serial"'

# one submatrix: alone on many PEs it makes way for the iteration that all of them compute, faster
nodes="sim:platform=fattree,node=40,flops=8G,memory=5G,cache=20G,far_bw=12G,near_bw=10G,launch=0"
run alone matfun sign:mu=0.05 water:n=4 --blocks 48 --filter 1e-9 --method auto --comm "$nodes" --pes 24 --threads 1 --check --json
has alone '"method":"newton-schulz"'
run by_one matfun sign:mu=0.05 water:n=4 --blocks 48 --filter 1e-9 --method auto --comm "$nodes" --pes 1 --threads 1 --json
has by_one '"method":"submatrix"'
seconds_of() { # FILE
    sed 's/.*"seconds":\([0-9.e-]*\),"dense_seconds.*/\1/' "$work/$1"
}
echo "$(seconds_of alone) $(seconds_of by_one)" | awk '{ exit !($1 > 0 && $1 < $2 / 1.5) }'
report $? "24 PEs take less than two thirds of one PE's time: $(seconds_of alone) and $(seconds_of by_one)"

# a full network: auto does not steal, as the model knows what it costs
stolen="spmm rmat:scale=12,edgefactor=32,a=.47,b=.21,c=.21,d=.11,seed=2 --cols 512 --comm sim:platform=summit,data=none,sharing=queue"
run full $stolen --pes 24 --grid 6x4 --cut rows --json
has full '"stolen":0,'

# auto on devices: blocks, not steps of SUMMA or Cannon
for grid in 2x2 4x1; do
    run devices gemm --size 240 --tiles 3 --comm sim:platform=fattree --pes 4 --grid $grid --device model:mem=200K,peer=9G+cpu --devices 2 --check --json
    has devices '"alg":"stationary-c".*"passed":true'
done

# hundreds
run large spmm nlpkkt:n=20 --cols 4096 --comm sim:data=none --pes 192 --grid 16x12 --cut rows --alg stationary-c --json
has large '"m":18400,'
run many spmm rmat:scale=14 --comm sim:platform=summit --pes 96 --grid 12x8 --check --json
has many '"pes":96'
has many '"passed":true'

report_end
