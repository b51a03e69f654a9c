#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions of matrices by the command: every function, checked; density matrices; what is refused, and how.
# functions.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 99

T=tightbinding:n=8,orbitals=2,level=3,split=0,hop=.1
expect 0 '"stored":24,"occupation":0.375,"fill":0.5,.*"sizes":\[\[2,2,24\]\],"norm_decades":\[\[-1,16\],\[0,8\]\]' \
    stat $T --blocks auto --json --pes 3
expect 0 '"distances":\[{"from":0,"blocks":8,"mean":4.24264069.*{"from":1,"blocks":14,.*{"from":4,"blocks":2,' \
    stat $T --blocks 2 --json
expect 0 '3 x 5  *4 blocks' stat band:n=11,lower=1 --blocks 3,5
expect 2 'blocks is required' stat band:n=11,lower=1 --blocks auto

if "$tulle" info 2>/dev/null | grep -q 'LAPACK: *no'; then
    expect 3 'need LAPACK' matfun exp band:n=6,values=spd --blocks 2
    report_end
    exit
fi
A=stencil3d:n=4,shift=0.5
for f in sign:mu=3 inverse sqrt invsqrt root:p=-3 exp fermi:mu=3 fermi:mu=3,kT=0.5; do
    expect 0 'check  *passed' matfun $f $A --blocks 4 --pes 3 --check
done
expect 0 'check  *passed' matfun sign $A --blocks 4 --type f32 --check --combine none --symmetric
expect 0 '"submatrices":16,.*"check":true' matfun exp $A --blocks 4 --combine none --check --json
expect 0 'passed' matfun exp $A --blocks 7 --pes 2 --comm threads:direct=off --check --reps 3
expect 0 '64 rows' matfun exp $A --blocks 4 -o E.mtx
expect 0 '1024 entries (64 on the diagonal' stat E.mtx
printf '# sizes\n3\n61\n' >sizes.txt
expect 0 '2 block columns' matfun exp $A --blocks sizes.txt --check
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 3\n' >lacking.mtx
printf '2\n' >short.txt
expect 2 'sizes add up to 2, not 64' matfun exp $A --blocks short.txt
expect 2 '--blocks is required' matfun exp $A
expect 2 "did you mean 'sign'" matfun sgn $A --blocks 2
expect 2 'root needs p' matfun root $A --blocks 2
expect 2 'not symmetric' matfun exp er:n=12,degree=3 --blocks 2
expect 2 'invsqrt is not defined for the eigenvalue' matfun invsqrt stencil3d:n=4,shift=-5 --blocks 4
expect 2 'must be square' matfun exp er:m=4,n=6,degree=2 --blocks 2
expect 3 'needs at least' matfun exp stencil3d:n=200 --blocks 4 --memory 100M
expect 3 'needs at least' density stencil3d:n=200 --blocks 4 --mu 0 --memory 100M
expect 2 'combine' matfun exp $A --blocks 2 --combine 0

for f in sign:mu=3 fermi:mu=3 inverse sqrt invsqrt root:p=-3 exp; do
    expect 0 'check  *passed' matfun $f $A --blocks 4 --method auto --pes 2 --check
done
# overlap matrices, cut by the filter, take a few products; results of stencils are much denser than these. On a machine
# that turns busy an iteration that has begun may be given up
expect 0 '"method":"coupled-newton"\|gave an iteration up' matfun invsqrt water:n=4,matrix=s --blocks 6 --filter 1e-3 --method auto --pes 2 --json
expect 0 '"method":"submatrix"' matfun invsqrt stencil2d:n=32,shift=1 --blocks 16 --filter 1e-4 --method auto --pes 3 --json
expect 0 'check  *passed: times a vector' matfun sign:mu=3 $A --blocks 4 --method newton-schulz --order 5 --check
expect 0 '"check":true' matfun invsqrt $A --blocks 4 --method coupled-newton --filter 1e-4 --pes 2 --check --json
expect 0 '"history":\[{"residual":' matfun sign:mu=3 $A --blocks 4 --method newton-schulz --json
expect 2 'the method for it is submatrix' matfun exp $A --blocks 4 --method newton-schulz
expect 2 "did you mean 'coupled-newton'" matfun sqrt $A --blocks 4 --method coupled-newto
expect 2 'order' matfun sign $A --blocks 4 --order 8
expect 1 'the residual is' matfun sqrt stencil3d:n=4,shift=-5 --blocks 4 --method coupled-newton

H=stencil2d:n=6,values=laplace,shift=-4
expect 0 'electrons  *30;' density $H --blocks 6 --electrons 30 --pes 2
expect 0 '"stored_electrons":.*"overlap":' density $H band:n=36,lower=1,values=spd --blocks 6 --mu 0 --json
expect 0 '8 block columns' density water:n=2 water:n=2,matrix=s --electrons 64 --pes 2
expect 0 '12 block columns' matfun exp tightbinding:n=12,orbitals=2 --check
expect 0 'electrons  *7.5;' density $H --blocks 6 --electrons 7.5 --kT 0.1
expect 0 'iteration  *residual .*electrons' density $H --blocks 6 --electrons 30 --method trs4
expect 0 '"estimates":.*"method":' density $H --blocks 6 --mu -0.3 --method auto --json
expect 0 'check  *passed: some columns' density $H --blocks 6 --mu -0.3 --check
expect 0 'check  *passed: times a vector' density $H --blocks 6 --electrons 30 --method tc2 --check
expect 0 'truncation  *[0-9.e-]* of a product with a vector' density $H --blocks 6 --electrons 30 --pes 2 --check
expect 0 '"check":true,"error":[^,]*,"truncation":[0-9]' density $H --blocks 6 --electrons 30 --check --json
expect 0 'truncation  *[0-9.e-]* of a product' matfun exp $A --blocks 4 --pes 3 --check
expect 0 '"amplification":[^,]*,"truncation":[0-9]' matfun exp $A --blocks 4 --check --json
expect 0 'truncation  *[0-9.e-]* of a product' matfun inverse stencil3d:n=4,shift=0.1 --blocks 4 --filter 3 --check
expect 0 'warning: 1 diagonal block is missing; zeros' matfun exp lacking.mtx --blocks 1
expect 0 'warning: 1 diagonal block is missing; zeros' density lacking.mtx --blocks 1 --mu 0.5
expect 0 '"check":true,"error":' density $H --blocks 6 --electrons 7.5 --check --json
warm="density stencil3d:n=12,values=laplace,shift=-6 --blocks 12 --electrons 1800 --kT 0.1 --combine none --json"
expect 0 '"electrons":\(1800,\|1800\.0000000\|1799.9999999\).*"repeated":0' $warm # decompositions are kept
# shellcheck disable=SC2086
least=$("$tulle" $warm --memory 1M 2>&1 | sed -n 's/.*needs at least \([0-9]*M\) .*/\1/p')
expect 0 '"electrons":\(1800,\|1800\.0000000\|1799.9999999\).*"repeated":[1-9]' $warm --memory "$least"
expect 2 'one of --mu and --electrons' density $H --blocks 6
expect 2 'one of --mu and --electrons' density $H --blocks 6 --mu 0 --electrons 3
expect 2 'more than the 36 states' density $H --blocks 6 --electrons 73
expect 2 'the same blocks' density $H band:n=12,lower=1,values=spd --blocks 6 --mu 0
report_end
