#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command's exit statuses, messages and outputs. tool.sh TULLE DATA
set -u
tulle=$1
data=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
. "$(dirname "$0")/tap.sh"
# expect STATUS PATTERN COMMAND...: exit status, and a pattern in what it prints on either stream
expect() {
    status=$1 pattern=$2
    shift 2
    "$tulle" "$@" >"$work/out" 2>&1
    got=$?
    if [ $got = "$status" ] && grep -q -e "$pattern" "$work/out"; then
        report 0 "$* -> $got"
    else
        report 1 "$* -> $got instead of $status, or '$pattern' missing in: $(head -c 300 "$work/out")"
    fi
}

expect 0 'usage: tulle VERB' --help
expect 2 'usage: tulle VERB'
expect 0 '^tulle [0-9]' --version
for verb in spmm spgemm trisolve solve predict stat gen convert plot calibrate info; do expect 0 "usage: tulle $verb" "$verb" --help; done
expect 0 'usage: tulle stat' help stat
expect 2 "did you mean 'spgemm'" spgem x
expect 2 'did you mean --pes' spmm x --pess 2
expect 2 'unknown option -z' spmm x -z
expect 2 'needs a value' spmm x --pes
expect 2 'not a whole number' spmm x --pes two
expect 2 'outside 1 to' spmm x --pes 0
expect 2 'takes no value' spmm x --check=yes
expect 2 'operands; usage' spmm
expect 2 'operands; usage' stat a b
expect 2 'cannot be opened' spgemm "$work/absent.mtx"
expect 2 "has no key 'scal'; did you mean 'scale'" spgemm rmat:scal=4
expect 2 'did you mean' spgemm rmatt:scale=4
expect 2 'f32 or f64' spmm rmat:scale=4 --type f16
expect 2 "did you mean 'stationary-a'" spmm rmat:scale=4 --alg stationry-a
expect 2 'grid of 2x3 has 6 PEs' spmm rmat:scale=4 --grid 2x3 --pes 4
expect 2 'is RxC' spmm rmat:scale=4 --grid 2by3
expect 2 "did you mean 'threads'" spmm rmat:scale=4 --comm thread
expect 2 'rows, nnz or flops' spmm rmat:scale=4 --cut cake
expect 2 'sum, error or last' spmm rmat:scale=4 --duplicates maybe
expect 2 'say where to' gen rmat:scale=4
expect 2 'inner sizes differ' spgemm "$data/ash219.mtx.gz" "$data/ash219.mtx.gz"

printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >"$work/complex.mtx"
expect 2 'complex' spgemm "$work/complex.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 1.0\n' >"$work/range.mtx"
expect 2 'range.mtx:4:' spgemm "$work/range.mtx" --pes 3
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.0\n1 2 1.0\n' >"$work/both.mtx"
expect 2 'both (' spgemm "$work/both.mtx" --pes 2
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1.0\n1 1 2.0\n3 3 1\n' >"$work/twice.mtx"
expect 2 'twice.mtx:4:' spgemm "$work/twice.mtx" --duplicates error
expect 0 'fall on one before' stat "$work/twice.mtx"
expect 0 '2 entries' stat "$work/twice.mtx" --quiet

# level sets of the strict lower part with a unit diagonal: lower 2, 3; 3, 2; 4, 2 and an upper entry; an empty row
printf '%%%%MatrixMarket matrix coordinate real general\n5 5 6\n2 1 1\n3 2 1\n4 2 1\n4 4 9\n1 4 1\n4 5 1\n' >"$work/levels.mtx"
expect 0 'lower, unit    8 entries, 3 levels, the widest of 2 rows; dependency 1.60, parallelism 1.67$' stat "$work/levels.mtx" --pes 3
expect 0 '"lower_nnz":8,"levels":3,"dependency":1.6,"parallelism":1.66666667,"widest_level":2}' stat "$work/levels.mtx" --json --pes 2
expect 0 'lower, unit    354236 entries, 204 levels, .* parallelism 132.35$' stat fem:nodes=30 --quiet
# the paper's nlpkkt at n = 20: n + (3 n - 2)^3 + 6 (3 n - 2)^2 entries in 2 levels, the first all but n^3 rows
expect 0 'lower, unit    233696 entries, 2 levels, the widest of 10400 rows;' stat nlpkkt:n=20 --quiet
expect 0 '"levels":0,"dependency":0,"parallelism":0,"widest_level":0' stat band:n=0 --json
"$tulle" stat "$data/ash219.mtx.gz" >"$work/out" 2>&1 && ! grep -q 'levels' "$work/out"
report $? "no levels where a matrix is not square"

