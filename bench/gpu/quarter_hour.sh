#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# quarter_hour.sh: tests and measurements on a GPU machine that is at hand for minutes, the most telling first. In the
# root of the source tree:
#
#   quarter_hour.sh pack                      on any machine with nvcc: builds for sm_90 what such a machine needs into
#                                             .gpu/: programs, their libraries beside CUDA's, inputs, this script
#   .gpu/quarter-hour.sh run SECONDS [REGEX]  on the GPU machine: tests (26 % of the time, four at a time, each with a
#                                             limit), compute-sanitizer (40 s), measurements by rounds, the other tests.
#                                             REGEX: of names of tests and of measurements (spmm/fem64/32/f64). Where
#                                             the pack's programs do not start, it builds them (220 s at most)
#   quarter_hour.sh table FILE...             the short table that ends a run
#   quarter_hour.sh check BUILD               `make check-gpu`: all tests and tools, in a build folder
#   quarter_hour.sh try BUILD SECONDS [REGEX] `run` by the emulation, with small inputs
#
# Lists: tests are ctest's of label gpu, in the order and with the limits of tests.order; suites of compute-sanitizer
# test/device/scripts/suites.txt; measurements measurements.list. A run needs nothing that another one left.
# Results go to $OUT (out-gpu) as they come, in at most seven files:
#   gpu-CARD-COMMIT.jsonl   lines of kind facts, test, sanitizer, measurement; belongs into bench/results as it is
#   facts, log, build       the machine, what happened when, the build if there was one
#   tests.out, sanitizer.out, measure.out   what failed tests, tools and measurements said
# BUILD (build-gpu): the folder that `pack` builds in. MATRICES: a folder with NAME.mtx.gz, which are packed if there.
# TESTS: a list of tests in place of the pack's. PACK: the pack (.gpu/pack.tar.xz).
set -u
here=$(dirname "$0")
BUILD=${BUILD:-build-gpu} OUT=${OUT:-out-gpu} PACK=${PACK:-.gpu/pack.tar.xz}
MATRICES=${MATRICES:-${TULLE_MATRICES:-}}

now() { date +%s; }

# ---- pack ----

build() { # FOLDER
    generator='' off=''
    command -v ninja >/dev/null 2>&1 && generator=Ninja
    for name in ABIDIFF CJSON CSPARSE HDF5 ISAL LIBXSMM MPI OPENACC SHMEM SIMGRID SCALAPACK SUITESPARSE; do
        off="$off -DTULLE_WITH_$name=OFF" # what needs libraries that such a machine may lack
    done
    mkdir -p "$1"
    # shellcheck disable=SC2086
    CMAKE_GENERATOR=${CMAKE_GENERATOR:-$generator} cmake -S . -B "$1" -DTULLE_CUDA_ARCHITECTURES=90 $off >"$1/log" 2>&1 &&
        cmake --build "$1" -j "$(nproc)" --target gpu_wanted >>"$1/log" 2>&1 && return 0
    tail -20 "$1/log"
    return 1
}

