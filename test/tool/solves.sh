#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit statuses, messages and outputs of triangular solves and Krylov methods. solves.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

# triangular solves
expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from tril --method all --check --pes 3 --rhs random:3
expect 0 '"method":"push".*"tasks":4.*"passed":true' trisolve fem:nodes=6,dof=3 --from triu --trans --type f32 --method push --tasks 4 --check --pes 2 --json
expect 0 '"method":"zerocopy".*"same_bits":false,"tasks":4.*"passed":true' trisolve fem:nodes=6,dof=3 --from triu --trans --type f32 --method zerocopy --tasks 4 --check --pes 2 --json
expect 0 'shmem *skipped: .*in-degrees' trisolve stencil2d:nx=800,ny=700 --from tril --method all --comm threads:direct=off --pes 2
# devices lack methods: others run; where none does, that is an error
expect 0 'serial .* passed' trisolve fem:nodes=6,dof=1 --from tril --method all --check --pes 2 --device cpu
grep -q '^chunked *skipped: devices do not solve by the method chunked$' "$work/out" &&
    grep -q "^levels *skipped: the device 'cpu' solves row by row" "$work/out" &&
    grep -q "^zerocopy *skipped: the device 'cpu' solves with PE 0's triangles only" "$work/out" &&
    [ "$(grep -c skipped "$work/out")" = 10 ]
report $? "ten methods say why the device does not have them"
expect 0 '"method":"p2p","left_out":"devices do not solve' trisolve fem:nodes=6,dof=1 --from tril --method all --device cpu --json
expect 2 'devices do not solve by the method chunked' trisolve fem:nodes=6,dof=1 --from tril --method serial,chunked --device cpu
expect 3 'none of the methods has run: ' trisolve fem:nodes=6,dof=1 --from tril --method all --device limit:mem=100+cpu
expect 0 'unit, transposed.*1 right-hand side' trisolve "$data/can_24.mtx" --from tril --unit --trans --rhs ones --pes 1
expect 2 "did you mean 'chunked'" trisolve fem:nodes=4 --method chuncked
expect 2 'row 1 has an entry above the diagonal' trisolve fem:nodes=4 --pes 2
expect 2 'row 2 has an entry below the diagonal' trisolve fem:nodes=4 --uplo upper
expect 2 'has no entry on the diagonal' trisolve "$data/impcol_a.mtx.gz" --from tril
expect 2 'must be square' trisolve "$data/ash219.mtx.gz"
expect 2 'ilu0, ic0, lu and cholesky' trisolve fem:nodes=4 --from lower
expect 0 'lower, unit.*' trisolve fem:nodes=6 --from ilu0 --check --pes 2 --method all
expect 0 'upper, 216 rows' trisolve fem:nodes=6 --from ilu0 --uplo upper --check --pes 2 --method all
expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from ic0 --trans --check --pes 3 --method chunked,push
if "$tulle" info | grep -q '^SuiteSparse: yes'; then
    expect 0 '"uplo":"lower","trans":false,"unit":true.*"passed":true' trisolve "$data/west0067.mtx.gz" --from lu --elimination colamd --check --pes 2 --json
    expect 0 '"uplo":"upper","trans":true,"unit":false.*"passed":true' trisolve "$data/arc130.mtx.gz" --from lu --uplo upper --trans --check --pes 2 --method all --json
    expect 0 'passed' trisolve "$data/bcsstk16.mtx.gz" --from cholesky --check --pes 2 --method all
    expect 2 'does not produce the triangle of --uplo upper' trisolve fem:nodes=4 --from cholesky --uplo upper
    expect 2 'not positive definite: the pivot of row' trisolve stencil2d:n=10,shift=-2 --from cholesky
    expect 2 "unknown order of elimination 'metis'" trisolve fem:nodes=4 --from lu --elimination metis
else
    expect 2 'libsuitesparse-dev' trisolve fem:nodes=4 --from lu
