#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The files that the command reads and writes: endings, standard input and output, .npz, symmetry, outputs that cannot
# be written, full disks. files.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1
has_zlib=$("$tulle" info | grep -c 'zlib: yes')
has_hdf5=$("$tulle" info | grep -c 'HDF5: yes')
skip() { report 0 "# SKIP $1"; }
# same A B TEXT: two files of the same bytes
same() {
    cmp -s "$1" "$2"
    report $? "$3"
}
# refused STATUS PATTERN FILE COMMAND...: and no such file, nor any other, is left
refused() {
    before=$(ls -A | grep -v '^out$')
    must=$1 text=$2 absent=$3
    shift 3
    expect "$must" "$text" "$@"
    [ "$(ls -A | grep -v '^out$')" = "$before" ] && [ ! -e "$absent" ]
    report $? "nothing is left of $absent"
}

printf '%%%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1.5\n2 4 -2\n3 1 0.1\n3 3 4\n' >a.mtx
printf '%%%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n1 1 1.5\n2 2 9\n3 1 -2\n3 2 0.1\n3 3 4\n' >s.mtx
printf '%%%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1.5\n3 2 -2\n' >k.mtx
printf '%%%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n' >d.mtx

# ---- endings ----
for name in x.mat x.csv x.mtx.bz2 x x.gz x.npyz .; do
    refused 2 'unknown ending; a sparse matrix can be written to a .mtx, .mtx.gz, .npz, .petsc or .bsp.h5' "./$name/x" convert a.mtx "$name"
done
refused 2 'unknown ending; a dense matrix can be written to a .mtx, .mtx.gz, .npy, .petsc or .bsp.h5' x.csv spmm a.mtx --cols 2 -o x.csv
refused 2 'unknown ending' x.csv trisolve s.mtx --from tril -o x.csv
refused 2 'unknown ending' x.csv solve s.mtx -o x.csv
refused 2 'unknown ending' x.csv gen rmat:scale=4 -o x.csv
refused 2 'generator' er:n=3 convert a.mtx er:n=3
refused 2 'a sparse matrix can be written to' x.npy spgemm s.mtx -o x.npy
refused 2 'a dense matrix can be written to' x.npz spmm s.mtx -o x.npz
# two outputs of one name, however it is written
mkdir sub && ln -s . sub/here
for pair in "svd s.mtx -k 1 --left x.npy --right x.npy" "svd s.mtx -k 1 --left x.npy --right sub/../x.npy" \
    "pca s.mtx -k 1 -o x.npy --components ./x.npy" "pca s.mtx -k 1 -o sub/x.npy --components sub/here/x.npy" \
    "solve s.mtx -o x.npy --trace ./x.npy" "solve s.mtx --history x.json --trace x.json" "spmm s.mtx -o x.mtx --trace ./x.mtx"; do
    # shellcheck disable=SC2086
    refused 2 'two outputs have the same name' x.npy $pair
done
rm -r sub
# a report beside a matrix on standard output
for side in "svd s.mtx -k 1 --left" "svd s.mtx -k 1 --right" "pca s.mtx -k 1 --components" "pca s.mtx -k 1 -o"; do
    # shellcheck disable=SC2086
    "$tulle" $side - 2>/dev/null | head -1 | grep -q '^%%MatrixMarket'
    report $? "$side - writes a matrix alone"
    # shellcheck disable=SC2086
    "$tulle" $side - 2>/dev/null | "$tulle" stat - >"$work/out" 2>&1
    report $? "... that is read again"
done
# algorithms that cannot run: the output is the first one's that does; an error if none does
for algs in cannon,stationary-c summa,cannon,steal-local-a; do
    expect 0 '3 x 3 (7 entries)' spgemm s.mtx --alg $algs --pes 2 -o x.npz
    [ -e x.npz ] && rm x.npz
    report $? "$algs writes its result"
