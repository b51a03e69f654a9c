#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command's exit statuses, messages and outputs: usage, products, files, streaming. tool.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

expect 0 'usage: tulle VERB' --help
expect 2 'usage: tulle VERB'
expect 0 '^tulle [0-9]' --version
# every verb's help has its headings and fits 80 columns
"$tulle" --help >"$work/help"
verbs=$(sed -n '/^usage/,/`tulle/s/^  \([a-z]*\)  *[A-Z].*/\1/p' "$work/help")
for verb in $verbs; do
    expect 0 "usage: tulle $verb" "$verb" --help
    grep -q '^Options:' "$work/out" && grep -q '^Examples:' "$work/out" && grep -q '^Exit status' "$work/out" &&
        awk 'length > 80 { print; exit 1 }' "$work/out" "$work/help"
    report $? "the help of $verb fits 80 columns"
done
[ "$(echo "$verbs" | wc -w)" -ge 15 ]
report $? "of all verbs: $(echo "$verbs" | wc -w)"
expect 0 'usage: tulle stat' help stat
expect 2 "did you mean 'spgemm'" spgem x
expect 2 'did you mean --pes' spmm x --pess 2
expect 2 'unknown option -z' spmm x -z
expect 2 'needs a value' spmm x --pes
expect 2 'not a whole number' spmm x --pes two
expect 2 'outside 1 to' spmm x --pes 0
# hundreds of PEs: processor time is bounded
briefly expect 0 '"grid":\[20,15\].*"passed":true' spmm "$data/bcsstk16.mtx.gz" --cols 4 --comm threads --pes 300 --check --json
expect 0 '"grid":\[3,1\]' spmm "$data/can_24.mtx" --pes 3 --json
expect 2 'takes no value' spmm x --check=yes
expect 2 'operands; usage' spmm
expect 2 'operands; usage' stat a b
expect 2 'cannot be opened' spgemm "$work/absent.mtx"
expect 2 "has no key 'scal'; did you mean 'scale'" spgemm rmat:scal=4
expect 2 'did you mean' spgemm rmatt:scale=4
expect 2 'f32 and f64' spmm rmat:scale=4 --type f16
expect 2 "did you mean 'stationary-a'" spmm rmat:scale=4 --alg stationry-a
expect 2 'grid of 2x3 has 6 PEs' spmm rmat:scale=4 --grid 2x3 --pes 4
expect 2 'is RxC' spmm rmat:scale=4 --grid 2by3
expect 2 "did you mean 'threads'" spmm rmat:scale=4 --comm thread
expect 2 'rows, nnz and flops' spmm rmat:scale=4 --cut cake
expect 2 'sum, error and last' spmm rmat:scale=4 --duplicates maybe
# what there is, whatever the case of what was given
expect 2 "unknown algorithm 'SUMA'; did you mean 'summa'? There are auto, .* summa and cannon" spmm rmat:scale=4 --alg SUMA
expect 0 '^summa .*passed' spmm RMAT:scale=4 --alg Summa,CANNON --type F32 --duplicates SUM --cut Rows --comm Check+THREADS --pes 4 -c
expect 0 '^cannon .*passed' spgemm rmat:scale=4 --alg ALL --transfers Whole --grid AUTO --pes 4 -c
expect 2 "unknown method 'none'; there are auto, serial, " trisolve rmat:scale=4 --method none
expect 2 "unknown kind of transfers 'all'; there are auto, whole, rows and cover" spmm rmat:scale=4 --transfers all
expect 2 "unknown generator 'rmatt'; did you mean 'rmat'? There are rmat, er, " spmm rmatt:scale=4
expect 2 "unknown kind of values (values=) 'half'; there are random, " spmm rmat:scale=4,values=half
expect 2 "unknown format 'coo'; there are auto, csr and bsr" stream fem:nodes=4 --format coo
expect 2 "unknown format 'csr,half': keys follow a colon, as in 'csr:half'" stream fem:nodes=4 --format csr,half
expect 2 "unknown preconditioner 'ic0,shift=1': keys follow a colon, as in 'ic0:shift=1'" solve fem:nodes=4 --precond ic0,shift=1
expect 2 'a solve needs a square sparse matrix, but this one is 5 x 4' solve er:m=5,n=4
expect 2 "no 'cqu'.*did you mean 'cpu'? There are cpu, ref, " stream fem:nodes=4 --device cqu
expect 2 "did you mean 'threads'? There are threads, shmem, " spmm rmat:scale=4 --comm thread
expect 2 "unknown verb 'spgem'; did you mean 'spgemm'? There are spmm, " spgem x
expect 0 '^usage: tulle stat' help STAT
expect 2 "did you mean 'summit'? There are summit, dgx2, here and files that .tulle calibrate. wrote" predict rmat:scale=4 --machine sumit
expect 2 'README.md:1: this is not a line of .tulle calibrate.; .*here are summit, ' predict rmat:scale=4 --machine "$(dirname "$0")/../../README.md"
expect 0 'of summit' predict rmat:scale=4 --machine SUMMIT
expect 2 'kind scaling is drawn from lines that spmm, ' plot scaling "$data/bcsstk01.mtx" -o "$work/x.svg"
expect 2 'kind timeline is drawn from a file that --trace wrote' plot Timeline "$data/bcsstk01.mtx" -o "$work/x.svg"
# what is asked for in vain
"$tulle" gen dense:m=16,n=3 -o "$work/B.npy" -q
expect 0 'warning: --cols 5 is ignored: .*B.npy is given, with 3 columns$' spmm rmat:scale=4 "$work/B.npy" -n 5 --check
expect 0 'warning: band:n=16 is sparse and is converted to dense, 16 x 16; .tulle spgemm. multiplies two sparse' spmm rmat:scale=4 band:n=16 --check
"$tulle" spmm rmat:scale=4 band:n=16 -n 3 -q >"$work/out" 2>&1 && ! grep -q warning "$work/out"
report $? "--quiet: no such warnings"
"$tulle" spmm rmat:scale=4 "$work/B.npy" >"$work/out" 2>&1 && ! grep -q warning "$work/out"
report $? "none where nothing is in vain"
# nothing is predicted of layouts that do not match
expect 0 '^stationary-c  *[0-9.e-]*  *[0-9.e-]*  *-  ' spgemm rmat:scale=7 --alg stationary-c --pes 6 --grid 2x3 --grid-b 3x2 --tiles-b 2 --grid-c 6x1
# one of a thing; a mistake of the user's is no PE's
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n' >"$work/one.mtx"
expect 0 '1 x 1, 1 entry (1 on the diagonal' stat "$work/one.mtx"
expect 0 '1 x 1 (1 entry) times 1 x 1, f64, 1 PE of ' spgemm "$work/one.mtx" --pes 1
expect 0 '1 x 1 (1 entry) times 1 x 1 column\|1 x 1 (1 entry) times 1 column, 1 PE of 1 thread' stream "$work/one.mtx" --pes 1 --threads 1
expect 0 'trisolve .* 1 row, 1 entry, 1 right-hand side, f64, 1 PE' trisolve "$work/one.mtx" --pes 1
expect 0 'solve .* 1 row, 1 entry, 1 right-hand side, f64, 1 PE' solve "$work/one.mtx" --pes 1
expect 2 '^tulle spgemm: A is 219 x 85' spgemm "$data/ash219.mtx.gz" "$data/ash219.mtx.gz" --pes 3
expect 2 'no output is named' gen rmat:scale=4
expect 2 'inner sizes differ' spgemm "$data/ash219.mtx.gz" "$data/ash219.mtx.gz"

printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >"$work/complex.mtx"
expect 2 'complex' spgemm "$work/complex.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 1.0\n' >"$work/range.mtx"
expect 2 '^tulle spgemm: /[^ ]*range.mtx:4:' spgemm "$work/range.mtx" --pes 3
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1.0\n1 2 1.0\n' >"$work/both.mtx"
expect 2 'both (' spgemm "$work/both.mtx" --pes 2
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1.0\n1 1 2.0\n3 3 1\n' >"$work/twice.mtx"
expect 2 'twice.mtx:4:' spgemm "$work/twice.mtx" --duplicates error
expect 0 'repeats an earlier one' stat "$work/twice.mtx"
expect 0 '2 entries' stat "$work/twice.mtx" --quiet

# level sets of the strict lower part with a unit diagonal: lower 2, 3; 3, 2; 4, 2 and an upper entry; an empty row
printf '%%%%MatrixMarket matrix coordinate real general\n5 5 6\n2 1 1\n3 2 1\n4 2 1\n4 4 9\n1 4 1\n4 5 1\n' >"$work/levels.mtx"
expect 0 'lower, unit    8 entries, 3 levels, the widest of 2 rows;$' stat "$work/levels.mtx" --pes 3
grep -q '^ *dependency 1.60, parallelism 1.67$' "$work/out"
report $? "its dependency and parallelism"
expect 0 '"lower_nnz":8,"levels":3,"dependency":1.6,"parallelism":1.66666667,"widest_level":2}' stat "$work/levels.mtx" --json --pes 2
expect 0 'lower, unit    354236 entries, 204 levels,' stat fem:nodes=30 --quiet
grep -q 'parallelism 132.35$' "$work/out"
report $? "its parallelism"
# the paper's nlpkkt at n = 20: n + (3 n - 2)^3 + 6 (3 n - 2)^2 entries in 2 levels, the first all but n^3 rows
expect 0 'lower, unit    233696 entries, 2 levels, the widest of 10400 rows;' stat nlpkkt:n=20 --quiet
expect 0 '"levels":0,"dependency":0,"parallelism":0,"widest_level":0' stat band:n=0 --json
"$tulle" stat "$data/ash219.mtx.gz" >"$work/out" 2>&1 && ! grep -q 'levels' "$work/out"
report $? "no levels where a matrix is not square"