# FOLDER: lines NAME|SECONDS|WIDTH|PROGRAM ARGUMENTS of ctest's label gpu, by tests.order
list_tests() {
    ctest --test-dir "$1" -N -V -L '^gpu$' 2>/dev/null | awk '
        FNR == NR { if ($1 !~ /^#/ && NF) { prefix[++n] = $1 == "*" ? "" : $1; limit[n] = $2; width[n] = $3 } next }
        /^[0-9]+: Test command: / { command = $0; sub(/^[0-9]+: Test command: /, "", command); gsub(/"/, "", command) }
        /^ *Test +#[0-9]+: / {
            name = $0; sub(/^ *Test +#[0-9]+: /, "", name)
            for (i = 1; i < n && index(name, prefix[i]) != 1; i++) continue
            printf "%03d|%s|%s|%s|%s\n", i, name, limit[i], width[i], command
        }' "$here/tests.order" - | sort -s -t'|' -k1,1 | cut -d'|' -f2-
}

# BUILD FOLDER MODULE MEASURE: what a run needs, in one folder
stage() {
    mkdir -p "$2/modules" "$2/matrices" "$2/lib"
    list_tests "$1" | grep -v '\.sh\( \|$\)' >"$2/tests.built"
    sed 's/|[^|]*\/\([^|\/]*\)$/|\1/' "$2/tests.built" >"$2/tests.list"
    cut -d'|' -f4- "$2/tests.built" | cut -d' ' -f1 | sort -u | while read -r program; do
        strip -o "$2/$(basename "$program")" "$program" || echo "no $program"
    done
    rm "$2/tests.built"
    strip -o "$2/tulle" "$1/tulle" && strip -o "$2/gpu_measure" "$4" && strip -o "$2/modules/tulle_cuda.so" "$3" || return 1
    sed '/^#/d; s|[^ /]*/||' test/device/scripts/suites.txt >"$2/suites.list"
    cp "$here/measurements.list" "$2/"
    { git rev-parse --short=12 HEAD && git diff --quiet HEAD -- || echo changed; } 2>/dev/null | tr '\n' '-' |
        sed 's/-$//' >"$2/commit"
    [ -s "$2/commit" ] || echo unknown >"$2/commit"
    [ -s "$2/tests.list" ]
}

# FOLDER ARCHIVE LEVEL: programs have much in common, which gzip does not see. xz goes along, for machines without it
compress() {
    tar -C "$1" -cf - . | xz -T2 "$3" >"$2" && rm -rf "$1"
    cp "$(command -v xz)" "$(ldd "$(command -v xz)" | awk '/liblzma/ { print $3 }')" "$(dirname "$2")/"
}

unpack() { # ARCHIVE FOLDER
    if command -v xz >/dev/null 2>&1; then
        xz -dc "$1"
    else
        LD_LIBRARY_PATH=$(dirname "$1") "$(dirname "$1")/xz" -dc "$1"
    fi | tar -C "$2" -xf -
}

pack() {
    began=$(now) work=.gpu/pack
    build "$BUILD" || exit 1
    rm -rf .gpu && mkdir -p $work
    stage "$BUILD" $work "$BUILD/modules/tulle_cuda.so" "$BUILD/gpu_measure" || exit 1
    # what they want that is neither the C library nor CUDA nor the compiler's
    for program in "$work"/tulle "$work"/gpu_measure "$work"/test_* "$work"/modules/*.so; do ldd "$program"; done |
        awk '/=> \// { print $3 }' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so|/libcu|/libnv' |
        while read -r library; do cp -L "$library" $work/lib/; done
    sed -n 's/^input .* @\([^ ]*\) .*/\1/p' "$here/measurements.list" | while read -r name; do
        [ ! -r "$MATRICES/$name.mtx.gz" ] || cp "$MATRICES/$name.mtx.gz" $work/matrices/
    done
    compress $work .gpu/pack.tar.xz -6
    cp "$0" .gpu/quarter-hour.sh
    kilobytes=$(du -ks .gpu | cut -f1)
    echo "$kilobytes kB in $(($(now) - began)) s: .gpu"
    [ "$kilobytes" -le 30000 ] || { echo "that is more than 30 MB" && exit 1; }
}

# ---- there ----

left() { echo $((end - $(now))); }
say() { echo "$(($(now) - begin)) s: $*" | tee -a "$OUT/log"; }

# KIND [KEY VALUE]...: a line of the results
emit() {
    made="{\"kind\":\"$1\",\"card\":\"$card\",\"commit\":\"$commit\""
    shift
    while [ $# -gt 1 ]; do
        case $2 in
        '' | *[!0-9.]* | *.*.* | .*) made="$made,\"$1\":\"$(printf %s "$2" | tr '\n\t' '  ' | tr -d '"\134')\"" ;;
        *) made="$made,\"$1\":$2" ;;
        esac
        shift 2
    done
    echo "$made}" >>"$results"
}

libraries() { # where CUDA's libraries are: the toolkit's, or Python's packages
    for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/*-linux/lib /usr/local/cuda-*/lib64 /usr/local/nvidia/lib64 \
        /usr/lib/python3*/site-packages/nvidia/*/lib /usr/local/lib/python3*/*-packages/nvidia/*/lib; do
        [ ! -d "$folder" ] || printf '%s:' "$folder"
    done
    python3 -c 'import nvidia, glob
print(":".join(f for p in nvidia.__path__ for f in glob.glob(p + "/*/lib")))' 2>/dev/null
}

facts() {
    {
        date -u; uname -r; nproc; head -2 /proc/meminfo
        nvidia-smi --query-gpu=name,driver_version,memory.total,memory.free,clocks.sm,clocks.max.sm,clocks.mem,ecc.mode.current,pcie.link.gen.current,pcie.link.width.current --format=csv
        ls -d /usr/local/cuda*; command -v nvcc ncu compute-sanitizer cuobjdump cmake ninja gcc g++ python3
        nvcc --version | tail -2; head -2 /etc/os-release; gcc --version | head -1; cmake --version | head -1
        ldd "$there/modules/tulle_cuda.so" "$there/gpu_measure" "$there/tulle" | grep -E 'not found|libcu|:$'
        "$there/tulle" info
    } >"$OUT/facts" 2>&1
    emit facts device "$device" date "$(date -u +%Y-%m-%dT%H:%M)" cores "$(nproc)" memory "$(awk '/^MemTotal/ { printf "%d", $2 / 1048576 }' /proc/meminfo)" driver \
        "$(nvidia-smi --query-gpu=driver_version,clocks.max.sm,clocks.mem,pcie.link.gen.current --format=csv,noheader 2>/dev/null)"
}

device_of() { "$there/tulle" info 2>/dev/null | sed -n 's/^device cuda: yes *(\(.*\))$/\1/p'; }

# Sets `device`, `card` and `results`; builds if the pack does not start. 1: there is no GPU for Tulle
set_up() {
    mkdir -p "$there"
    unpack "$PACK" "$there" || say "the pack does not unpack"
    LD_LIBRARY_PATH="$there/lib:$(libraries):${LD_LIBRARY_PATH:-}"
    TULLE_MATRICES="$there/matrices" TULLE_MODULE_PATH="$there/modules" CUDA_DEVICE_MAX_CONNECTIONS=32
    export LD_LIBRARY_PATH TULLE_MATRICES TULLE_MODULE_PATH CUDA_DEVICE_MAX_CONNECTIONS
    device=$(device_of)
    if [ -z "$device" ]; then
        say "the pack's programs find no GPU: $("$there/tulle" info 2>&1 | grep 'cuda\|tulle:' | head -1)"
        # no build finds a GPU that is not there; programs that do not start cannot tell
        if [ "$mode" = run ] && { ! "$there/tulle" info >/dev/null 2>&1 || [ -e /dev/nvidiactl ]; }; then
            timeout $((end - $(now) < 220 ? end - $(now) : 220)) sh "$0" rebuild "$there" >"$OUT/build" 2>&1
            say "built: status $?"
            device=$(device_of)
        fi
    fi
    commit=$(cat "$there/commit" 2>/dev/null || echo unknown)
    card=$(echo "${device:-none}" | sed 's/,.*//; s/^NVIDIA //; s/[^A-Za-z0-9][^A-Za-z0-9]*/-/g')
    results=$OUT/gpu-$card-$commit.jsonl
    facts
    [ -n "$device" ] || return 1
    say "$device, $commit"
}

rebuild() { # FOLDER: there, what `pack` would have brought
    here=bench/gpu
    build build-there && stage build-there "$1" build-there/modules/tulle_cuda.so build-there/gpu_measure
}

# NAME|SECONDS|WIDTH|COMMAND: one test, if there is time: its line, and what it said if it failed
one_test() {
    IFS='|' read -r name limit _ command <<END
$1
END
    rest=$((until - $(now) + 15)) code=0 said=$scratch/$(echo "$name" | tr '/:=+' '____')
    [ "$rest" -gt 15 ] || return 0
    echo "$1" >>"$scratch/begun"
    [ "$limit" -lt "$rest" ] || limit=$rest
    case $command in /*) ;; test_* | gpu_*) command=$there/$command ;; esac
    started=$(date +%s.%N)
    # shellcheck disable=SC2086
    timeout -k 5 "$limit" $command >"$said" 2>&1 </dev/null || code=$?
    took=$(echo "$(date +%s.%N) $started" | awk '{ printf "%.1f", $1 - $2 }') why=
    case $code/$name in
    0/*) word=ok ;; 77/* | 3/nvshmem/*) word=skipped ;; 124/* | 137/*) word="cut off" ;; *) word=failed why="status $code: " ;;
    esac
    skips=$(grep -c '# SKIP' "$said")
    case $word in
    ok) [ "$skips" = 0 ] || why="$skips parts skipped: $(sed -n 's/.*# SKIP *//p' "$said" | head -1)" ;;
    skipped) why=$(tail -1 "$said") ;;
    *)
        why="$why$({ grep -m1 '^not ok' "$said" || tail -1 "$said"; } | sed 's#/[^ ]*/test/#test/#g')" # built elsewhere
        { echo "==== $name: $word"; grep -v '^ok ' "$said" | head -60; echo ...; tail -15 "$said"; } >>"$OUT/tests.out"
        ;;
    esac
    emit test name "$name" result "$word" seconds "$took" limit "$limit" why "$why"
    [ "$mode" != check ] || echo "$word $took s $name${why:+: $why}"
}

# LIST SECONDS AT-A-TIME: lines of a list in their order, as long as there is time; a process each
each() {
    until=$(($(now) + $2))
    export until
    xargs -r -d '\n' -P "$3" -n 1 sh "$0" "$4" <"$1"
}

# SECONDS: tests that have not begun; those whose kernels wait for each other alone, in the last quarter
tests() {
    touch "$scratch/begun"
    grep -vxF -f "$scratch/begun" "$scratch/tests" >"$scratch/rest"
    [ -s "$scratch/rest" ] || return 0
    grep -v '^[^|]*|[^|]*|alone|' "$scratch/rest" >"$scratch/beside"
    grep '^[^|]*|[^|]*|alone|' "$scratch/rest" >"$scratch/alone"
    alone=$(($1 / 4))
    [ -s "$scratch/alone" ] || alone=0
    [ -s "$scratch/beside" ] || alone=$1
    each "$scratch/beside" $(($1 - alone)) 4 one-test
    each "$scratch/alone" "$alone" 1 one-test
    say "tests: $(counts test); $(($(wc -l <"$scratch/tests") - $(wc -l <"$scratch/begun"))) not begun"
}

counts() { sed -n "/\"kind\":\"$1\"/s/.*\"result\":\"\([^\"]*\)\".*/\1/p" "$results" | sort | uniq -c | tr -s ' \n' ' ,' | sed 's/^ //; s/,$//'; }

# TOOL|SECONDS|PROGRAM ARGUMENTS
one_tool() {
    IFS='|' read -r tool limit command <<END
$1
END
    rest=$((until - $(now))) said=$scratch/$tool.$(echo "$command" | tr '/:=+ ' '_____') code=0
    [ "$rest" -gt 0 ] || return 0
    [ "$limit" -lt "$rest" ] || limit=$rest
    case $command in /*) ;; *) command=$there/$command ;; esac
    # shellcheck disable=SC2086
    timeout -k 5 "$limit" "$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 $command >"$said" 2>&1 </dev/null || code=$?
    case $code in
    0) word=clean ;; 9) word=found ;; 124 | 137) word="cut off" ;; *) word=failed ;;
    esac
    emit sanitizer tool "$tool" suite "$(basename "$command")" result "$word" errors "$(grep -c '^========= .*rror' "$said")"
    [ "$code" = 0 ] || { echo "==== $tool $command: $word"; grep -E '=========|^not ok' "$said" | head -30; } >>"$OUT/sanitizer.out"
}

# SECONDS LIMIT AT-A-TIME TOOLS: tools on suites that together launch every kernel; `some`: those that suites.txt names
sanitize() {
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) || { say "no compute-sanitizer"; return; }
    export sanitizer
    while read -r tools command; do # `none`: kernels that wait for each other, which a tool may start one after the other
        [ "$4" = some ] || [ "$tools" = none ] || tools=memcheck,racecheck,synccheck,initcheck
        for tool in $(echo "$tools" | tr ',' ' '); do
            case $tool in none | -) ;; *) echo "$tool|$2|$command" ;; esac
        done
    done <"$there/suites.list" >"$scratch/tools"
    each "$scratch/tools" "$1" "$3" one-tool
    say "sanitizers: $(counts sanitizer), of $(wc -l <"$scratch/tools")"
}

measurements() {
    small=
    [ "$mode" != try ] || small=--small
    GPU_COMMIT=$commit GPU_CARD=$card
    export GPU_COMMIT GPU_CARD
    # shellcheck disable=SC2086
    timeout -k 3 $(($(left) + 5)) "$there/gpu_measure" "$there/measurements.list" $small --seconds "$(left)" \
        --match "${PATTERN:-.}" >>"$results" 2>>"$OUT/measure.out" </dev/null
    say "measurements: status $?, $(grep -c '"kind":"measurement"' "$results") lines, $(grep -c '"left_out"' "$results") left out"
}

go() { # SECONDS
    begin=$(now) end=$(($(now) + $1))
    mkdir -p "$OUT"
    there=$(mktemp -d) scratch=$(mktemp -d)
    trap 'rm -rf "$there" "$scratch"' EXIT
    trap 'exit 1' INT TERM
    set_up || { say "no GPU that Tulle can use: see facts" && cat "$OUT/facts" && exit 77; }
    export OUT mode there scratch card commit results begin
    grep -E "${PATTERN:-.}" "${TESTS:-$there/tests.list}" >"$scratch/tests"
    tests $(($1 * 26 / 100))
    [ -n "${PATTERN:-}" ] || sanitize $(($1 / 8 < 40 ? $1 / 8 : 40)) 40 8 some
    [ "$(left)" -lt 5 ] || measurements
    [ "$(left)" -lt 20 ] || tests $(($(left) - 10))
    short_table "$results"
    say "done: $(find "$OUT" -type f | wc -l) files in $OUT"
}

check() { # BUILD: all tests; all tools on all suites, a quarter of an hour
    there=$(cd "$1" && pwd) || exit 1
    begin=$(now) OUT=$there/gpu card=none commit=here
    rm -rf "$OUT" && mkdir -p "$OUT"
    results=$OUT/results.jsonl scratch=$(mktemp -d) TULLE_MODULE_PATH=$there/modules
    trap 'rm -rf "$scratch"' EXIT
    export OUT mode there scratch card commit results begin TULLE_MODULE_PATH
    list_tests "$1" >"$scratch/tests"
    [ -s "$scratch/tests" ] || { echo "$1 has no tests of GPUs" && exit 1; }
    tests 7200
    if [ -n "$(device_of)" ]; then
        sed "/^#/d; s| | $there/test/|" test/device/scripts/suites.txt >"$scratch/suites"
        there=$scratch && mv "$scratch/suites" "$scratch/suites.list"
        sanitize 900 180 4 all
    fi
    ! grep -qE '"kind":"test".*"result":"(failed|cut off)"|"kind":"sanitizer".*"result":"(failed|found)"' "$results"
}

# FILE...: ours beside the rival's, for the console: awk is everywhere
short_table() {
    awk '
function text(key, at) {
    at = index($0, "\"" key "\":")
    if (!at) return ""
    at = substr($0, at + length(key) + 3)
    if (substr(at, 1, 1) == "\"") { at = substr(at, 2); return substr(at, 1, index(at, "\"") - 1) }
    match(at, /^[^,}]*/)
    return substr(at, 1, RLENGTH)
}
function ms(seconds) { return seconds == "" ? "-" : sprintf("%.3f", seconds * 1e3) }
/"kind":"test"/ && text("result") ~ /failed|cut off/ { bad = bad "test " text("result") ": " text("name") ": " text("why") "\n" }
/"kind":"sanitizer"/ && text("result") ~ /found|failed/ { bad = bad "sanitizer: " text("tool") " " text("suite") ": " text("result") "\n" }
!/"kind":"measurement"/ { next }
/"left_out"/ { bad = bad "left out: " text("left_out") ": " text("why") "\n"; next }
/"rate"/ { tail = tail text("rate") ": " sprintf("%.1f GB/s", text("bytes_per_second") / 1e9) "\n"; next }
text("part") == "sign" {
    tail = tail sprintf("sign in %s: %.2f Tflop/s, off by %s meV an atom\n", text("sign"), text("flops_per_second") / 1e12, text("error_mev")); next
}
{
    key = text("part") "/" text("operand") "/" text("variant") "/" text("type") " " text("op")
    if (/"rival"/) { theirs[key] = /"error"/ ? text("error") : text("seconds"); next }
    n++
    keys[n] = key
    what[n] = text("method") text("format")
    if (text("device") != "") what[n] = what[n] " " text("device")
    call[n] = text("seconds"); kernels[n] = text("kernel_seconds"); bound[n] = text("bound_seconds")
}
END {
    line = "%-32s %-40s %10s %10s %10s %7s %6s\n"
    printf line, "measurement", "what", "call ms", "kernels", "theirs", "ratio", "bound"
    for (i = 1; i <= n; i++) {
        own = (kernels[i] > 0) ? kernels[i] : call[i]
        split(keys[i], name, " ")
        t = theirs[keys[i]]
        rival = (t ~ /^[0-9]/) ? ms(t) : (t == "") ? "-" : substr(t, 1, 10)
        ratio = (t ~ /^[0-9]/ && own > 0) ? sprintf("%.2fx", t / own) : "-"
        part = (bound[i] != "" && own > 0) ? sprintf("%.0f%%", 100 * bound[i] / own) : "-"
        printf line, name[1], substr(what[i], 1, 40), ms(call[i]), ms(kernels[i]), rival, ratio, part
    }
    printf "%s%s", tail, bad
}' "$@"
}

case ${1:-} in
one-*) ;; # of a process whose settings are exported
*) mode=${1:-} PATTERN='' ;;
esac
case ${1:-} in
pack) pack ;;
rebuild) rebuild "$2" ;;
run) PATTERN=${3:-} && go "${2:-520}" ;;
try)
    PACK=$(mktemp -d)
    stage "$2" "$PACK/pack" "$2/emul/tulle_cuda.so" "$2/emul/emul_measure" || exit 1
    compress "$PACK/pack" "$PACK/pack.tar.xz" -0
    PATTERN=${4:-} PACK=$PACK/pack.tar.xz
    go "$3"
    rm -rf "$(dirname "$PACK")"
    ;;
check) check "$2" ;;
one-test) one_test "$2" ;;
one-tool) one_tool "$2" ;;
table) shift && short_table "$@" ;;
*) sed -n '3,26p' "$0" | sed 's/^# \{0,1\}//' && exit 2 ;;
esac
