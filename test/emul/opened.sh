#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# opened.sh FOLDER GPUS OPENED COMMAND ARGUMENT...: a run of the command, with so many GPUs in the emulation, opens OPENED
# of them, summed over its processes, each once, and closes them. It gives all memory back, and takes none in a steady
# state: with three times the repetitions (--reps 3, else none is compared) as often as with them.
set -u
folder=$1 gpus=$2 opened=$3
shift 3
counts=$(mktemp "$folder/opened.XXXXXX") || exit 1
trap 'rm -f "$counts"' EXIT
output=$(EMUL_CALLS=$counts EMUL_DEVICES=$gpus "$@" 2>&1)
status=$?
printf '%s\n' "$output"
[ $status = 0 ] || { echo "$1: exit status $status"; exit 1; }
bad=0
# how often this was done, by all processes
count()
{
  awk -v what="$1" '{ n = $1; sub(/^[0-9]+ /, "") } $0 == what { all += n } END { print all + 0 }' "$counts"
}
for library in cuSPARSE cuBLAS; do
  begins=$(count "$library begins")
  [ "$begins" = "$opened" ] || { echo "$begins handles of $library are made, want $opened"; bad=1; }
done
solver=$(count "cuSOLVER begins")
[ "$solver" -le "$opened" ] || { echo "$solver handles of cuSOLVER are made, want $opened at most"; bad=1; }
for library in cuSPARSE cuBLAS cuSOLVER; do
  [ "$(count "$library begins")" = "$(count "$library ends")" ] || { echo "$library stays open"; bad=1; }
done
took=$(count cudaMalloc) gave=$(count cudaFree) managed=$(count cudaMallocManaged)
[ $((took + managed)) = "$gave" ] || { echo "cudaMalloc $took times, cudaFree $gave times"; bad=1; }
case " $* " in
*" --reps 3 "*)
  : > "$counts"
  again=$(printf '%s\n' "$*" | sed 's/ --reps 3 / --reps 9 /')
  # shellcheck disable=SC2086 # words without blanks
  EMUL_CALLS=$counts EMUL_DEVICES=$gpus $again >/dev/null 2>&1 || { echo "$again fails"; bad=1; }
  [ "$(count cudaMalloc)" = "$took" ] || { echo "cudaMalloc: $took times, $(count cudaMalloc) times with more repetitions"; bad=1; }
esac
exit $bad