done
refused 2 'none of the algorithms can run: stationary-c: ' x.npz spgemm s.mtx --top 2 --alg all --device cpu -o x.npz
refused 2 'none of the algorithms can run: stationary-c: ' x.npz spgemm s.mtx --top 2 --alg all --device cpu -o x.npz --json
# before any work: a matrix that would take minutes
briefly refused 2 'unknown ending' x.csv spgemm rmat:scale=24,edgefactor=16 -o x.csv
briefly refused 2 'No such file' no/x.mtx spgemm rmat:scale=24,edgefactor=16 -o no/x.mtx
cp a.mtx A.MTX
expect 0 '3 x 4' stat A.MTX
"$tulle" convert A.MTX B.MTX -q
same a.mtx B.MTX "capitals in .MTX"
"$tulle" gen dense:m=3,n=2 -o D.NPY -q && "$tulle" convert D.NPY d2.npy -q
same D.NPY d2.npy "capitals in .NPY"
if [ "$has_zlib" = 1 ]; then
    "$tulle" convert a.mtx A.MTX.GZ -q && gzip -t <A.MTX.GZ && "$tulle" convert A.MTX.GZ b.mtx -q
    same a.mtx b.mtx "capitals in .MTX.GZ"
    "$tulle" convert a.mtx A.NPZ -q && "$tulle" convert A.NPZ b.mtx -q
    same a.mtx b.mtx "capitals in .NPZ"
else
    refused 2 'no zlib' x.mtx.gz convert a.mtx x.mtx.gz
    refused 2 'no zlib' x.npz convert a.mtx x.npz
fi
if [ "$has_hdf5" = 1 ]; then
    "$tulle" convert a.mtx A.BSP.H5 -q && "$tulle" convert A.BSP.H5 b.mtx -q
    same a.mtx b.mtx "capitals in .BSP.H5"
fi
"$tulle" solve s.mtx --rhs ones --history H.CSV -q >/dev/null 2>&1
[ -s H.CSV ]
report $? "capitals in .CSV"

# ---- standard input and output ----
for pes in 1 3; do
    "$tulle" convert a.mtx - --pes $pes -q >b.mtx
    same a.mtx b.mtx "to standard output, $pes PEs"
    rm -f b.mtx
    "$tulle" convert - b.mtx --pes $pes -q <a.mtx
    same a.mtx b.mtx "from a file as standard input, $pes PEs"
    # a writer that is slow, and all of what it writes
    { head -2 a.mtx; sleep 0.2; tail -n +3 a.mtx; } | "$tulle" convert - - --pes $pes -q >b.mtx
    same a.mtx b.mtx "through a pipe, $pes PEs"
    { read -r first && "$tulle" convert - - --pes $pes -q; } >b.mtx <<END
a line that another reads first
$(cat a.mtx)
END
    same a.mtx b.mtx "from where a file stands, $pes PEs"
    if [ "$has_zlib" = 1 ]; then
        gzip -c a.mtx | "$tulle" convert - - --pes $pes -q >b.mtx
        same a.mtx b.mtx "packed, through a pipe, $pes PEs"
    fi
done
"$tulle" gen er:n=3000,degree=9 -o long.mtx -q && "$tulle" convert - - -q <long.mtx | cmp -s - long.mtx
report $? "a longer one"
"$tulle" gen er:n=3000,degree=9 -o - 2>/dev/null | cmp -s - long.mtx
report $? "a generator to standard output"
"$tulle" spgemm s.mtx -o c.mtx -q >/dev/null && "$tulle" spgemm - - -o - -q <s.mtx >b.mtx 2>err
same c.mtx b.mtx "a product of standard input with itself, and nothing else on standard output"
grep -q 'stationary' err
report $? "the report goes to standard error"
"$tulle" spgemm s.mtx -o - --alg all --json >b.mtx 2>err
same c.mtx b.mtx "with --json, too"
grep -q '"alg":"stationary-c"' err
report $? "which goes to standard error"
for verb in "solve s.mtx --rhs ones" "trisolve s.mtx --from tril" "spmm s.mtx --cols 1"; do
    for json in "" --json; do
        # shellcheck disable=SC2086
        "$tulle" $verb $json -o - >b.mtx 2>err && [ "$(head -1 b.mtx)" = '%%MatrixMarket matrix array real general' ] &&
            [ "$(wc -l <b.mtx)" = 5 ] && [ -s err ]
        report $? "$verb $json -o -: X alone on standard output"
    done