fi
expect 0 'passed, x off by .* of at most' trisolve fem:nodes=6 --from tril --rhs known:3 --check --pes 2 --method serial,supernodal
expect 0 '"forward":{"error":[0-9.e-]*,"bound":' trisolve "$data/bcsstk16.mtx.gz" --from ic0 --trans --rhs known --check --json
expect 2 '--rhs known:K' trisolve fem:nodes=4 --from tril --rhs known:x
expect 2 'does not produce the triangle of --uplo upper' trisolve fem:nodes=4 --from tril --uplo upper
expect 0 'serial' trisolve fem:nodes=5 --from tril --method serial --rhs ones -o "$work/x.npy"
expect 0 'chunked' trisolve fem:nodes=5 --from tril --method chunked --rhs ones -o "$work/y.npy" --pes 3
cmp -s "$work/x.npy" "$work/y.npy"
report $? "serial and chunked write the same bits"
expect 2 'has 125 rows, the triangle 64' trisolve fem:nodes=4 --from tril --rhs "$work/x.npy"
expect 0 'passed' trisolve fem:nodes=5 --from tril --rhs "$work/x.npy" --check --pes 2

# auto: what it tries is told apart from the method that it settles on
expect 0 '"trials":\[\]' trisolve stencil2d:n=60 --from tril --method chunked --json --pes 2
"$tulle" trisolve stencil2d:n=200 --from tril --reps 4 --json --pes 2 -q >"$work/auto" 2>&1
tried=$(sed -n 's/.*"trials":\[\([^]]*\)\].*/\1/p' "$work/auto")
method=$(sed -n 's/.*"method":"\([a-z0-9-]*\)","operand".*/\1/p' "$work/auto")
case $tried in *'"method":"serial","solves":'[1-3]*'"method":"'*) ;; *) false ;; esac &&
    case $tried in *"\"method\":\"$method\",\"solves\":"[1-3]*) ;; *) false ;; esac
report $? "auto tells its trials: $tried, then $method"
run=$(sed -n 's/.*"run":\([0-9]*\).*/\1/p' "$work/auto")
seconds=$(sed -n 's/.*"seconds":\([0-9.e-]*\),"seconds_all".*/\1/p' "$work/auto")
[ "$(sed -n 's/.*"seconds_all":\[\([^]]*\)\].*/\1/p' "$work/auto" | tr , '\n' | sed -n "$((run + 1))p")" = "$seconds" ] &&
    [ "$(sed -n 's/.*"seconds_all":\[\([^]]*\)\].*/\1/p' "$work/auto" | tr , '\n' | sort -g | sed -n 2p)" = "$seconds" ]
report $? "seconds are those of one run, number $run, of four: $seconds"
case $method in
chunked) grep -q '"chunk":[1-9]' "$work/auto" ;;
p2p | growlocal) grep -q '"chunk":0' "$work/auto" && grep -q '"levels":[1-9]' "$work/auto" ;;
*) grep -q '"workers":1,' "$work/auto" && grep -q '"chunk":0' "$work/auto" && grep -q '"levels":0' "$work/auto" ;;
esac
report $? "workers, levels and chunk are those of $method"
expect 0 'auto compared serial ([1-3] solve.*s), .*not part of the figures' trisolve stencil2d:n=200 --from tril --pes 2

# timelines: kernels and waits of each method, of factorisations and of iterations
traced() { # NAMES COMMAND...: the spans that there must be, words joined by +
    names=$1
    shift
    missing=
    "$tulle" "$@" --trace "$work/trace.json" -q >"$work/out" 2>&1 || missing="all: $(head -c 300 "$work/out")"
    for name in $(echo "$names" | tr ' +' '_ '); do
        grep -q "\"ph\":\"X\",\"name\":\"$(echo "$name" | tr _ ' ')\"" "$work/trace.json" || missing="$missing $name"
    done
    [ -z "$missing" ]
    report $? "timeline of $*: $names${missing:+, missing:$missing}"
}
for method in serial levels chunked p2p growlocal supernodal push unified unified-tasks shmem zerocopy; do
    traced "analyse+solve $method+wait for PEs" trisolve fem:nodes=12,dof=1 --from tril --method $method --pes 2
done
traced 'solve serial+solve growlocal+solve chunked' trisolve stencil2d:n=200 --from tril --pes 2 --rhs random:2
traced 'solve levels' trisolve fem:nodes=12,dof=1 --from tril --method levels --pes 2 --threads 2
[ "$(sed -n 's/.*"name":"solve levels","pid":0,"tid":\([0-9]*\).*/\1/p' "$work/trace.json" | sort -u | tr '\n' ' ')" = '0 1 1048576 1048577 ' ] &&
    grep -q '"name":"PE 1 thread 1"' "$work/trace.json"