for matrix in west0067.mtx.gz bcsstk01.mtx ash219.mtx.gz lp_afiro.mtx.gz LFAT5.mtx.gz; do
    expect 0 'stationary-b.*passed' spgemm "$data/$matrix" --pes 4 --alg all --check
    expect 0 'stationary-b.*passed' spmm "$data/$matrix" --cols 128 --pes 3 --alg all --check
done
expect 0 'cannon  *left out: cannon wants a square grid' spgemm rmat:scale=6 --pes 3 --alg all
expect 0 'cannon .*passed' spgemm rmat:scale=6 --pes 4 --grid 2x2 --alg all --check
expect 0 'were taken from other PEs' spgemm rmat:scale=6 --pes 3 --alg all
expect 0 '"predicted_seconds":0,.*"check":{"passed":true' spgemm rmat:scale=7 --pes 6 --grid 2x3 --grid-b 3x2 --tiles-b 2 --grid-c 6x1 --check --json
expect 0 'stationary-b.*passed' spmm rmat:scale=7 --cols 8 --pes 6 --grid 2x3 --grid-b 3x2 --grid-c 1x6 --alg all --check
expect 0 '"replication":3.*"check":{"passed":true' spmm rmat:scale=7 --cols 8 --pes 6 --replication 3 --check --json
expect 0 'summa *left out: .*replication of 2' spgemm rmat:scale=6 --pes 4 --alg all --replication 2 --check
expect 2 'replication of 4 for 6 PEs' spmm rmat:scale=6 --pes 6 --replication 4
expect 2 'number of layers' spmm rmat:scale=6 --pes 6 --replication two
expect 2 'grid of 2x2 has 4 PEs' spmm rmat:scale=6 --pes 6 --grid-b 2x2
expect 2 'layouts that match' spmm rmat:scale=6 --pes 6 --grid auto --grid-b 2x3
expect 0 'summa .*passed' spmm rmat:scale=8 --pes 6 --grid 3x2 --tiles 2 --alg summa --check --comm net:latency=5us+threads
expect 0 '"check":{"passed":true' spgemm rmat:scale=9,edgefactor=4 --pes 5 --json --check --comm check+threads
expect 0 'passed' spgemm rmat:scale=8 --pes 4 --grid 2x2 --tiles 3 --cyclic --check --type f32
expect 0 'passed' spmm er:n=500,degree=3 --pes 2 --lookahead 5 --no-offset --deterministic --check --comm net:latency=1us,bw=10G+threads
expect 4 'as asked for' spgemm rmat:scale=8 --pes 3 --comm fault:op=20,rank=1+threads
expect 0 'passed' spgemm rmat:scale=13 --pes 2 --memory 60M --check
expect 3 'MB' spmm er:n=200000,degree=8 --cols 512 --memory 64M --pes 2

"$tulle" spgemm rmat:scale=8 --pes 2 --alg all --reps 3 --json >"$work/lines" 2>/dev/null
lines=$(wc -l <"$work/lines")
[ "$lines" = 7 ]
report $? "one JSON object a line and algorithm that 2 PEs allow ($lines)"
if command -v python3 >/dev/null 2>&1; then
    python3 - "$work/lines" <<'EOF'