done
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n' >rhs.mtx
"$tulle" solve s.mtx --rhs rhs.mtx -o x1.npy >/dev/null && "$tulle" solve s.mtx --rhs - -o x2.npy <rhs.mtx >/dev/null
same x1.npy x2.npy "a right-hand side from standard input"
expect 2 'standard input: the file is empty' stat - </dev/null
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 1.0\n' >range.mtx
expect 2 'standard input:4:' stat - <range.mtx
cat range.mtx | expect 2 'standard input:4:' stat -
"$tulle" stat - <&- >out 2>&1
[ $? = 2 ] && grep -q 'standard input' out
report $? "without a standard input"
"$tulle" convert a.mtx - -q >&- 2>out
[ $? = 2 ] && grep -q 'standard output' out
report $? "without a standard output"
if [ -w /dev/full ]; then
    "$tulle" convert a.mtx - -q >/dev/full 2>out
    [ $? = 2 ] && grep -q 'standard output: writing failed: No space left' out
    report $? "a full standard output"
fi
refused 2 'only -o writes to standard output' ./- spgemm s.mtx --trace -
refused 2 'csv or .json' ./- solve s.mtx --history -
phases="spgemm rmat:scale=12,values=integer --pes 2 --memory 50M"
# shellcheck disable=SC2086
"$tulle" $phases -o - -q >b.mtx 2>out
[ $? = 2 ] && grep -q 'standard output: is not a regular file.*write to a file' out && [ ! -s b.mtx ]
report $? "phases do not go to standard output: $(head -c 80 out)"

# ---- .npz ----
if [ "$has_zlib" = 1 ]; then
    "$tulle" convert "$data/npz/csr_packed.npz" reference.mtx -q
    for file in csr_stored csc_packed csc_stored bsr_packed coo_packed coo_stored coords wide_f4; do
        for pes in 1 2 5; do
            "$tulle" convert "$data/npz/$file.npz" b.mtx -q --drop-zeros --pes $pes
            same reference.mtx b.mtx "$file, $pes PEs"
        done
    done
    expect 2 "the format 'dia' is not read" stat "$data/npz/dia.npz"
    expect 2 "complex.npz: member data.npy: values of type '<c16'" stat "$data/npz/complex.npz"
    expect 2 'dense.npz: has no member format.npy' spgemm "$data/npz/dense.npz"
    expect 0 '(scipy, bsr)' stat "$data/npz/bsr_packed.npz"
    # a stored member damaged: no PE reads all of it, and yet it is seen
    "$tulle" convert long.mtx long.npz -q && cp long.npz hurt.npz && printf '\377' | dd of=hurt.npz bs=1 seek=200001 conv=notrunc 2>/dev/null
    for pes in 1 4; do expect 2 'hurt.npz: member .*: is damaged' stat hurt.npz --pes $pes; done
    for matrix in west0067.mtx.gz lp_afiro.mtx.gz ash219.mtx.gz; do
        "$tulle" convert "$data/$matrix" one.mtx -q && "$tulle" convert "$data/$matrix" m.npz -q --pes 3 &&
            "$tulle" convert m.npz two.mtx -q --pes 2
        same one.mtx two.mtx "$matrix to .npz and back"
    done
    "$tulle" gen cantilever:nodes=4,dof=3 -o k3.npz -q --pes 2 && "$tulle" gen cantilever:nodes=4,dof=3 -o k3.mtx -q &&
        "$tulle" convert k3.npz k4.mtx -q
    same k3.mtx k4.mtx "a matrix that is written some rows at a time"
    # shellcheck disable=SC2086
    "$tulle" $phases -o phases.npz -q >/dev/null && "$tulle" spgemm rmat:scale=12,values=integer --pes 2 -o whole.npz -q >/dev/null
    same whole.npz phases.npz "a result in phases"
    printf 'import sys, scipy.io, scipy.sparse\nA = scipy.sparse.load_npz(sys.argv[1])\nassert A.format == "csr" and A.has_canonical_format\nB = scipy.io.mmread(sys.argv[2])\nassert A.shape == B.shape and abs(A - B.astype(A.dtype)).max() == 0\n' >load.py
    if ${TULLE_PYTHON:-python3} -c 'import scipy' 2>/dev/null; then
        "$tulle" convert "$data/west0067.mtx.gz" w.npz -q && "$tulle" convert "$data/west0067.mtx.gz" w.mtx -q &&
            ${TULLE_PYTHON:-python3} load.py w.npz w.mtx
        report $? "SciPy reads what is written"
        "$tulle" convert "$data/west0067.mtx.gz" w.npz -q --type f32 && "$tulle" convert "$data/west0067.mtx.gz" w.mtx -q --type f32 &&
            ${TULLE_PYTHON:-python3} load.py w.npz w.mtx
        report $? "and f32"
    else
        skip "there is no SciPy to read what is written (TULLE_PYTHON names a Python that has it)"
    fi