report $? "each thread of each PE has a row"
traced 'solve push+put+get' trisolve fem:nodes=12,dof=1 --from tril --method push --pes 3 --comm threads:direct=off
traced 'IC(0)+solve push' trisolve fem:nodes=6,dof=1 --from ic0 --method push --pes 2
traced 'product+multiply+precondition+bring B+solve serial+return X+dots+vectors+IC(0)' solve stencil2d:n=20 --method cg --precond ic0 --pes 2
traced 'product+precondition+dots+vectors' solve stencil2d:n=20 --method block-cg --precond jacobi --rhs random:3 --pes 2
expect 1 'iteration 3' solve stencil2d:n=20 --method cg --max-iterations 3 --trace "$work/stopped.json"
grep -q '"ph":"X","name":"product"' "$work/stopped.json"
report $? "what did not converge has a timeline too"
traced 'ILU(0)+product+dots' solve stencil2d:n=20 --precond ilu0 --pes 2
if "$tulle" info | grep -q '^SuiteSparse: yes'; then
    traced 'Cholesky+solve serial' trisolve fem:nodes=6,dof=1 --from cholesky --method serial --pes 2
fi
# a wait of a span is one, and what is shorter is none: spans of a row do not overlap but for nesting
traced 'solve p2p' trisolve stencil2d:n=300 --from tril --method p2p --reps 3 --pes 2
if command -v python3 >/dev/null 2>&1; then
    python3 - "$work/trace.json" <<'EOF'
import json, sys
rows = {}
for s in json.load(open(sys.argv[1]))["traceEvents"]:
    if s["ph"] == "X" and s["name"] in ("solve p2p", "wait for rows"): rows.setdefault(s["tid"], []).append((s["ts"], s["dur"], s["name"]))
for spans in rows.values():
    spans.sort()
    assert all(d >= 2 for _, d, name in spans if name == "wait for rows")
    assert all(a[0] + a[1] <= b[0] + 0.002 for a, b in zip(spans, spans[1:]))
EOF
    report $? "kernels and waits of a worker come one after the other, and no wait is shorter than 2 microseconds"
fi

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
expect 0 'minres, none.*' solve stencil2d:n=20,shift=-1.7 --method minres --rhs random:3 --pes 3 --check
expect 0 '"method":"minres".*"passed":true' solve stencil2d:n=20 --method minres --precond ic0 --rhs random:2 --width 1 --check --json
expect 0 '^check passed' solve stencil2d:n=20 --method minres --precond jacobi --rhs random:2 --device cpu --type f32 --tol 1e-4 --check
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1\n2 1 -1\n2 2 2\n3 2 -1\n3 3 1\n' >"$work/chain.mtx"
expect 1 'minres, column 1, iteration [0-9]*: the matrix is singular, and b is not in its range: the least residual is 1.73' solve "$work/chain.mtx" --method minres --rhs ones
expect 0 '219 x 85, 438 entries, 2 right-hand sides' solve "$data/ash219.mtx.gz" --method lsqr --rhs random:2 --pes 2 --check
expect 0 '"method":"lsmr".*"m":219,"damp":0.3.*"stop":"least-squares".*"plain_residual":.*"passed":true' solve "$data/ash219.mtx.gz" --method LSMR --damp 0.3 --rhs ones --check --json
expect 0 '^check passed' solve "$data/ash219.mtx.gz" --method lsmr --type f32 --tol 1e-4 --check --pes 3
expect 1 'lsqr, column 1, iteration 2: ' solve "$data/ash219.mtx.gz" --method lsqr --max-iterations 2 --rhs ones
expect 1 'the estimate of the condition is 6.0[0-9]*, above 5' solve "$data/ash219.mtx.gz" --method lsqr --max-condition 5 --rhs ones
expect 0 '"stop":"converged"' solve "$data/ash219.mtx.gz" --method lsmr --max-condition 5 --rhs ones --json
expect 2 'has .* rows' solve "$data/ash219.mtx.gz" --method lsqr --rhs "$work/indefinite.mtx"
expect 2 'source rebalance' solve "$data/ash219.mtx.gz" --method lsqr --source rebalance
expect 0 'gmres, none' solve stencil2d:n=4 --method GMRES --restart 5
expect 2 'damp is read by --method lsqr,lsmr only' solve stencil2d:n=4 --method cg --damp 1
if "$tulle" info | grep -q 'HDF5: yes'; then
    "$tulle" convert "$data/ash219.mtx.gz" "$work/tall.bsp.h5" -q
    expect 0 '^check passed' solve "$work/tall.bsp.h5" --method lsqr --source file --memory 200M --rhs random:3 --check --pes 2
    expect 0 'passes over 219 rows' solve "$work/tall.bsp.h5" --method lsmr --source file --rhs random:3 -o "$work/fit.npy"
    expect 0 '"iterations":[0-3],' solve "$work/tall.bsp.h5" --method lsmr --source file --rhs random:3 --guess "$work/fit.npy" --gradient 1e-6 --json