for matrix in west0067.mtx.gz bcsstk01.mtx ash219.mtx.gz lp_afiro.mtx.gz LFAT5.mtx.gz; do
    expect 0 'stationary-b.*passed' spgemm "$data/$matrix" --pes 4 --alg all --check
    expect 0 'stationary-b.*passed' spmm "$data/$matrix" --cols 128 --pes 3 --alg all --check
done
expect 0 'cannon  *skipped: cannon wants a square grid' spgemm rmat:scale=6 --pes 3 --alg all
expect 0 'cannon .*passed' spgemm rmat:scale=6 --pes 4 --grid 2x2 --alg all --check
expect 0 'were stolen from other PEs' spgemm rmat:scale=6 --pes 3 --alg all
expect 0 '"predicted_seconds":0,.*"check":{"passed":true' spgemm rmat:scale=7 --pes 6 --grid 2x3 --grid-b 3x2 --tiles-b 2 --grid-c 6x1 --check --json
expect 0 'stationary-b.*passed' spmm rmat:scale=7 --cols 8 --pes 6 --grid 2x3 --grid-b 3x2 --grid-c 1x6 --alg all --check
expect 0 '"replication":3.*"check":{"passed":true' spmm rmat:scale=7 --cols 8 --pes 6 --replication 3 --check --json
expect 0 'summa *skipped: .*replication of 2' spgemm rmat:scale=6 --pes 4 --alg all --replication 2 --check
expect 2 'replication of 4 for 6 PEs' spmm rmat:scale=6 --pes 6 --replication 4
expect 2 'number of layers' spmm rmat:scale=6 --pes 6 --replication two
expect 2 'grid of 2x2 has 4 PEs' spmm rmat:scale=6 --pes 6 --grid-b 2x2
expect 2 'matching layouts' spmm rmat:scale=6 --pes 6 --grid auto --grid-b 2x3
expect 0 'summa .*passed' spmm rmat:scale=8 --pes 6 --grid 3x2 --tiles 2 --alg summa --check --comm net:latency=5us+threads
# rows in no order: the check and the file put them in order
expect 0 '"unordered":true,.*"check":{"passed":true' spgemm powergrid:n=30 --pes 3 --unordered --check --json
expect 0 '"unordered":false,.*"check":{"passed":true' spgemm powergrid:n=30 --pes 3 --check --json
expect 0 'spgemm' spgemm powergrid:n=30 --pes 3 --unordered -o "$work/unordered.mtx"
expect 0 'spgemm' spgemm powergrid:n=30 --pes 3 -o "$work/ordered.mtx"
expect 2 'unknown option --unordered' spmm powergrid:n=30 --unordered
cmp -s "$work/unordered.mtx" "$work/ordered.mtx"
report $? 'a product in no order is written as the ordered one'
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
"$tulle" gen cantilever:nodes=4,dof=6,vary=2 -o "$work/k.mtx" -q --pes 2 && "$tulle" convert "$work/k.mtx" "$work/k2.mtx" -q &&
    cmp -s "$work/k.mtx" "$work/k2.mtx"