fi

# ---- symmetry ----
for pes in 1 2 3; do
    for file in s k d; do
        rm -f b.mtx
        "$tulle" convert $file.mtx b.mtx -q --pes $pes
        same $file.mtx b.mtx "$file.mtx keeps its symmetry, $pes PEs"
        "$tulle" convert $file.mtx g.mtx -q --pes $pes --general && head -1 g.mtx | grep -q general
        report $? "--general, $pes PEs"
    done
    "$tulle" convert k.mtx - --general -q --pes $pes >g.mtx && [ "$(sed -n 2,3p g.mtx | tr '\n' ' ')" = '3 3 4 1 2 -1.5 ' ]
    report $? "both triangles of a skew-symmetric matrix, $pes PEs"
    "$tulle" convert d.mtx b.mtx --sparse -q --pes $pes && [ "$(sed -n 1,2p b.mtx | tr '\n' ' ')" = \
        '%%MatrixMarket matrix coordinate real symmetric 3 3 6 ' ]
    report $? "a symmetric array as a sparse matrix, $pes PEs"
done
for matrix in bcsstk01.mtx can_24.mtx LFAT5.mtx.gz bcsstk16.mtx.gz; do
    "$tulle" convert "$data/$matrix" half.mtx -q --pes 3 && head -1 half.mtx | grep -q 'real symmetric' &&
        "$tulle" convert half.mtx whole.mtx --general -q --pes 2 && "$tulle" convert "$data/$matrix" whole2.mtx --general -q &&
        cmp -s whole.mtx whole2.mtx && [ "$(wc -l <half.mtx)" -lt "$(wc -l <whole.mtx)" ]
    report $? "$matrix: one triangle, which is the whole again"
done
if [ "$has_zlib" = 1 ]; then
    "$tulle" convert s.mtx b.mtx.gz -q && gzip -dc b.mtx.gz | cmp -s - s.mtx
    report $? "packed, too"
fi
"$tulle" convert s.mtx - -q --type f32 | head -1 | grep -q symmetric
report $? "in f32"
expect 2 'is not symmetric bit by bit' convert "$data/cage5.mtx.gz" x.mtx --format symmetric
expect 2 'must be square' convert a.mtx x.mtx --format skew-symmetric
expect 2 'is not skew-symmetric' convert s.mtx x.mtx --format skew-symmetric --pes 2
"$tulle" convert g.mtx b.mtx -q && [ "$(head -1 b.mtx)" = '%%MatrixMarket matrix coordinate real general' ]
report $? "a general file stays general"

# ---- the same file ----
cp s.mtx kept.mtx
ln s.mtx hard.mtx
ln -s s.mtx soft.mtx
mkdir folder && ln -s ../soft.mtx folder/far.mtx
for name in s.mtx ./s.mtx hard.mtx soft.mtx folder/far.mtx; do
    expect 2 'is also the input' convert s.mtx "$name"
    expect 2 'is also the input' spgemm "$name" -o s.mtx
    expect 2 'is also the input' spmm rmat:scale=4 "$name" -o s.mtx
    expect 2 'is also the input' solve rmat:scale=4 --rhs "$name" -o s.mtx
    expect 2 'is also the input' trisolve "$name" --from tril -o hard.mtx
    expect 2 'is also the input' spgemm "$name" --trace s.mtx
    expect 2 'is also the input' stream "$name" --trace s.mtx
done
"$tulle" convert s.mtx - -q >>s.mtx 2>out
[ $? = 2 ] && grep -q 'is also the input' out
report $? "standard output that is the input"
"$tulle" convert - soft.mtx -q <s.mtx 2>out
[ $? = 2 ] && grep -q 'is also the input' out
report $? "standard input that is the output"
expect 2 'two outputs' spgemm s.mtx -o t.mtx --trace t.mtx
same s.mtx kept.mtx "it is as it was"

