#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Predictions: of products on machines that are not there, beside what runs count; grids chosen by them; calibration.
# predict.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

expect 0 'stationary-c .*' predict rmat:scale=8 --pes 384 --machine summit --grid 16x24
grep -q 'cannon  *skipped' "$work/out" && [ "$(grep -c -e '<- auto' "$work/out")" = 1 ]
report $? "one is the best, one is skipped"
grep -q 'the transfers of .* (.* flop/byte) allow .* GF/s a PE' "$work/out"
report $? "and the network's roof is reported"
expect 0 'summa .*' predict water:n=3 --blocks auto --filter 1e-4 --pes 16 --machine summit --grid 4x4
expect 0 '"alg":"stationary-c".*"flops":8503056,' predict water:n=3 --blocks 6 --pes 9 --machine summit --json
expect 2 'two sparse matrices' predict water:n=2 --blocks 6 --cols 4 --machine summit
expect 0 'on 384 PEs of summit, grid' predict rmat:scale=8 --pes 384 --machine summit --cols 64 --type f32
expect 0 '(estimated)' predict rmat:scale=8 --pes 16 --machine dgx2 --estimate
expect 0 '"alg":"cannon"' predict rmat:scale=8 --pes 16 --machine dgx2 --grid 4x4 --json
expect 0 'ash219.*219 x 85 .* 85 x 219' predict "$data/ash219.mtx.gz" --pes 3 --machine dgx2
XDG_CACHE_HOME="$work/none" expect 2 'run .tulle calibrate' predict rmat:scale=6 --pes 4
expect 2 'grid of 2x2 has 4 PEs' predict rmat:scale=6 --pes 5 --grid 2x2 --machine summit
expect 0 'grid     6x4x4, 0 idle' predict gemm --size 100000 --pes 96 --machine summit
expect 0 'volume   880000000000 bytes by all PEs, at most 9166700000 by one' predict gemm --size 100000 --pes 96 --machine summit
expect 0 '3 idle' predict gemm --size 100000 --pes 128 --machine summit
expect 0 '"grid":\[3,2,1\].*"bytes_moved":2800000,' predict gemm --m 400 --n 500 --k 250 --pes 7 --grid 3x2 --machine dgx2 --json
expect 0 'volume   2160000 bytes' predict gemm --size 300 --pes 7 --grid 2x1x3 --machine summit
expect 0 '"bytes_moved":2160000,' gemm --size 300 --pes 7 --grid 2x1x3 --comm threads:direct=off --threads 1 --json --machine summit
expect 0 'passed' gemm --m 50 --n 70 --k 41 --pes 8 --grid 2x2x2 --comm threads:direct=off --threads 1 --check --machine summit
expect 2 'does not fit 4 PEs' gemm --size 9 --grid 2x2x2 --pes 4 --machine summit
expect 2 'excludes --tiles-b' gemm --size 9 --grid 2x1x2 --pes 4 --tiles-b 2 --machine summit
expect 0 'passed' gemm --size 90 --grid 2x1x2 --pes 4 --tiles 2 --machine summit --check --device limit:mem=100K+cpu
expect 2 'needs --size' predict gemm --pes 4 --machine summit
expect 0 '"upload_bytes":878400,"download_bytes":115200,"peer_bytes":432000,' predict gemm --size 240 --pes 4 --grid 2x2 --tiles 4 --devices 2 --device limit:mem=60K,link=1G,peer=2G --machine summit --json
expect 0 '"downloads":64,.*"upload_bytes":3513600,"downloads":64,"download_bytes":460800,"peer_copies":240,"peer_bytes":1728000' gemm --size 240 --pes 4 --grid 2x2x1 --tiles 4 --devices 2 --device limit:mem=60K,link=1G,peer=2G+cpu --machine summit --json
expect 2 'need not exist' predict gemm --size 240 --device cuda --machine summit
expect 3 'takes 86400' predict gemm --size 240 --tiles 4 --device limit:mem=20K --machine summit
expect 2 'RxCxL' predict gemm --size 9 --grid 2y2 --pes 4 --machine summit
expect 2 'does not fit 4 PEs' predict gemm --size 9 --grid 2x2x2 --pes 4 --machine summit
expect 3 'the least is' predict gemm --size 10000 --pes 8 --memory 1M --machine summit
expect 0 'stationary-c *devices: .* MB up in' predict rmat:scale=8 --pes 4 --device limit:mem=64M,link=12G --devices 2 --machine summit
expect 0 '"device":.*"devices":1,"modelled":true,"exact":true,.*"upload_bytes":' predict rmat:scale=8 --cols 8 --device model:mem=64M,link=12G,flops=7T --machine summit --json
expect 3 'do not hold the tiles of one product' predict rmat:scale=8 --device limit:mem=1K,link=12G --machine summit
expect 2 'limit: or model:mem=SIZE' predict rmat:scale=8 --device cuda --machine summit
expect 2 'omit it or B' predict rmat:scale=6 rmat:scale=6 --cols 4 --machine summit
expect 2 'cannot be opened' predict "$work/absent.mtx" --pes 2 --machine summit
expect 2 'No such file' predict rmat:scale=6 --pes 2 --machine "$work/absent"
expect 3 'tile products; the limit is' predict rmat:scale=6 --pes 4 --grid 2x2 --tiles 256 --machine summit
# what is predicted of a run's bytes and messages is what the run counts, through the whole command
"$tulle" predict rmat:scale=8 --pes 6 --grid 2x3 --machine summit --transfers whole --json -q >"$work/said"
"$tulle" spgemm rmat:scale=8 --pes 6 --grid 2x3 --threads 1 --machine summit --comm threads:direct=off --alg all --transfers whole --json -q >"$work/was" 2>/dev/null
for alg in stationary-c stationary-a stationary-b summa; do
    for what in bytes_moved messages partials; do
        said=$(sed -n "s/.*\"alg\":\"$alg\".*\"$what\":\([0-9]*\).*/\1/p" "$work/said")
        was=$(sed -n "s/.*\"alg\":\"$alg\".*\"$what\":\([0-9]*\).*/\1/p" "$work/was")
        [ -n "$said" ] && [ "$said" = "$was" ]
        report $? "$alg, $what: $said said, $was counted"
    done