report $? "a cantilever is written some rows at a time as it is whole"
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
"$tulle" $whole -o "$work/whole.mtx" -q >/dev/null && "$tulle" $whole --memory 50M --check -o "$work/phases.mtx" -q >"$work/out" &&
    grep -q passed "$work/out" && ! cmp -s "$work/whole.mtx" "$work/phases.mtx" &&
    "$tulle" convert "$work/phases.mtx" "$work/sorted.mtx" -q --pes 1 && cmp -s "$work/whole.mtx" "$work/sorted.mtx"
report $? "a result in phases is written without holding it whole"
# what is told of it is of all phases: as of the whole product, not of the last of its parts
if command -v python3 >/dev/null 2>&1; then
    "$tulle" $whole --json -q >"$work/whole.json" 2>&1
    "$tulle" $whole --memory 50M --reps 5 --json -q >"$work/phases.json" 2>&1
    python3 - "$work/whole.json" "$work/phases.json" >"$work/out" 2>&1 <<'EOF'
import json, sys
whole, parts = (json.load(open(f)) for f in sys.argv[1:])
times = parts["phases"].values()
print("%d phases, %g s:" % (parts["phases_of_columns"], parts["execute_seconds"]), parts["phases"])
assert whole["phases_of_columns"] == 1 and parts["phases_of_columns"] > 3
assert parts["flops"] == whole["flops"] and parts["nnz_c"] == whole["nnz_c"]
assert abs(parts["bound_memory"] / whole["bound_memory"] - 1) < 0.1, (parts["bound_memory"], whole["bound_memory"])
assert parts["seconds"] == parts["seconds_all"][parts["run"]] == sorted(parts["seconds_all"])[2]
assert sum(t["mean"] for t in times) <= parts["execute_seconds"] * 1.001 <= parts["seconds"] * 1.002
assert sum(t["mean"] for t in times) > 0.25 * parts["execute_seconds"]
EOF
    report $? "times, bound and counts of all phases: $(tail -1 "$work/out")"
fi
for form in "mtx.gz zlib" "bsp.h5 HDF5"; do
    if "$tulle" info | grep -q "${form#* }: yes"; then
        "$tulle" $whole --memory 50M -o "$work/phases.${form% *}" -q >/dev/null &&
            "$tulle" convert "$work/phases.${form% *}" "$work/again.mtx" -q --pes 1 &&
            cmp -s "$work/whole.mtx" "$work/again.mtx"
        report $? "and as .${form% *}"
    else
        expect 2 "no ${form#* }" $whole --memory 50M -o "$work/phases.${form% *}"
    fi
done
expect 2 'can be written to a .mtx, .mtx.gz, .npz, .petsc or .bsp.h5 file' $whole --memory 50M -o "$work/phases.npy"
expect 2 'directory' spgemm "$work/a.mtx" -o "$work/no/where.mtx"
[ ! -e "$work/no" ] && ! ls "$work" | grep -q '\.tmp'
report $? "nothing is left of a file that could not be written"