# ---- outputs that cannot be written ----
mkdir d.npy && : >plain
printf '{"op":"x"}\n' >line.json
for file in no/where.npy d.npy plain/x.npy; do
    refused 2 'directory' no spmm s.mtx -o "$file"
    refused 2 'directory' no solve s.mtx -o "$file"
    refused 2 'directory' no trisolve s.mtx --from tril -o "$file"
    refused 2 'directory' no spgemm s.mtx --trace "$file"
    refused 2 'directory' no trisolve s.mtx --from tril --trace "$file"
    refused 2 'directory' no stream s.mtx --trace "$file"
done
mkdir h.csv p.svg machine
refused 2 'is a directory' no solve s.mtx --history h.csv
refused 2 'No such file' no/h.json solve s.mtx --history no/h.json
refused 2 'is a directory' no plot scaling line.json -o p.svg
refused 2 'No such file' no/p.gp plot scaling line.json -o no/p.gp
ln -s line.json line.json.gp
expect 2 'is also the input' plot scaling line.json -o line.json.gp
# before there is a team to measure with
TULLE_MACHINE=machine expect 2 'is a directory' calibrate --comm nonsense
TULLE_MACHINE=plain/x expect 2 'Not a directory' calibrate --comm nonsense
rm -rf d.npy h.csv p.svg machine
# rights: root has them all, so that another user tries if root can become one
chmod 555 folder
as_other=""
if [ "$(id -u)" = 0 ]; then
    as_other=none
    command -v setpriv >/dev/null 2>&1 && chmod 755 . && setpriv --reuid 65534 --clear-groups "$tulle" --version >/dev/null 2>&1 &&
        as_other="setpriv --reuid 65534 --clear-groups"
fi
if [ "$as_other" = none ]; then
    skip "root may write everywhere, and no other user could run the command"
else
    chmod 444 plain
    $as_other "$tulle" convert s.mtx folder/x.mtx -q 2>out
    [ $? = 2 ] && grep -q 'folder/x.mtx: .*Permission denied' out
    report $? "a folder without rights: $(cat out)"
    cp s.mtx locked.mtx && chmod 444 locked.mtx
    $as_other "$tulle" convert a.mtx locked.mtx -q 2>out
    [ $? = 2 ] && grep -q 'locked.mtx: .*Permission denied' out && cmp -s s.mtx locked.mtx
    report $? "a file that is read-only: $(cat out)"
fi
chmod 755 folder
# what was there outlives a trial and a run that fails
cp a.mtx old.mtx
expect 2 'inner sizes\|must be square\|square' solve a.mtx -o old.mtx
same a.mtx old.mtx "an old file outlives a run that fails"
long=$(printf 'n%0240d.mtx' 0)
"$tulle" convert a.mtx "$long" -q
same a.mtx "$long" "a name of 245 characters"
expect 2 'too long' convert a.mtx "$(printf 'n%0260d.mtx' 0)"

# ---- full disks: a file may not grow beyond so many blocks of 512 bytes ----
limited() { # BLOCKS COMMAND...: its status
    (ulimit -f "$1" && shift && exec "$tulle" "$@" 2>err >/dev/null)
}
full() { # FILE COMMAND...: refused with the cause; nothing is left, and what was there is as it was
    file=$1
    shift
    rm -f "$file"
    before=$(ls -A | grep -v '^err$\|^out$')
    limited "${blocks:-8}" "$@"
    [ $? = 2 ] && grep -q "$file: writing failed: File too large; nothing of it is left behind" err &&
        [ "$(ls -A | grep -v '^err$\|^out$')" = "$before" ]
    report $? "$file on a full disk: $(head -c 120 err)"
    echo old >"$file"
    limited "${blocks:-8}" "$@"
    [ $? = 2 ] && [ "$(cat "$file")" = old ] && [ "$(ls -A | grep -v '^err$\|^out$\|part')" = "$(ls -A | grep -v '^err$\|^out$')" ]
    report $? "the old $file is as it was"
    rm -f "$file"
}
full x.mtx gen er:n=3000,degree=9 -o x.mtx
[ "$has_zlib" = 1 ] && full x.mtx.gz gen er:n=3000,degree=9 -o x.mtx.gz
[ "$has_zlib" = 1 ] && full x.npz gen er:n=3000,degree=9 -o x.npz
[ "$has_hdf5" = 1 ] && full x.bsp.h5 gen er:n=3000,degree=9 -o x.bsp.h5
full x.npy gen dense:m=200,n=90 -o x.npy
full x.mtx spmm er:n=3000,degree=9 --cols 4 -o x.mtx
full x.npy solve stencil2d:n=60 --method cg -o x.npy
full x.csv solve stencil2d:n=60 --method cg --history x.csv
full x.json trisolve stencil2d:n=60 --from tril --method levels,p2p,chunked --reps 99 --trace x.json
i=0
while [ $i -lt 60 ]; do
    "$tulle" spgemm rmat:scale=5 --pes 1 --json -q
    i=$((i + 1))
