#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Values at the doors of the command: --finite and warnings for every operand of every verb; checks of results with nan
# and inf, of streams that round, of files that are streamed; right-hand sides and guesses of any size.
# values.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 99

# dense NAME VALUE: 3 x 1, the second value given
dense() { printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n%s\n3\n' "$2" >"$1.mtx"; }
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 4\n2 2 4\n3 3 4\n2 1 -1\n1 2 -1\n' >A.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 4\n2 2 nan\n3 3 4\n2 1 -1\n' >odd.mtx
dense b nan
dense huge 1e300
dense fine 2
formats='npy petsc'
"$tulle" info | grep -q 'HDF5: *yes' && formats="$formats bsp.h5"
for f in $formats; do
    for name in b huge fine; do "$tulle" convert $name.mtx $name.$f -q || report 1 "$name.$f is written"; done
    for use in "spmm A.mtx b.$f" "gemm A.mtx b.$f" "solve A.mtx --rhs b.$f" "solve A.mtx --rhs fine.$f --guess b.$f" \
        "trisolve A.mtx --from tril --rhs b.$f" "convert b.$f out.mtx"; do
        # shellcheck disable=SC2086
        expect 2 "b.$f: entry (2, 1) is nan, which is not finite" $use --finite
    done
    expect 0 "warning: b.$f: 1 value is nan" spmm A.mtx b.$f
    expect 0 "warning: huge.$f: 1 value is beyond the largest number and became infinite" spmm A.mtx huge.$f --type f32
    expect 2 'huge.*out of the range of f32' spmm A.mtx huge.$f --type f32 --finite
done

# streams: A and X, in memory and from a file, each once
expect 0 'warning: odd.mtx: 1 value is nan' stream odd.mtx
expect 0 'warning: b.npy: 1 value is nan' stream A.mtx b.npy
expect 0 '' stream odd.mtx b.npy --json
[ "$(grep -c 'value is nan' "$work/out")" -eq 2 ] || report 1 "A and X each warn once"
expect 0 'warning: b.npy: 1 value is nan' stream A.mtx b.npy --sweep 1,2 --products 2
expect 0 '' stream A.mtx b.npy --quiet
grep -q nan "$work/out" && report 1 "--quiet warns"

# ---- checks ----
expect 0 'passed.*1 row not finite' spgemm odd.mtx --check
expect 0 '"passed":true,.*"rows_not_finite":1' spgemm odd.mtx --check --json
expect 0 'passed.*1 row not finite' spmm odd.mtx -n 3 --check --pes 2
expect 0 'check passed.*1 row not finite' stream odd.mtx --check
M=cantilever:nodes=8,dof=3
for f in csr:values=f32 bsr:values=f32 auto:half,values=f32; do
    expect 0 'check passed' stream $M --format $f --check --pes 2
    expect 0 'check passed' solve $M --method cg --format $f --device cpu --check
done
if "$tulle" info | grep -q 'HDF5: *yes'; then
    "$tulle" convert odd.mtx odd.bsp.h5 -q
    expect 0 'check passed.*1 row not finite' stream odd.bsp.h5 --source file --check
    for pes in 1 3; do
        for budget in '' '--slabs 2 --budget 60K'; do
            # shellcheck disable=SC2086
            expect 0 'warning: odd.bsp.h5: 1 value is nan' stream odd.bsp.h5 b.npy --source file --pes $pes $budget
        done
    done
    expect 1 'warning: odd.bsp.h5: 1 value is nan' solve odd.bsp.h5 --source file --rhs ones
    expect 2 'odd.bsp.h5: an entry of row 2 is nan, which is not finite' stream odd.bsp.h5 --source file --finite
    expect 2 'an entry of row 2 is nan' solve odd.bsp.h5 --source file --precond jacobi --finite
    # the file takes 37 MB, so that there is no memory for a copy: neither the solve nor its check loads it
    "$tulle" gen cantilever:nodes=24,dof=3 -o large.bsp.h5 --format csr -q
    expect 0 'check passed' solve large.bsp.h5 --source file --method block-cg --rhs random:4 --tol 1e-1 --pes 2 \
        --memory 50M --check
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general\n200 4000 200100";
        for (i = 1; i <= 100; i++) print i, i; for (i = 101; i <= 200; i++) for (j = 1 + i % 2; j <= 4000; j += 2) print i, j }' >long.mtx
    "$tulle" convert long.mtx long.bsp.h5 -q
    expect 0 'check passed' stream long.bsp.h5 --source file --budget 120K --slabs auto --products 1 --pes 2 --check
fi

# ---- sizes ----
awk 'BEGIN { print "%%MatrixMarket matrix coordinate real general\n50 50 148";
    for (i = 1; i <= 50; i++) { print i, i, 2.3; if (i > 1) print i, i - 1, -1; if (i < 50) print i, i + 1, -1 } }' >T.mtx
for e in 310 250 155; do
    awk -v e=$e 'BEGIN { print "%%MatrixMarket matrix array real general\n50 1"; for (i = 1; i <= 50; i++) print (i % 7 - 3) "e-" e }' >tiny.mtx
    awk 'BEGIN { print "%%MatrixMarket matrix array real general\n50 1"; for (i = 1; i <= 50; i++) print 1 }' >ones.mtx
    for method in cg gmres block-cg; do
        expect 0 'check passed' solve T.mtx --rhs tiny.mtx --method $method --check
        expect 0 'check passed' solve T.mtx --rhs tiny.mtx --guess ones.mtx --method $method --atol 1e-12 --check
    done
done
for e in -318 305; do # IC(0) and ILU(0) of matrices whose squares underflow or overflow
    awk -v e=$e 'NR <= 2 { print; next } { print $1, $2, $3 "e" e }' T.mtx >scaled.mtx
    expect 0 'passed' trisolve scaled.mtx --from ic0 --check --rhs known
    expect 0 'passed' trisolve scaled.mtx --from ilu0 --check --rhs known
done
expect 0 'check passed' solve scaled.mtx --method cg --precond ic0 --check
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 0\n' >zero.mtx
expect 1 'gmres, column 1, iteration 1: the matrix is singular' solve zero.mtx --method gmres

# ---- standard output that is full ----
if [ -w /dev/full ]; then
    for words in --version --help 'help solve' 'solve --help' --man '--completion bash' info; do
        # shellcheck disable=SC2086
        "$tulle" $words >/dev/full 2>err
        [ $? = 2 ] && grep -q 'writing to standard output failed' err
        report $? "$words to a full device"
    done
fi
report_end