import json, sys
need = """op alg comm time pes threads type m k n nnz_a nnz_b nnz_c flops seconds seconds_reused_plan seconds_all gflops
bound_seconds roofline_fraction load_imbalance bytes_moved units stolen probes memory_peak phases check""".split()
for line in open(sys.argv[1]):
    o = json.loads(line)
    assert all(k in o for k in need), [k for k in need if k not in o]
    assert len(o["seconds_all"]) == 3 and set(o["phases"]) == {"compute", "communicate", "accumulate", "wait"}
EOF
    report $? "the JSON has every field"
fi

"$tulle" spgemm rmat:scale=7 --pes 2 --trace "$work/trace.json" >/dev/null 2>&1 && grep -q '"multiply"' "$work/trace.json"
report $? "a timeline with spans of the kernels"

# progress: a line on a terminal, cleared at the end; nothing elsewhere or with --quiet
# deterministic: a job a product of two tiles
slow="spgemm er:n=500,degree=3 --pes 2 --tiles 5 --comm net:latency=25ms+threads --alg stationary-c --deterministic"
"$tulle" $slow >"$work/out" 2>&1 && ! grep -q 'multiplying' "$work/out"
report $? "no progress where stderr is no terminal"
if command -v script >/dev/null 2>&1; then
    script -qec "$tulle $slow" /dev/null >"$work/out" && grep -q 'multiplying: .* of .* jobs, .* s left' "$work/out" &&
        tr '\r' '\n' <"$work/out" | sed -n '/left/,$p' | grep -q '^  *$'
    report $? "progress on a terminal, and the line is cleared"
    script -qec "$tulle $slow --quiet" /dev/null >"$work/out" && ! grep -q 'multiplying' "$work/out"
    report $? "no progress with --quiet"
else
    report 0 "# SKIP progress on a terminal: script (util-linux) is not installed"
fi

# files: every way and back gives the same matrix
"$tulle" gen er:n=200,degree=5,seed=3 -o "$work/a.mtx" -q && "$tulle" convert "$work/a.mtx" "$work/b.mtx.gz" -q --pes 3 &&
    "$tulle" convert "$work/b.mtx.gz" "$work/c.mtx" -q --pes 1 && cmp -s "$work/a.mtx" "$work/c.mtx"
report $? "Matrix Market, packed and back, bit for bit"
if "$tulle" info | grep -q 'HDF5: yes'; then
    "$tulle" convert "$work/a.mtx" "$work/d.bsp.h5" -q && "$tulle" convert "$work/d.bsp.h5" "$work/e.mtx" -q --pes 3 &&
        cmp -s "$work/a.mtx" "$work/e.mtx"
    report $? "Binsparse and back, bit for bit"
    "$tulle" gen dense:m=70,n=53 -o "$work/d.npy" -q && "$tulle" convert "$work/d.npy" "$work/d2.bsp.h5" -q --pes 3 &&
        "$tulle" convert "$work/d2.bsp.h5" "$work/d3.npy" -q --pes 2 && cmp -s "$work/d.npy" "$work/d3.npy"
    report $? "dense Binsparse and back, bit for bit"
    "$tulle" convert "$work/d2.bsp.h5" "$work/d4.mtx" --sparse -q --pes 3 && "$tulle" convert "$work/d.npy" "$work/d5.mtx" --sparse -q &&
        cmp -s "$work/d4.mtx" "$work/d5.mtx"
    report $? "dense Binsparse as a sparse matrix"
fi
"$tulle" gen dense:m=7,n=5 -o "$work/x.npy" -q && "$tulle" convert "$work/x.npy" "$work/x.mtx" -q &&
    "$tulle" convert "$work/x.mtx" "$work/y.npy" -q && cmp -s "$work/x.npy" "$work/y.npy"
report $? "dense, NumPy to Matrix Market and back, bit for bit"
"$tulle" gen er:n=300,degree=4 -o "$work/p1.mtx" -q --pes 1 && "$tulle" gen er:n=300,degree=4 -o "$work/p5.mtx" -q --pes 5 &&
    cmp -s "$work/p1.mtx" "$work/p5.mtx"