done >runs.json 2>/dev/null
blocks=1 full x.gp plot scaling runs.json -o x.gp
command -v gnuplot >/dev/null 2>&1 && blocks=8 full x.svg plot scaling runs.json -o x.svg
chmod -R u+rwx .

# entries without a header, as CP2K writes them
"$tulle" gen water:n=2 -o w.mtx -q >out 2>&1 && grep -v '%' w.mtx | tail -n +2 >w.csr && "$tulle" convert w.csr w2.mtx --pes 3 >out 2>&1
cmp w.mtx w2.mtx
report $? "a .csr file has the entries of its .mtx"
printf '1 1 2.5\n\n 2 1 -1\n' >a.csr
expect 0 'a.csr (text without a header' stat a.csr
expect 0 '2 x 2, 3 entries' stat a.csr --assume 'matrix coordinate real symmetric'
printf '1 1 2.5\nx 1 -1\n' >b.csr
expect 2 "b.csr:2:1: 'x' where a row index" stat b.csr
: >c.csr
expect 2 'has no entries' stat c.csr
expect 2 'unknown ending\|can be written to' gen er:n=4 -o d.csr

# ---- archives, other packings, contents, pipes ----
mkdir bc && cp a.mtx bc/bc.mtx && cp rhs.mtx bc/bc_b.mtx
tar -cf bc.tar bc
"$tulle" convert bc.tar b.mtx -q
same a.mtx b.mtx "an archive's matrix"
cp s.mtx bc/bc.mtx && tar -cf bc.tar bc
expect 0 'also holds bc_b.mtx' solve bc.tar --rhs ones
"$tulle" solve bc.tar --rhs bc.tar/bc_b.mtx -o x1.npy >/dev/null 2>&1 && "$tulle" solve s.mtx --rhs rhs.mtx -o x2.npy >/dev/null
same x1.npy x2.npy "a right-hand side of an archive"
expect 2 'holds no none.mtx' stat bc.tar/none.mtx
expect 2 'is no archive' stat a.mtx/none.mtx
if [ "$has_zlib" = 1 ]; then
    tar -czf bc.tar.gz bc && "$tulle" convert bc.tar.gz b.mtx -q
    "$tulle" convert s.mtx b2.mtx -q
    same b2.mtx b.mtx "a packed archive's matrix"
fi
for kind in bzip2:libbz2 xz:liblzma zstd:libzstd; do
    tool=${kind%:*}
    if ! command -v "$tool" >/dev/null; then
        skip "no $tool here: test/io/test_archives.c has its files"
        continue
    fi
    "$tool" -c <a.mtx >a.packed
    if "$tulle" info | grep -q "^${kind#*:}: yes"; then
        for pes in 1 3; do
            "$tulle" convert a.packed - --pes $pes -q >b.mtx
            same a.mtx b.mtx "packed with $tool, $pes PEs"
            "$tulle" convert - - --pes $pes -q <a.packed >b.mtx
            same a.mtx b.mtx "packed with $tool, from standard input, $pes PEs"
        done
    else
        expect 2 "has no ${kind#*:}" stat a.packed
    fi
done
"$tulle" convert a.mtx a.petsc -q && cp a.petsc bare && "$tulle" convert bare - -q >b.mtx
same a.mtx b.mtx "PETSc's binary without an ending"
if [ "$has_hdf5" = 1 ]; then
    "$tulle" convert a.mtx a.bsp.h5 -q && cp a.bsp.h5 h.mtx && "$tulle" convert h.mtx - -q >b.mtx
    same a.mtx b.mtx "HDF5 named .mtx"
    expect 2 'is no HDF5 file, or a damaged one' stat - <<END
