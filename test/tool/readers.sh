#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options that only some algorithms read: every row that --help lists, with every word of the option that chooses.
# readers.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 1
"$tulle" gen er:n=12,degree=3 -o a.mtx -q
"$tulle" gen stencil1d:n=24 -o s.mtx -q 2>/dev/null || "$tulle" gen stencil2d:n=5 -o s.mtx -q

# base VERB: the command without the option; sample VERB OPTION: a value of it ("-": a flag)
base() {
    case $1 in
    spmm) echo "spmm a.mtx --cols 3 --pes 2" ;;
    spgemm) echo "spgemm a.mtx --pes 2" ;;
    gemm) echo "gemm --size 12 --pes 2 --tiles 2" ;;
    trisolve) echo "trisolve s.mtx --from tril --pes 2" ;;
    solve) echo "solve s.mtx --rhs random:2" ;;
    eig) echo "eig s.mtx -k 2 -w SA" ;;
    matfun) echo "matfun sign:mu=1 s.mtx --blocks 1" ;;
    density) echo "density s.mtx --blocks 1 --mu 1" ;;
    esac
}
sample() {
    case $1.$2 in
    *.transfers) echo rows ;;
    *.lookahead) echo 3 ;;
    *.no-offset | *.symmetric-c | *.half | *.nonorthogonal) echo - ;;
    *.replication) echo 2 ;;
    *.resident) echo device ;;
    *.devices) echo 2 ;;
    *.pin) echo off ;;
    spgemm.filter) echo 0.1 ;;
    gemm.block | gemm.host-block) echo 1x1 ;;
    gemm.chunk) echo 1 ;;
    trisolve.chunk) echo 2 ;;
    *.tasks) echo 2 ;;
    *.solves) echo 1 ;;
    *.elimination) echo natural ;;
    *.library) echo "${library:-none}" ;;
    *.restart) echo 5 ;;
    *.width) echo 2 ;;
    *.damp | *.gradient) echo 0.1 ;;
    *.max-condition) echo 1e6 ;;
    *.precond) echo jacobi ;;
    *.permute) echo rcm ;;
    *.format) echo csr ;;
    *.budget) echo 1G ;;
    *.slabs | *.ring) echo 2 ;;
    *.overlap) echo off ;;
    *.combine) echo none ;;
    solve.device) echo limit+cpu ;; # cpu is what it has without
    *.device) echo cpu ;;
    *.order) echo 3 ;;
    eig.degree) echo 4 ;;
    *.kT) echo 0.1 ;;
    *.precision) echo mixed ;;
    *) echo "" ;;
    esac
}
words() { # all words of an option that chooses, from what it says to one that it does not know
    case $1.$2 in
    eig.method) echo "auto lanczos chebyshev lobpcg" ;;
    *.from) echo "triangle tril triu ilu0 ic0 lu cholesky" ;;
    *) "$tulle" $(base "$1") --"$2" none-such 2>&1 | sed 's/.*there are //; s/,/ /g; s/ and / /' ;;
    esac
}
extra() { # what a reader of an option wants beside it
    case $1 in device) echo "--device cpu" ;; blocks) echo "--blocks 1" ;; esac
}

rows=0
for verb in spmm spgemm gemm trisolve solve eig matfun density; do
    "$tulle" $verb --help | sed -n '/^Read by some only:/,/^$/p' | sed ':a;N;$!ba;s/,\n *\([a-z]\)/,\1/g' |
        sed -n 's/; .*//; s/^  --//p' >"rows.$verb"
    while read -r option rest; do
        option=${option%:}
        by=$(echo "$rest" | sed -n 's/^--\([a-z]*\) .*/\1/p')
        list=$(echo "$rest" | sed -n 's/^--[a-z]* \([^ ,]*\(,[a-z0-9][^ ,]*\)*\).*/\1/p')
        with=$(echo "$rest" | sed -n 's/.*with --\([a-z-]*\).*/\1/p')
        value=$(sample $verb "$option")
        rows=$((rows + 1))
        if [ -z "$value" ]; then
            report 1 "$verb --$option has no value here: add one"
            continue
        fi
        [ "$value" = - ] && value=
        # shellcheck disable=SC2086
        [ -z "$with" ] || expect 2 "--$option is read with --$with only" $(base $verb) --"$option" $value
        [ -z "$by" ] && continue
        for word in $(words $verb "$by"); do
            [ "$word" = auto ] && continue
            case ,$list, in
            *,"$word",*)
                # shellcheck disable=SC2086
                "$tulle" $(base $verb) $(extra "$with") --"$by" "$word" --"$option" $value >out 2>&1
                [ $? != 2 ] || grep -q 'direct factors need\|is for S, and' out # what this build or input lacks
                report $? "$verb --$by $word reads --$option: $(head -c 120 out | head -1)" ;;
            *)
                # shellcheck disable=SC2086
                expect 2 "--$option is read by --$by .*$list.* only, not by $word" \
                    $(base $verb) $(extra "$with") --"$by" "$word" --"$option" $value ;;
            esac
        done
    done <"rows.$verb"
done
[ $rows -gt 25 ]
report $? "rows of the table: $rows"

