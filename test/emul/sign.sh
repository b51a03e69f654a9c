#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sign.sh TULLE GPU_MEASURE FOLDER: Pade's iteration in each precision. f64 has the energy of tulle density; errors of the
# others are there, small, and those of f16 and TF32, whose inputs have 11 bits, larger than f32's.
set -eu
tulle=$1 measure=$2 folder=$3
printf 'input water water:n=2 -\n1 sign water 0.1 f64 60\n' >"$folder/sign.list"
"$measure" "$folder/sign.list" >"$folder/sign.json"
cat "$folder/sign.json"
want=$("$tulle" density water:n=2 --blocks 6 --mu 0.1 --json -q | sed 's/.*"grand_potential":\([^,]*\).*/\1/')
awk -v want="$want" '
function value(key) { match($0, "\"" key "\":[^,}]*"); return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) }
function size(x) { return x < 0 ? -x : x }
{ mode = value("sign"); gsub(/"/, "", mode); energy[mode] = value("energy"); off[mode] = size(value("error_mev")); n++ }
END {
    if (n != 4) { print "not all precisions"; exit 1 }
    if (size(energy["f64"] - want) > 1e-9 * size(want)) { print "f64 has " energy["f64"] ", density " want; exit 1 }
    if (off["f32"] > 0.1 || off["f32"] == 0) { print "f32 is off by " off["f32"] " meV an atom"; exit 1 }
    for (m in off) if ((m == "f16" || m == "tf32") && (off[m] > 100 || off[m] <= off["f32"])) { print m " is off by " off[m]; exit 1 }
    print "the energies are as they should be"
}' "$folder/sign.json"