done
expect 0 '"grid":\[[0-9]*,[0-9]*\]' spgemm rmat:scale=8 --pes 6 --grid auto --machine summit --json --comm threads:direct=off
expect 0 'predicted' spmm rmat:scale=8 --pes 2 --grid auto --check
expect 2 'or auto, not' spmm rmat:scale=8 --pes 2 --grid square
expect 2 'No such file' spmm rmat:scale=8 --pes 2 --machine "$work/absent"
# choices go by kept figures: own rows that are timed beside other work change what is said, not what is taken (links,
# which are timed too, count where tiles are not read in place)
for task in 'spgemm rmat:scale=10 --top 8' 'spgemm rmat:scale=11' 'spmm rmat:scale=11 --cols 32 --grid auto' 'spgemm water:n=2 --blocks 6'; do
    for run in 1 2 3 4; do
        busy=
        [ $run -lt 3 ] || { { while :; do :; done; } & busy=$!; }
        # shellcheck disable=SC2086
        "$tulle" $task --pes 4 --threads 1 --json -q | sed -n 's/.*\("alg":"[^"]*"\).*\("grid":[^]]*\).*\("phases_of_columns":[0-9]*\).*/\1 \2 \3/p'
        [ -z "$busy" ] || kill $busy
    done >"$work/taken"
    [ "$(wc -l <"$work/taken")" = 4 ] && [ "$(sort -u "$work/taken" | wc -l)" = 1 ]
    report $? "$task: the same is taken four times: $(sort "$work/taken" | uniq -c | tr '\n' ';')"
