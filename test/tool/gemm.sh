#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dense products by the command: factors from files, generators and sizes, every algorithm and grid, each checked; what
# is refused, and how. gemm.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"
cd "$work" || exit 99

expect 2 'no factors: name files, or give --size, or --m, --n and --k' gemm
expect 2 'no factors' gemm --n 4
expect 2 'A is 3 x 2 and B 3 x 2: the inner sizes differ' gemm dense:m=3,n=2 dense:m=3,n=2
expect 2 'unknown option --cols' gemm --size 3 --cols 2
expect 3 'gemm of random matrices needs at least' gemm --size 40000 --memory 100M
for pes in 1 2 3 5 6; do
    expect 0 'stationary-c .*passed' gemm --size 61 --pes $pes --alg all --check --comm threads:direct=off
    expect 0 'steal-local-c .*passed' gemm --m 40 --k 9 --n 70 --pes $pes --alg all --check --tiles 3 --type f32
done
expect 0 'cannon .*passed' gemm --size 50 --pes 4 --grid 2x2 --alg cannon,summa --check --comm check+threads
expect 0 'passed' gemm --size 47 --pes 6 --grid 2x3 --grid-b 3x2 --tiles-c 2 --check
expect 0 'passed' gemm --size 47 --pes 6 --replication 3 --check
expect 0 '"op":"gemm".*"passed":true' gemm --m 5 --k 0 --n 4 --json --check
expect 0 'passed' gemm --m 0 --k 3 --n 4 --check
expect 0 '"flops":432' gemm --m 4 --k 6 --n 9 --json
expect 0 '"blocks":{"block":\[2,1\],"chunk":2,"lookahead":1,.*"passed":true' gemm --size 60 --tiles 5 --pes 1 --block 2x1 --chunk 2 --lookahead 1 --device limit:mem=40K+cpu --json --check
expect 0 'case a of the model' gemm --size 60 --tiles 5 --pes 1 --device limit:mem=90K+cpu
expect 2 'BxC tiles of C' gemm --size 60 --block 2y1 --device cpu
expect 2 'products on devices' gemm --size 60 --block 2x1
expect 3 'takes 3456 ' gemm --size 60 --tiles 5 --pes 1 --device limit:mem=3K+cpu
# without --tiles a device smaller than the matrices gets tiles that fit; auto takes blocks on devices
expect 0 'passed.*' gemm --size 300 --pes 1 --device limit:mem=90K+cpu --check
expect 0 '"alg":"stationary-c".*"blocks":{"block":\[[1-9].*"passed":true' gemm --size 300 --pes 4 --device limit:mem=90K+cpu --devices 2 --comm threads:direct=off --check --json
expect 0 '"alg":"stationary-c".*"blocks":{"block":\[[1-9].*"passed":true' gemm --m 100 --k 900 --n 200 --pes 4 --grid 1x2x2 --device limit:mem=90K+cpu --comm threads:direct=off --check --json
expect 3 'smaller tiles (--tiles) take less' gemm --size 300 --pes 1 --tiles 1 --device limit:mem=90K+cpu
expect 3 'devices with 20 bytes of memory' gemm --size 60 --pes 1 --device limit:mem=20+cpu
expect 0 'blocks of [0-9]* x [0-9]* of [2-9] x [2-9] tiles' predict gemm --size 300 --pes 4 --device limit:mem=90K --devices 2 --machine summit
expect 0 '"grid":\[1,1\].*"replication":4,.*"passed":true' gemm --m 30 --n 20 --k 900 --pes 4 --comm threads:direct=off --json --check
"$tulle" gen dense:m=30,n=20 -o A.npy -q && "$tulle" gen dense:m=20,n=7,seed=3 -o B.npy -q
expect 0 'C: 210 entries' gemm A.npy B.npy -o C1.npy --pes 3
expect 0 'C: 210 entries' gemm A.npy B.npy -o C2.mtx --pes 1 --alg stationary-c
expect 0 'C: 600 entries' gemm A.npy --pes 2 # B is random, 20 x 20
expect 0 '30 x 7' stat C1.npy
"$tulle" convert C1.npy C1.mtx -q && paste C1.mtx C2.mtx |
    awk 'NR > 2 { d = $1 - $2; if (d * d > 1e-20) exit 1 } END { exit NR < 200 }'
report $? "one PE and three write the same product"
report_end