report $? "a generator gives the same matrix for 1 and 5 PEs"
"$tulle" gen rmat:scale=8,relabel=on -o "$work/r1.mtx" -q --pes 1 && "$tulle" gen rmat:scale=8,relabel=on -o "$work/r4.mtx" -q --pes 4 &&
    cmp -s "$work/r1.mtx" "$work/r4.mtx"
report $? "and R-MAT"
"$tulle" gen er:n=200,degree=5,values=integer -o "$work/i.mtx" -q && "$tulle" spgemm "$work/i.mtx" "$work/i.mtx" -o "$work/p.mtx" -q >/dev/null &&
    "$tulle" spgemm "$work/i.mtx" -o "$work/q.mtx" -q --pes 3 >/dev/null && cmp -s "$work/p.mtx" "$work/q.mtx"
report $? "A times A by one and by two operands, and other PE counts"
# a result made in phases is written phase by phase: the same entries, in another order
whole="spgemm rmat:scale=12,values=integer --pes 2" # the same in whatever order it is added up
"$tulle" $whole -o "$work/whole.mtx" -q >/dev/null && "$tulle" $whole --memory 24M --check -o "$work/phases.mtx" -q >"$work/out" &&
    grep -q passed "$work/out" && ! cmp -s "$work/whole.mtx" "$work/phases.mtx" &&
    "$tulle" convert "$work/phases.mtx" "$work/sorted.mtx" -q --pes 1 && cmp -s "$work/whole.mtx" "$work/sorted.mtx"
report $? "a result in phases is written without holding it whole"
for form in "mtx.gz zlib" "bsp.h5 HDF5"; do
    if "$tulle" info | grep -q "${form#* }: yes"; then
        "$tulle" $whole --memory 24M -o "$work/phases.${form% *}" -q >/dev/null &&
            "$tulle" convert "$work/phases.${form% *}" "$work/again.mtx" -q --pes 1 &&
            cmp -s "$work/whole.mtx" "$work/again.mtx"
        report $? "and as .${form% *}"
    else
        expect 2 "no ${form#* }" $whole --memory 24M -o "$work/phases.${form% *}"
    fi
done
expect 2 'goes into a .mtx, .mtx.gz or .bsp.h5 file' $whole --memory 24M -o "$work/phases.npy"
expect 2 'directory' spgemm "$work/a.mtx" -o "$work/no/where.mtx"
[ ! -e "$work/no" ] && ! ls "$work" | grep -q '\.tmp'
report $? "nothing is left of a file that could not be written"

# triangular solves
expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from tril --method all --check --pes 3 --rhs random:3
expect 0 '"method":"push".*"tasks":4.*"passed":true' trisolve fem:nodes=6,dof=3 --from triu --trans --type f32 --method push --tasks 4 --check --pes 2 --json
expect 0 '"method":"zerocopy".*"same_bits":false,"tasks":4.*"passed":true' trisolve fem:nodes=6,dof=3 --from triu --trans --type f32 --method zerocopy --tasks 4 --check --pes 2 --json
expect 0 'shmem *left out: .*in-degrees' trisolve stencil2d:nx=800,ny=700 --from tril --method all --comm threads:direct=off --pes 2
expect 0 'unit, transposed.*1 right-hand side' trisolve "$data/can_24.mtx" --from tril --unit --trans --rhs ones --pes 1
expect 2 "did you mean 'chunked'" trisolve fem:nodes=4 --method chuncked
expect 2 'row 1 has an entry above the diagonal' trisolve fem:nodes=4 --pes 2
expect 2 'row 2 has an entry below the diagonal' trisolve fem:nodes=4 --uplo upper
expect 2 'has no entry on the diagonal' trisolve "$data/impcol_a.mtx.gz" --from tril
expect 2 'is square' trisolve "$data/ash219.mtx.gz"
expect 2 'ilu0, ic0, lu or cholesky' trisolve fem:nodes=4 --from lower
expect 0 'lower, unit.*' trisolve fem:nodes=6 --from ilu0 --check --pes 2 --method all
expect 0 'upper, 216 rows' trisolve fem:nodes=6 --from ilu0 --uplo upper --check --pes 2 --method all
expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from ic0 --trans --check --pes 3 --method chunked,push
if "$tulle" info | grep -q '^SuiteSparse: yes'; then
    expect 0 '"uplo":"lower","trans":false,"unit":true.*"passed":true' trisolve "$data/west0067.mtx.gz" --from lu --elimination colamd --check --pes 2 --json
    expect 0 '"uplo":"upper","trans":true,"unit":false.*"passed":true' trisolve "$data/arc130.mtx.gz" --from lu --uplo upper --trans --check --pes 2 --method all --json
    expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from cholesky --check --pes 2 --method all
    expect 2 'not what --uplo upper' trisolve fem:nodes=4 --from cholesky --uplo upper
    expect 2 'not positive definite: the pivot of row' trisolve stencil2d:n=10,shift=-2 --from cholesky
    expect 2 "unknown order of elimination 'metis'" trisolve fem:nodes=4 --from lu --elimination metis