$(printf '\211HDF\r\n\032\n')
END
fi
printf '# From To\n0 1\n1 2\n' >edges.txt && ln -s edges.txt edges.csr
expect 2 'call it NAME.csr' stat edges.txt
expect 0 '3 x 3, 2 entries' stat edges.csr --assume 'matrix coordinate pattern general' --zero-based
# what can be read once
for name in /dev/stdin /dev/fd/0 /proc/self/fd/0; do
    cat a.mtx | "$tulle" convert $name - -q --pes 3 >b.mtx
    same a.mtx b.mtx "a pipe as $name"
done
cat a.mtx | "$tulle" convert /dev/fd/7 - -q 7<&0 </dev/null >b.mtx
same a.mtx b.mtx "a pipe as /dev/fd/7"
mkfifo pipe
# formats that are read at offsets, from pipes
formats='petsc npz npy'
[ "$has_hdf5" = 1 ] && formats="$formats bsp.h5"
"$tulle" gen dense:m=4,n=3 -o whole.npy -q
for f in $formats; do
    [ $f = npy ] && cp whole.npy once.npy
    [ $f = npy ] || "$tulle" convert a.mtx once.$f -q
    "$tulle" convert once.$f a1.mtx -q
    for pes in 1 3; do
        for name in - /dev/stdin /dev/fd/0; do
            cat once.$f | "$tulle" convert $name - -q --pes $pes >b.mtx
            same a1.mtx b.mtx "$f from a pipe as $name, $pes PEs"
        done
        (cat once.$f >pipe &)
        "$tulle" convert pipe - -q --pes $pes >b.mtx 2>said
        same a1.mtx b.mtx "$f from a named pipe, $pes PEs"
        "$tulle" convert - - -q --pes $pes <once.$f >b.mtx
        same a1.mtx b.mtx "$f as standard input, $pes PEs"
    done
done
if [ "$has_hdf5" = 1 ]; then
    cat once.bsp.h5 | "$tulle" stream - --source file --check --json >said 2>&1
    grep -q '"passed":true' said
    report $? "a pipe is streamed: $(head -c 200 said)"
fi
cat a.mtx >pipe &
"$tulle" convert pipe - -q --pes 2 >b.mtx 2>err
same a.mtx b.mtx "a named pipe"
grep -q 'the pipe pipe is read as' err
report $? "whose name in messages is told"
cat s.mtx >pipe &
cat rhs.mtx | "$tulle" solve pipe --rhs /dev/stdin -o x1.npy >/dev/null 2>&1
same x1.npy x2.npy "two pipes"
wait

# ---- Y of a stream, X in part ----
"$tulle" stream s.mtx rhs.mtx -o y1.mtx -q >/dev/null && "$tulle" spmm s.mtx rhs.mtx -o y2.mtx -q >/dev/null
same y1.mtx y2.mtx "a stream of a given X, written"
"$tulle" stream s.mtx - -o - -q <rhs.mtx 2>/dev/null | cmp -s - y2.mtx
report $? "from standard input to standard output"
"$tulle" stream s.mtx rhs.mtx --json -o - 2>err >/dev/null
grep -q '"op":"stream"' err
report $? "and the report goes to standard error"
expect 2 'has 3 rows, but' stream a.mtx rhs.mtx
expect 2 'is for a random X' stream s.mtx rhs.mtx --cols 2
expect 2 'sweep excludes -o' stream s.mtx --sweep 1,2 -o y.mtx
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 5\n1 1 1\n2 2 1\n3 4 1\n4 3 -1\n4 4 1e-9\n' >w.mtx
printf '%%%%MatrixMarket matrix array real general\n4 2\n1\n2\n0\n0\n1\n1\n1\n1\n' >two.mtx
refused 1 'indefinite\|max-iter\|stagnated' x.mtx solve w.mtx --rhs two.mtx -m cg --max-iterations 1 -o x.mtx
expect 1 'indefinite\|max-iter\|stagnated' solve w.mtx --rhs two.mtx -m cg --max-iterations 1 -o x.mtx --partial
[ "$(sed -n '3,10p' x.mtx | tr '\n' ' ')" = '1 2 0 0 nan nan nan nan ' ]
report $? "--partial: $(sed -n '3,10p' x.mtx | tr '\n' ' ')"
expect 2 'partial is for -o' solve s.mtx --partial
report_end
