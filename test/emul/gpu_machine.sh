#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_machine.sh SOURCE: configured as on a machine with a GPU, which has a compiler, cmake and CUDA and nothing else, the
# target gpu_wanted makes every file that bench/gpu/quarter_hour.sh wants, and each is made by one target only.
set -u
. "$(dirname "$0")/../tool/tap.sh"
source=$1
command -v ninja >/dev/null 2>&1 || { echo "ninja is not installed" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
off=
for name in $(grep -rho 'tulle_dependency([A-Z0-9]*' "$source/src" --include=CMakeLists.txt | cut -d'(' -f2 | sort -u); do
    case $name in CUDA) ;; *) off="$off -DTULLE_WITH_$name=OFF" ;; esac
done
# shellcheck disable=SC2086
cmake -G Ninja -S "$source" -B "$work" -DTULLE_CUDA_ARCHITECTURES=90 $off >"$work/said" 2>&1
report $? "it configures without ${off# }"
ninja -C "$work" -t commands gpu_wanted >"$work/steps" 2>&1
report $? "there is gpu_wanted"
for file in tulle gpu_measure modules/tulle_cuda.so test/emul/gpu_kernels emul/tulle_cuda.so; do
    grep -q -- "-o $file\( \|$\)\|-o [^ ]*/$file\( \|$\)" "$work/steps"
    report $? "it makes $file"
done
# tests of label gpu: lines add_test(NAME "PROGRAM" ...) and set_tests_properties(NAME ... LABELS "gpu" ...)
find "$work/test" -name CTestTestfile.cmake -exec cat {} + | awk '
    /^(add_test|set_tests_properties)\(/ { name = $0; sub(/^[a-z_]*\(/, "", name); sub(/ .*/, "", name) }
    /^add_test/ { split($0, words, "\""); program[name] = words[2] }
    /^set_tests_properties/ && /LABELS "gpu"/ { print program[name] }' | sort -u >"$work/programs"
[ "$(wc -l <"$work/programs")" -gt 15 ]
report $? "there are tests of label gpu: $(wc -l <"$work/programs") programs"
missing=
while read -r program; do
    grep -q -- "-o [^ ]*$(basename "$program")\( \|$\)" "$work/steps" || missing="$missing $program"
done <"$work/programs"
[ -z "$missing" ]
report $? "and it makes all of them${missing:+, not$missing}"
ninja -C "$work" -t targets all | sed -n 's/^\([^ ]*\): CX*_EXECUTABLE_LINKER.*/\1/p; s/^\([^/][^ ]*gpu_kernels\): CUSTOM.*/\1/p' |
    sed 's|.*/||' | sort | uniq -d >"$work/twice"
[ ! -s "$work/twice" ]
report $? "no two programs have one name: $(tr '\n' ' ' <"$work/twice")"
report_end