else
    expect 2 'libsuitesparse-dev' trisolve fem:nodes=4 --from lu
fi
expect 0 'passed, x off by .* of at most' trisolve fem:nodes=6 --from tril --rhs known:3 --check --pes 2 --method serial,supernodal
expect 0 '"forward":{"error":[0-9.e-]*,"bound":' trisolve "$data/bcsstk16.mtx.gz" --from ic0 --trans --rhs known --check --json
expect 2 '--rhs known:K' trisolve fem:nodes=4 --from tril --rhs known:x
expect 2 'not what --uplo upper' trisolve fem:nodes=4 --from tril --uplo upper
expect 0 'serial' trisolve fem:nodes=5 --from tril --method serial --rhs ones -o "$work/x.npy"
expect 0 'chunked' trisolve fem:nodes=5 --from tril --method chunked --rhs ones -o "$work/y.npy" --pes 3
cmp -s "$work/x.npy" "$work/y.npy"
report $? "serial and chunked write the same bits"
expect 2 'has 125 rows, the triangle 64' trisolve fem:nodes=4 --from tril --rhs "$work/x.npy"
expect 0 'passed' trisolve fem:nodes=5 --from tril --rhs "$work/x.npy" --check --pes 2

# Krylov methods
expect 0 '^check passed' solve "$data/bcsstk16.mtx.gz" --method cg --precond ic0 --pes 3 --check
expect 0 '"method":"gmres","precond":"ilu0".*"stop":"converged".*"passed":true' solve "$data/cage5.mtx.gz" --precond ilu0 --check --json --rhs random:2
expect 0 '^     2 .* converged' solve stencil2d:n=20 --method cg --precond jacobi --rhs random:2 --type f32 --tol 1e-4 --comm check+threads --pes 2
if "$tulle" info | grep -q 'LAPACK: yes'; then
    expect 0 'gmres, block-jacobi:n=10:' solve stencil2d:n=20 --precond block-jacobi:n=10 --restart 10 --pes 2
else
    expect 2 'wants LAPACK' solve stencil2d:n=20 --precond block-jacobi:n=10