# ---- auto is one that reads what is given, all are those ----
auto() { # auto READERS KEY COMMAND...: the algorithm that --json names
    list=$1 key=$2
    shift 2
    "$tulle" "$@" --json >out 2>err
    got=$(sed -n "s/.*\"$key\":\"\([a-z0-9-]*\)\".*/\1/p" out | head -1)
    case ,$list, in *,"$got",*) report 0 "$* -> $got" ;; *) report 1 "$* -> '$got', not of $list: $(head -c 200 err)" ;; esac
}
asynchronous=stationary-c,stationary-a,stationary-b,steal-random-a,steal-local-a,steal-local-c
auto stationary-c alg gemm --size 12 --tiles 2 --pes 4 --device cpu --block 1x1
auto stationary-c alg gemm --size 12 --tiles 2 --pes 4 --device cpu --chunk 1
auto stationary-c alg gemm --size 64 --pes 4 --machine summit --comm net:latency=5ms,bw=1M+threads --device cpu --chunk 1
auto $asynchronous alg gemm --size 64 --pes 4 --no-offset
auto $asynchronous alg spmm a.mtx --pes 4 --transfers rows
auto chebyshev method eig s.mtx -k 2 -w SA --degree 3
auto chunked method trisolve s.mtx --from tril --chunk 2
auto push method trisolve s.mtx --from tril --pes 2 --tasks 2
auto submatrix method matfun sign:mu=1 s.mtx --blocks 1 --method auto --combine none
auto newton-schulz method matfun sign:mu=1 s.mtx --blocks 1 --method auto --order 3
expect 2 'none reads both' trisolve s.mtx --from tril --chunk 2 --tasks 2
expect 2 'none reads both' matfun sign:mu=1 s.mtx --blocks 1 --method auto --combine none --order 3
"$tulle" spmm a.mtx --cols 2 --pes 4 --alg all --no-offset >out 2>&1
[ $? = 0 ] && grep -q 'summa *skipped: it does not read --no-offset' out && grep -q 'stationary-b  *[0-9]' out
report $? "--alg all goes without those that do not read --no-offset"
"$tulle" trisolve s.mtx --from tril --pes 2 --method all --tasks 2 >out 2>&1
[ $? = 0 ] && ! grep -q levels out && grep -q zerocopy out
report $? "--method all goes without those that do not read --tasks"
# ---- what operands or other options leave without a reader ----
"$tulle" gen dense:m=3,n=3 -o d.npy -q
"$tulle" convert s.mtx s.bsp.h5 -q
while IFS='|' read -r pattern command; do
    # shellcheck disable=SC2086
    expect 2 "$pattern" $command
done <<'ROWS'
--blocks has 2 words, and at most 1 are read here|matfun sign:mu=1 s.mtx --blocks 1,2
--blocks has 2 words, and at most 1 are read here|density s.mtx --electrons 2 --blocks 1,2
--blocks has 3 words, and at most 2 are read here|stat s.mtx --blocks 2,2,7
--blocks has 3 words, and at most 2 are read here|spmm s.mtx --cols 2 --blocks 1,1,1
--blocks has 4 words, and at most 3 are read here|spgemm s.mtx --blocks 1,1,1,1
--m is a size of random factors, and A is in d.npy|gemm d.npy --m 9
--k is a size of random factors, and A is in d.npy|gemm d.npy --k 9
--n is a size of random factors, and both are in files|gemm d.npy d.npy --n 9
--size is a size of random factors, and both are in files|gemm d.npy d.npy --size 9
--max-passes is of a run to convergence|svd s.mtx -k 2 --passes 3 --max-passes 9
--max-passes is of a run to convergence, which --tol asks for|pca s.mtx -k 2 --max-passes 9
--drop-zeros is of a matrix in memory|stream s.bsp.h5 --source file --drop-zeros
--duplicates is of a matrix in memory|solve s.bsp.h5 --source file --duplicates error
--zero-based is of a matrix in memory|eig s.bsp.h5 --source file --zero-based
--assume is of a matrix in memory|svd s.bsp.h5 -k 2 --source file --assume foo
--lenient is of a matrix in memory|pca s.bsp.h5 -k 2 --source file --lenient
--general writes both triangles, and --format symmetric one|convert s.mtx o.mtx --general --format symmetric
ROWS
expect 0 'the file has a banner, which is read instead' stat a.mtx --assume 'matrix coordinate real symmetric'
# what nothing reads beside another option
for beside in '--top 2' '--above 0.5' --cosine '--blocks 1' '--device cpu --resident device'; do
    # shellcheck disable=SC2086
    expect 2 '--unordered is not read with --[a-z]*' spgemm a.mtx --unordered $beside
done
for option in '--block 1x1' '--host-block 1x1' '--chunk 1'; do
    for beside in '--pin off' '--resident device'; do
        # shellcheck disable=SC2086
        expect 2 "${option%% *} is not read with $beside" gemm --size 12 --device cpu $option $beside
    done
done
# values that are the default ask for nothing
expect 0 summa spmm a.mtx --cols 2 --pes 4 --alg summa --transfers auto --replication 1 --resident host \
    --pin on --lookahead 0
report_end