# streams
expect 0 'read in place' stream fem:nodes=8,dof=3 --check --pes 2
expect 0 'slabs of at most.*through 3 buffers' stream fem:nodes=8,dof=3 --device limit:mem=200K,link=2G+cpu --cols 3 --check --pes 1
expect 3 'a row has [0-9]* blocks, but a slab of the device .limit. has at most 1' stream fem:nodes=8,dof=3 --device limit:blocks=1+cpu --pes 1
expect 0 'check passed' stream fem:nodes=8,dof=3 --device late:seed=3+limit:blocks=60+cpu --pes 2 --check
expect 0 '"hide":false,"separate":true.*"slabs":9,.*"passed":true' stream fem:nodes=8,dof=3 --device limit:link=2G+cpu --slabs 9 --overlap off --column-by-column --cols 3 --check --json --pes 1
expect 0 'check passed' stream "$data/bcsstk16.mtx.gz" --source rebalance --slabs 3 --comm check+threads --pes 3 --check
expect 0 '[0-9]     off .*<- auto' stream fem:nodes=8,dof=3 --device limit:link=2G+cpu --sweep 3,16,auto --check --pes 1
expect 0 '"chosen":false,.*"slabs":7,.*"hide":false\|"hide":false,.*"chosen":false,.*"slabs":7,' stream fem:nodes=8,dof=3 --device limit:link=2G+cpu --sweep 7 --json --pes 2
expect 0 '^    2      on | skipped: .*bytes of the device' stream fem:nodes=8,dof=3 --format csr --device limit:mem=300K,link=2G+cpu --sweep 2,12 --pes 1
expect 2 'excludes --slabs' stream fem:nodes=8 --sweep 2,4 --slabs 3
expect 2 'sweep' stream fem:nodes=8 --sweep 2,x
expect 0 'device cpu: yes' info
expect 3 'bytes of the device' stream fem:nodes=8,dof=3 --budget 20K --pes 1
expect 2 "did you mean 'rebalance'" stream fem:nodes=8 --source rebalnce
expect 2 "did you mean 'limit'" stream fem:nodes=8 --device limt+cpu
if "$tulle" info | grep -q 'HDF5: yes'; then
    "$tulle" gen fem:nodes=9,dof=3 -o "$work/stream.bsp.h5" -q
    expect 0 'file: read ' stream "$work/stream.bsp.h5" --source file --slabs 5 --pes 2 --check
    expect 2 'a stream reads Binsparse' stream "$data/bcsstk16.mtx.gz" --source file
    "$tulle" gen cantilever:nodes=6,dof=3 -o "$work/half.bsp.h5" -q --format bsr:b=3,half --pes 2
    expect 0 'bsr 3 x 3, half, f64' stream "$work/half.bsp.h5" --source file --cols 2 --slabs 4 --pes 1 --check
    expect 0 'check passed' solve "$work/half.bsp.h5" --source file --method block-cg --rhs random:3 --precond block-jacobi:n=3 --pes 3 --check
    expect 2 'convert --format bsr:b=2. writes another' stream "$work/half.bsp.h5" --source file --format bsr:b=2
    expect 0 'blocks of 3 x 3, half' stat "$work/half.bsp.h5"
    "$tulle" gen cantilever:nodes=6,dof=3 -o "$work/whole.mtx" -q
    "$tulle" convert "$work/half.bsp.h5" "$work/back.mtx" -q && cmp -s "$work/whole.mtx" "$work/back.mtx"
    report $? "half of a matrix in blocks, and back"
    "$tulle" convert "$data/bcsstk16.mtx.gz" "$work/single.bsp.h5" -q --format auto:values=f32 --pes 3
    expect 0 'half, f32.*"passed":true' stream "$work/single.bsp.h5" --source file --check --json
    # 4884 is no multiple of 7: padded in the file, not in what is read
    "$tulle" convert "$data/bcsstk16.mtx.gz" "$work/padded.bsp.h5" -q --format bsr:b=7,half --pes 3
    expect 0 '"m":4884,"n":4884.*bsr 7 x 7, half.*"passed":true' stream "$work/padded.bsp.h5" --source file --check --json
    expect 0 'check passed' solve "$work/padded.bsp.h5" --source file --method cg --precond block-jacobi:n=3 --tol 1e-3 --check
    "$tulle" convert "$data/bcsstk16.mtx.gz" "$work/general.mtx" -q --general --drop-zeros
    "$tulle" convert "$work/padded.bsp.h5" "$work/unpadded.mtx" -q --general --drop-zeros && cmp -s "$work/general.mtx" "$work/unpadded.mtx"
    report $? "a matrix that is no multiple of the blocks, and back"
    expect 2 'needs a Binsparse file' convert "$data/bcsstk16.mtx.gz" "$work/no.mtx" --format bsr
fi
"$tulle" stream fem:nodes=8 --device limit:link=2G+cpu --slabs 4 --trace "$work/stream.json" --pes 1 >/dev/null 2>&1 &&
    grep -q 'PE 0 uploads' "$work/stream.json" && grep -q '"multiply"' "$work/stream.json"
report $? "copies and kernels of a stream are in its timeline"

report_end