fi
expect 1 'cg, column 1, iteration 3: the residual is' solve stencil2d:n=20 --method cg --max-iterations 3
expect 1 '     1          3 max-iterations' solve stencil2d:n=20 --method cg --max-iterations 3 -o "$work/never.npy"
[ ! -e "$work/never.npy" ]
report $? "what did not converge is not written"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 -1\n' >"$work/indefinite.mtx"
expect 1 'iteration 1: p^T A p is 0: the matrix is not positive definite' solve "$work/indefinite.mtx" --method cg --rhs ones
expect 2 "did you mean 'gmres'" solve stencil2d:n=4 --method gmre
expect 2 "did you mean 'ilu0'" solve stencil2d:n=4 --precond ilu
expect 2 'a name, or block-jacobi:n=ROWS' solve stencil2d:n=4 --precond jacobi:n=3
expect 2 'outside 1 to' solve stencil2d:n=4 --precond block-jacobi:n=0
expect 2 'ends in .csv or .json' solve stencil2d:n=4 --history "$work/h.txt"
expect 2 'tol' solve stencil2d:n=4 --tol -1
expect 2 'wants a square sparse matrix' solve "$data/ash219.mtx.gz" --rhs ones
expect 0 'converged' solve stencil2d:n=20 --method cg --rhs ones --history "$work/h.csv" -o "$work/s.npy" --pes 2
iterations=$(sed -n 's/^     1 *\([0-9]*\) converged.*/\1/p' "$work/out")
[ "$(wc -l <"$work/h.csv")" = $((iterations + 2)) ] && [ "$(head -1 "$work/h.csv")" = 'column,iteration,residual,relative,seconds,width' ]
report $? "the history has a line for each of the $iterations iterations and the beginning"
expect 0 '     1          0 converged' solve stencil2d:n=20 --method cg --rhs ones --guess "$work/s.npy" --pes 3
expect 2 'of another size' solve stencil2d:n=10 --method cg --rhs ones --guess "$work/s.npy"
expect 0 'columns 1 to 3 together' solve stencil2d:n=20 --method block-cg --precond jacobi --rhs random:5 --width 3 --check --pes 2
expect 0 '"method":"block-cg".*"width":4,"deflated":0,"deflated_at":-1' solve stencil2d:n=20 --method block-cg --rhs random:4 --json
printf '%%%%MatrixMarket matrix array real general\n4 3\n1\n2\n3\n4\n1\n2\n3\n4\n2\n4\n6\n8\n' >"$work/same.mtx"
expect 0 'directions that depended on others: 2, first in iteration 0' solve stencil2d:n=2 --method block-cg --rhs "$work/same.mtx"
expect 1 'block-cg, column 1, iteration [12]: P^T A P has a pivot' solve "$work/indefinite.mtx" --method block-cg --rhs random:2
expect 2 'outside 0 to 64' solve stencil2d:n=4 --method block-cg --width 65
if command -v python3 >/dev/null 2>&1; then
    "$tulle" solve stencil2d:n=20 --method cg --rhs random:2 --history "$work/h.json" --json >"$work/out" 2>&1
    python3 - "$work/h.json" "$work/out" <<'EOF'
import json, sys
steps, told = json.load(open(sys.argv[1]))["steps"], json.load(open(sys.argv[2]))
for column, c in enumerate(told["columns"], 1):
    mine = [s for s in steps if s["column"] == column]
    assert [s["iteration"] for s in mine] == list(range(c["iterations"] + 1))
    assert abs(mine[0]["relative"] - 1) < 1e-12 and mine[-1]["relative"] <= told["tolerance"]
    assert set(c) >= {"stop", "norm", "residual", "true_residual", "product", "precond", "dots", "vectors", "seconds"}
EOF
    report $? "the history as JSON, and what --json says, agree"
fi
if command -v script >/dev/null 2>&1; then
    slow="solve stencil2d:n=20 --method gmres --restart 2 --tol 1e-12 --max-iterations 60 --pes 2 --comm net:latency=10ms+threads"
    script -qec "$tulle $slow" /dev/null >"$work/out"
    grep -q 'gmres: column 1, iteration [0-9]*, residual .* of ' "$work/out"
    report $? "a convergence line on a terminal"
    block="solve stencil2d:n=20 --method block-cg --rhs random:3 --tol 1e-12 --pes 2 --comm net:latency=10ms+threads"
    script -qec "$tulle $block" /dev/null >"$work/out"
    grep -q 'block-cg: column [123], iteration [0-9]*, residual .* of .*, the worst of [123], width [123], ' "$work/out"
    report $? "and of a block, with its worst column"
    "$tulle" $slow >"$work/out" 2>&1
    ! grep -q 'gmres: column 1, iteration' "$work/out"
    report $? "and nowhere else"
fi
report_end