fi
expect 2 "did you mean 'gmres'" solve stencil2d:n=4 --method gmre
expect 2 "did you mean 'ilu0'" solve stencil2d:n=4 --precond ilux
# Kershaw's matrix: definite, and yet its IC(0) meets a negative pivot
printf '%%%%MatrixMarket matrix coordinate real symmetric\n4 4 8\n1 1 3\n2 2 3\n3 3 3\n4 4 3\n2 1 -2\n3 2 -2\n4 3 -2\n4 1 2\n' >"$work/kershaw.mtx"
expect 2 'the pivot of row 4 is not positive; .*ic0:shift=auto' solve "$work/kershaw.mtx" --method cg --precond ic0 --pes 2
grep -q 'PE [0-9]' "$work/out"
report $((!$?)) "a fault of the matrix is no PE's"
expect 0 'ic0 of A + 0.256 diag(A), found in 10 tries: the pivot of row 4 ' solve "$work/kershaw.mtx" --method cg --precond ic0:shift=auto --check
expect 0 'A + 0.2 diag' solve "$work/kershaw.mtx" --method cg --precond IC0:shift=0.05 -c --pes 2
expect 0 '"precond_shift":0.256,"precond_tries":10,.*"passed":true' solve "$work/kershaw.mtx" --method cg --precond ic0:shift=auto --check --json
expect 0 '"precond_shift":0,"precond_tries":1,' solve stencil2d:n=5 --method cg --precond ic0:shift=auto --json
expect 2 "shift: 'much' is not a number" solve stencil2d:n=4 --precond ic0:shift=much
expect 2 "'ic0' has no key 'floor'" solve stencil2d:n=4 --precond ic0:floor=1
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 6\n1 1 4\n1 2 1\n2 1 1\n2 3 2\n3 2 2\n3 3 5\n' >"$work/gap.mtx"
expect 2 'row 2 has no entry on the diagonal; .*ilu0:floor=auto' solve "$work/gap.mtx" --precond ilu0
expect 0 '^check passed' solve "$work/gap.mtx" --precond ilu0:floor=auto --check --pes 2
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 7\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n2 3 2\n3 2 2\n3 3 5\n' >"$work/zero.mtx"
expect 2 'the pivot of row 2 is zero; .*ilu0:floor=auto' solve "$work/zero.mtx" --precond ilu0
expect 0 'ilu0: 1 pivot was lifted, the first in row 2' solve "$work/zero.mtx" --precond ilu0:floor=auto --check
expect 2 "has no key 'n'" solve stencil2d:n=4 --precond jacobi:n=3
expect 2 'outside 1 to' solve stencil2d:n=4 --precond block-jacobi:n=0
expect 2 'ends in .csv or .json' solve stencil2d:n=4 --history "$work/h.txt"
expect 2 'tol' solve stencil2d:n=4 --tol -1
expect 0 'converged' solve stencil2d:n=12 --method cg --precond icc --rtol 1e-4 --atol 1e-30 --max-it 100 --type float32
"$tulle" solve stencil2d:n=12 --method cg --rtol 1e-10 -q -o "$work/x0.npy"
expect 0 ' 0  *converged' solve stencil2d:n=12 --method cg --precond bjacobi --x0 "$work/x0.npy" --rtol 1e-6 --type float64
expect 2 "unknown option" solve stencil2d:n=4 --rtoll 1
expect 2 'needs a square sparse matrix' solve "$data/ash219.mtx.gz" --rhs ones
expect 0 'converged' solve stencil2d:n=20 --method cg --rhs ones --history "$work/h.csv" -o "$work/s.npy" --pes 2
iterations=$(sed -n 's/^     1 *\([0-9]*\) converged.*/\1/p' "$work/out")
[ "$(wc -l <"$work/h.csv")" = $((iterations + 2)) ] && [ "$(head -1 "$work/h.csv")" = 'column,iteration,residual,relative,seconds,width' ]
report $? "the history has a line for each of the $iterations iterations and the beginning"
expect 0 '     1          0 converged' solve stencil2d:n=20 --method cg --rhs ones --guess "$work/s.npy" --pes 3
expect 0 'converged' solve cantilever:nodes=5,dof=3,vary=3 --method cg --precond jacobi --rhs load --check --pes 2
expect 2 'load is for cantilever' solve stencil2d:n=10 --method cg --rhs load
expect 2 'does not have the shape' solve stencil2d:n=10 --method cg --rhs ones --guess "$work/s.npy"
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
# definite matrices near the ends of the range, as wholes (10^E) or by rows (10^-S to 10^S, squared): a success passes
# its check, and a failure names its cause
for scale in '-300 0' '-307 0' '-310 0' '-321 0' '300 0' '307 0' '0 75' '0 150' '-150 75' '150 75'; do
    awk -v s="$scale" 'function put(i, j, v) {
            printf "%d %d %.17g\n", i, j, v * 10 ^ (e[1] + e[2] * (2 * (i - 1) / 29 - 1)) * 10 ^ (e[2] * (2 * (j - 1) / 29 - 1)) }
        BEGIN { split(s, e, " "); print "%%MatrixMarket matrix coordinate real symmetric\n30 30 83";
            for (i = 1; i <= 30; i++) { put(i, i, 4); if (i > 1) put(i, i - 1, -1); if (i > 6) put(i, i - 6, -1) } }' >"$work/extreme.mtx"
    wrong=''
    for precond in none jacobi ic0 ilu0 block-jacobi; do
        for method in cg gmres; do
            "$tulle" solve "$work/extreme.mtx" --precond $precond -m $method --rhs ones --max-iterations 200 --check >"$work/out" 2>&1
            case $? in
            0) grep -q 'check passed' "$work/out" || wrong="$wrong $method+$precond is not checked;" ;;
            1) grep -q 'not-finite\|stagnated\|max-iterations\|indefinite\|rank-loss' "$work/out" || wrong="$wrong $method+$precond says nothing;" ;;
            2) grep -q 'pivot\|diagonal' "$work/out" || wrong="$wrong $method+$precond says nothing;" ;;
            *) wrong="$wrong $method+$precond ends otherwise;" ;;
            esac
        done
    done
    for from in ic0 ilu0; do
        "$tulle" trisolve "$work/extreme.mtx" --from $from --rhs ones --check >"$work/out" 2>&1
        case $? in
        0) grep -q 'passed' "$work/out" && ! grep -q 'nan\|inf ' "$work/out" || wrong="$wrong trisolve $from is not checked;" ;;
        1 | 2) grep -q 'pivot\|finite\|overflow\|range' "$work/out" || wrong="$wrong trisolve $from: $(tail -1 "$work/out");" ;;
        *) wrong="$wrong trisolve $from ends otherwise;" ;;
        esac
    done
    [ -z "$wrong" ]
    report $? "10^E and S of $scale:${wrong:- right or refused}"
