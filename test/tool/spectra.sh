#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit statuses, messages and outputs of eigenpairs, singular values and principal components. spectra.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
largest=7.8379718 # of stencil2d:n=10: 4 + 4 cos(pi / 11)

expect 0 " $largest" eig stencil2d:n=10 -k 3 -w LA --pes 2
expect 0 "\"which\":\"BE\".*\"converged\":4,\"values\":\[$largest" eig stencil2d:n=10 -k 4 -w BE --json
expect 0 '"count":2,' eig stencil2d:nx=2,ny=1 --json
expect 0 '"method":"chebyshev","degree":[1-9].*"converged":30,"values":\[0.02052' eig stencil2d:n=30 -k 30 -w SA --json --pes 3
expect 0 '"method":"lanczos","which".*"converged":30,' eig stencil2d:n=30 -k 30 -w SA -m lanczos --json
expect 0 'filter of degree 4: ' eig stencil2d:n=30 -k 20 -w LA -m chebyshev --degree 4 --device cpu
expect 0 'value S x' eig stencil2d:n=10 band:n=100,lower=2,values=spd -k 9 -w SA -m chebyshev --pes 2
expect 2 'pairs of one end (SA, LA) or the largest in magnitude (LM), not BE' eig stencil2d:n=10 -m chebyshev -w BE
expect 2 'more than the 2 rows' eig stencil2d:nx=2,ny=1 -k 3
expect 2 'is not symmetric' eig "$data/arc130.mtx.gz"
expect 2 'of a square matrix' eig "$data/ash219.mtx.gz"
expect 1 'of 6 eigenpairs have converged in 4 passes' eig "$data/bcsstk16.mtx.gz" -w SA --max-passes 3 -o "$work/none.npy"
[ ! -e "$work/none.npy" ]
report $? "vectors that did not converge are not written"

if "$tulle" info | grep -q '^SuiteSparse: yes'; then
    expect 0 ' \(4\|4\.0000000000*[0-9]*\|3\.9999999999*[0-9]*\)  ' eig stencil2d:n=10 -k 3 --sigma 4.1 --pes 2
    expect 0 '"S":"band:n=100,.*"sigma":1,.*"converged":4,' eig stencil2d:n=10 band:n=100,lower=2,values=spd -k 4 --sigma 1 --pes 3 --json -o "$work/v.npy"
    expect 0 'value S x' eig stencil2d:n=10 band:n=100,lower=2,values=spd -k 4 -w SA
    expect 2 'not positive definite' eig stencil2d:n=10 stencil2d:n=10,shift=-4
    expect 2 'is not symmetric' eig "$data/arc130.mtx.gz" --sigma 1
    # a sigma that is an eigenvalue, where the shift moves by more than half of what lies between values
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real symmetric\n250 250 250"; for (i = 1; i <= 250; i++) print i, i, i }' >"$work/levels.mtx"
    for sigma in 111 171 211 248; do
        expect 0 "^ *1  *$sigma  " eig "$work/levels.mtx" -k 1 --sigma $sigma --type f32
    done
    awk 'BEGIN { print "%%MatrixMarket matrix coordinate real symmetric\n101 101 101"; for (i = 1; i <= 100; i++) print i, i, i * 1e-9; print 101, 101, 1 }' >"$work/levels.mtx"
    expect 0 '^ *1  *8\.*[0-9]*e-09  ' eig "$work/levels.mtx" -k 1 --sigma 8e-9
    expect 0 '^[1-9][0-9]* passes' eig "$work/levels.mtx" -k 2 --sigma 8e-9 --max-passes 400
fi
expect 0 '"method":"lobpcg","precond":"ic0".*"converged":5,"values":\[0.16202' eig stencil2d:n=10 -k 5 -m lobpcg --precond ic0 --pes 3 --json -o "$work/v.npy"
expect 0 'value S x' eig stencil2d:n=10 band:n=100,lower=2,values=spd -k 4 -m lobpcg --pes 2
expect 2 'does not go with --sigma' eig stencil2d:n=10 -m lobpcg --sigma 1
expect 1 'in .* passes: r^T M r < 0 for .* the preconditioner M is not positive definite' eig stencil2d:n=10,shift=-5 -k 3 -m lobpcg --precond jacobi --max-passes 3
expect 1 '3 eigenpairs have converged in [0-9]* passes$' eig stencil2d:n=10 -k 3 -m lobpcg --precond jacobi --max-passes 3
expect 0 'polynomial, 2 to 1000' eig --help
expect 2 'is for --method lobpcg' eig stencil2d:n=10 --precond ic0
expect 2 'smallest (SA) or the largest (LA) pairs, not BE' eig stencil2d:n=10 -m lobpcg -w BE
expect 2 'is 99 x 99, but stencil2d:n=10 100 x 100' eig stencil2d:n=10 band:n=99,lower=2,values=spd
expect 2 'which is LM then, not SA' eig stencil2d:n=10 --sigma 1 -w SA
expect 2 'is not factorised' eig stencil2d:n=10 --sigma 1 --device cpu

expect 0 " $largest" svd stencil2d:n=10 -k 3 --pes 2
expect 0 '"m":219,"n":85.*"converged":6' svd "$data/ash219.mtx.gz" --left "$work/u.npy" --right "$work/v.npy" --json --pes 3
expect 0 '219 x 6' stat "$work/u.npy"
expect 0 '85 x 6' stat "$work/v.npy"
expect 2 'more than the 85 singular values' svd "$data/ash219.mtx.gz" -k 86
expect 2 'give one of them' svd "$data/ash219.mtx.gz" --tol 1e-3 --passes 3
expect 2 'do not span' svd "$data/ash219.mtx.gz" -k 20 --passes 2 --block 4
expect 1 'singular values have converged' svd "$data/bcsstk16.mtx.gz" -k 20 --max-passes 3

expect 0 'of the variance' pca "$data/ash219.mtx.gz" -k 3 -o "$work/scores.npy" --components "$work/components.npy"
expect 0 '219 x 3' stat "$work/scores.npy"
expect 0 '85 x 3' stat "$work/components.npy"
expect 0 '"passes":6,' pca "$data/ash219.mtx.gz" -k 3 --scale --json --pes 2
expect 0 '"explained_variance_ratio":\[.*"converged"\|"converged":3.*"explained_variance_ratio":\[' pca "$data/ash219.mtx.gz" -k 3 --tol 1e-8 --json
if "$tulle" info | grep -q 'HDF5: yes'; then
    "$tulle" gen stencil2d:n=10 -o "$work/grid.bsp.h5" -q
    "$tulle" convert stencil2d:n=10 "$work/half.bsp.h5" --format bsr:b=2,half -q
    expect 0 " $largest" svd "$work/grid.bsp.h5" -k 2 --source file --pes 2 --memory 300M
    expect 0 'of the variance' pca "$work/grid.bsp.h5" -k 2 --source file --pes 3
    expect 2 'takes single entries and all of them' svd "$work/half.bsp.h5" --source file
    expect 3 'memory' svd "$work/grid.bsp.h5" -k 2 --source file --memory 100K
fi

report_end
