#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every matrix of a collection, multiplied by every algorithm and checked; those with complex values must be refused by
# name; level sets of one that is known. matrices.sh TULLE FOLDER
set -u
tulle=$1
folder=$2
if [ -z "$folder" ] || [ ! -d "$folder" ]; then
    echo "1..0 # SKIP no folder of matrices: set TULLE_MATRICES"
    exit 0
fi
. "$(dirname "$0")/tap.sh"
for file in "$folder"/*.mtx "$folder"/*.mtx.gz; do
    [ -f "$file" ] || continue
    name=$(basename "$file")
    said=$("$tulle" stat "$file" --quiet --pes 1 2>&1)
    if [ $? = 2 ] && echo "$said" | grep -q 'complex'; then
        case $name in *.gz) gzip -dc "$file" ;; *) cat "$file" ;; esac | head -1 | grep -qi 'complex'
        report $? "$name is refused: complex"
        continue
    fi
    if [ "$name" = copter2.mtx.gz ]; then # of the paper on zero-copy solves, whose Table I has 407,714 and 190
        echo "$said" | grep -q '407714 entries, 190 levels'
        report $? "stat $name: level sets as published"
    fi
    algorithms=all
    # A A^T has 8.7e9 entries, 105 GB, made in phases: two minutes for each algorithm
    [ "$name" = wordnet_glosses.mtx.gz ] && algorithms=auto
    said=$("$tulle" spgemm "$file" --pes 4 --alg $algorithms --check --quiet 2>&1)
    status=$?
    report $status "spgemm $name, --alg $algorithms $([ $status = 0 ] || echo "$said" | tail -3)"
    said=$("$tulle" spmm "$file" --cols 128 --pes 3 --alg all --check --quiet 2>&1)
    status=$?
    report $status "spmm $name $([ $status = 0 ] || echo "$said" | tail -3)"
done
[ $count -gt 0 ]
report $? "$count results of matrices in $folder"
report_end