done
# through a device
expect 0 'slabs of at most.*through 3 buffers' solve stencil2d:n=60 --method cg --precond jacobi --device limit:link=2G+cpu --slabs 7 --pes 2 --check
if "$tulle" info | grep -q 'HDF5: yes'; then
    "$tulle" gen stencil2d:n=60 -o "$work/stencil.bsp.h5" -q
    expect 0 'through 3 buffers' solve "$work/stencil.bsp.h5" --method cg --source file --slabs 5 --rhs ones --pes 2 --check
    expect 2 'precond' solve "$work/stencil.bsp.h5" --method cg --source file --precond ic0
    expect 0 'columns 1 to 8 together' solve "$work/stencil.bsp.h5" --method block-cg --source file --budget 700K --slabs 6 --memory 256M --rhs random:8 --pes 2 --check --history "$work/file.csv"
    grep -q '^check passed' "$work/out" && grep -q 'through [23] buffers' "$work/out" && grep -q '^8,1,.*,8$' "$work/file.csv"
    report $? "block CG from a file: checked, streamed, with a history of eight columns"
    # X and Y of 8 columns do not fit beside slabs, of fewer they do
    expect 0 'columns 1 to 2 together' solve "$work/stencil.bsp.h5" --method block-cg --source file --budget 170K --rhs random:8 --tol 1e-2 --pes 1 --check
    expect 3 'bytes of the device' solve "$work/stencil.bsp.h5" --method block-cg --source file --budget 170K --rhs random:8 --width 8 --pes 1
fi

report_end