done
# passes of methods whose number is chosen: those of a run
for task in 'pca -k 5' 'pca -k 5 --passes 2' 'svd -k 4 --passes 3'; do
    verb=${task%% *} rest=${task#* }
    # shellcheck disable=SC2086
    passes=$("$tulle" "$verb" "$data/ash219.mtx.gz" $rest --json -q 2>/dev/null | sed -n 's/.*"passes":\([0-9]*\),.*/\1/p')
    # shellcheck disable=SC2086
    expect 0 "\"block\":1[45],\"passes_least\":$passes,\"passes_most\":$((passes + 1))," predict "$verb" "$data/ash219.mtx.gz" $rest --json --machine summit
done
expect 0 'passes   at least 3 over A, of 4 directions' predict eig stencil2d:n=40 -k 8 -w BE --machine summit
expect 0 'passes   about 89 to [0-9]* over A, of 1 direction, .* of degree 3 to 60:' predict eig stencil2d:n=40 -k 8 --machine summit
expect 0 'passes   about 43 to [0-9]* over A, of 4 directions, ' predict eig stencil2d:n=40 -k 8 --pes 2 --machine summit
expect 0 'passes   about [0-9]* to [0-9]* over A, of 4 directions, ' predict eig stencil2d:n=40 -k 20 --machine summit
# the method, the basis and, with the bounds, the degree of a run of -m auto
for task in 'stencil2d:n=30 -k 30 -w SA' 'stencil2d:n=30 -k 8 -w LA' 'stencil2d:n=30 -k 30 -w LM' 'stencil2d:n=10 -k 30 -w SA' \
    'stencil2d:n=30 -k 30 -w SA --method chebyshev --degree 4'; do
    # shellcheck disable=SC2086
    taken=$("$tulle" eig $task --json -q --pes 1 2>/dev/null |
        sed -n 's/.*"method":"\([a-z]*\)".*"basis":\([0-9]*\),.*/"method":"\1","basis":\2,/p')
    # shellcheck disable=SC2086
    expect 0 "$taken" predict eig $task --json --machine summit
done
degree=$("$tulle" eig stencil2d:n=30 -k 30 -w SA --json -q 2>/dev/null | sed -n 's/.*"degree":\([0-9]*\),.*/\1/p')
expect 0 "passes   about [0-9]* over A, of 4 directions, by a Chebyshev filter of degree $degree\$" \
    predict eig stencil2d:n=30 -k 30 -w SA --bounds --machine summit
expect 0 'passes   about [0-9]* to [0-9]* over A, .* of degree 3 to 60:' predict eig stencil2d:n=30 -k 30 -w SA --machine summit
expect 2 'pairs of one end (SA, LA) or .*, not BE' predict eig stencil2d:n=30 --method chebyshev -w BE --machine summit
expect 0 'memory   [0-9]* bytes a PE' predict lobpcg stencil2d:n=40 --pes 4 --machine summit
expect 2 'eigenpairs are those of a square matrix' predict eig "$data/ash219.mtx.gz" --machine summit
expect 2 'predict eig does not read --passes' predict eig stencil2d:n=4 --passes 2 --machine summit
expect 2 'count 90 is more than the 85 singular values of .*, 219 x 85' predict svd "$data/ash219.mtx.gz" -k 90 --machine summit
expect 2 'predict svd needs a matrix' predict svd
for option in '--which LA' '--method lanczos' '--degree 3' --bounds '--cols 4' '--lookahead 2'; do
    # shellcheck disable=SC2086
    expect 2 "predict svd does not read ${option%% *}" predict svd stencil2d:n=4 $option
done
expect 2 'predict eig does not read --grid' predict eig stencil2d:n=4 --grid 1x1
for option in '--count 3' '--tol 1e-3' '--passes 2' --bounds '--method lanczos' '--which LA' '--block 3' '--basis 9' '--degree 4'; do
    # shellcheck disable=SC2086
    expect 2 "predict of a product does not read ${option%% *}, which is for .*" predict stencil2d:n=4 $option
    # shellcheck disable=SC2086
    expect 2 "predict gemm does not read ${option%% *}, which is for .*" predict gemm --size 9 $option
done
expect 2 'predict of a product does not read --size, which is for gemm' predict stencil2d:n=4 --size 9
expect 2 'predict gemm does not read --cyclic, which is for a product' predict gemm --size 9 --cyclic
# sizes, devices and reading that nothing would read
expect 2 'is of sizes, .* and not of absent.mtx' predict gemm absent.mtx --size 9
expect 2 'predict of gemm reads --tiles with --device only' predict gemm --size 9 --tiles 2
expect 2 'predict of gemm reads --devices with --device only' predict gemm --size 9 --devices 2
expect 2 'predict of a product reads --device-rate with --device only' predict stencil2d:n=4 --device-rate 1T
expect 2 'predict of a product reads --estimate without --cols only' predict stencil2d:n=4 --cols 2 --estimate
expect 2 'predict gemm does not read --zero-based' predict gemm --size 9 --zero-based
expect 2 "does not model 'lnik' of a device" predict gemm --size 9 --device limit:mem=1G,lnik=8G --machine summit
expect 2 "does not model 'latency' of a device" predict stencil2d:n=4 --device limit:latency=5ms,mem=1G+cpu --machine summit
expect 2 'transfers is whole with --device' predict stencil2d:n=4 --cols 8 --transfers rows --device limit:mem=1M --machine summit
expect 3 'grid 2x2 takes [0-9]* bytes on 4 PEs, and --memory is 1000' \
    predict gemm --size 100 --pes 4 --grid 2x2 --memory 1K --machine summit
# passes that --tol leaves open; a degree that is not known is null, and the passes of its bounds are said
expect 0 '"passes_most":100[0-9]' predict pca "$data/ash219.mtx.gz" -k 5 --tol 1e-6 --json --machine summit
expect 2 'passes takes so many' predict svd "$data/ash219.mtx.gz" -k 5 --tol 1e-6 --passes 2 --machine summit
expect 2 '\--tol' predict eig stencil2d:n=9 --tol 2 --machine summit
expect 0 '"degree":null,"passes":null,"passes_usual":\[[1-9][0-9]*,[1-9][0-9]*\]' \
    predict eig stencil2d:n=30 -k 30 -w SA --method chebyshev --degree 20 --json --machine summit
expect 2 'predict lobpcg does not read --bounds' predict lobpcg stencil2d:n=4 --bounds
expect 2 '^.*not LM' predict lobpcg stencil2d:n=4 -w LM
expect 2 'lobpcg finds up to 64 pairs, not 65' predict lobpcg stencil2d:n=20 -k 65
expect 2 'degree is read by --method chebyshev only' predict eig stencil2d:n=20 --method lanczos --degree 4
expect 3 'eig needs at least .*, not 10M' predict eig stencil2d:n=40 --memory 10M
expect 0 '1 x 17' predict svd er:m=1,n=17,degree=3 -k 1 --machine summit
expect 0 'degree 40 or less' predict eig stencil2d:n=30 -k 30 -w SA --degree 40 --machine summit
report_end
