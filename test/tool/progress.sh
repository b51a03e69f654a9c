#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the command says while it works: a line on a terminal, cleared at the end; nothing elsewhere or with --quiet. And
# what tables look like on a terminal.
# progress.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

# Each of these waits for its network and leaves the processor to the others: they run side by side.
# run NAME ARGUMENTS..., elsewhere than on a terminal; shown NAME ARGUMENTS..., on one
run() {
    name=$1
    shift
    "$tulle" "$@" >"$work/$name" 2>&1
    echo $? >"$work/$name.status"
}
shown() {
    name=$1
    shift
    script -qec "$tulle $*" /dev/null >"$work/$name"
    echo $? >"$work/$name.status"
}
ended() { # NAME [STATUS]: as it must, well if nothing else is said
    [ "$(cat "$work/$1.status")" = "${2:-0}" ]
}
# deterministic: a job a product of two tiles
product="spgemm er:n=500,degree=3 --pes 2 --tiles 5 --comm net:latency=20ms+threads --machine summit --alg stationary-c --deterministic --reps 1"
solve="solve stencil2d:n=20 --method gmres --restart 2 --tol 1e-12 --max-iterations 60 --pes 2 --comm net:latency=4ms+threads"
block="solve stencil2d:n=20 --method block-cg --rhs random:3 --tol 1e-12 --pes 2 --comm net:latency=3ms+threads"
# shellcheck disable=SC2086
run product $product &
# shellcheck disable=SC2086
run solve $solve &
if command -v script >/dev/null 2>&1; then
    shown product.shown "$product" &
    shown product.quiet "$product --quiet" &
    shown solve.shown "$solve" &
    shown block.shown "$block" &
fi
wait

ended product && ! grep -q 'multiplying' "$work/product"
report $? "no progress where stderr is no terminal"
ended solve 1 && grep -q max-iterations "$work/solve" && ! grep -q 'gmres: column 1, iteration' "$work/solve"
report $? "nor a convergence line"
if command -v script >/dev/null 2>&1; then
    ended product.shown && grep -q 'multiplying: .* of .* jobs, .* s left' "$work/product.shown" &&
        tr '\r' '\n' <"$work/product.shown" | sed -n '/left/,$p' | grep -q '^  *$'
    report $? "progress on a terminal, and the line is cleared"
    ended product.quiet && ! grep -q 'multiplying' "$work/product.quiet"
    report $? "no progress with --quiet"
    ended solve.shown 1 && grep -q 'gmres: column 1, iteration [0-9]*, residual .* of ' "$work/solve.shown"
    report $? "a convergence line on a terminal"
    ended block.shown && grep -q 'block-cg: column [123], iteration [0-9]*, residual .* of .*, the worst of [123], width [123], ' "$work/block.shown"
    report $? "and of a block, with its worst column"
else
    report 0 "# SKIP progress on a terminal: script (util-linux) is not installed"
fi
# tables fit the terminal, and say passed in green where there are colours
table() { # NAME ENVIRONMENT OPTION: the table on a terminal of 80 columns
    script -qec "stty cols 80; $2 $tulle ${4:-spgemm er:n=50,degree=3} --pes 1 --check -q $3" /dev/null >"$work/$1"
}
if command -v script >/dev/null 2>&1; then
    table narrow 'env -u NO_COLOR TERM=xterm' ''
    table wide 'env NO_COLOR=1 TERM=xterm' --wide
    green=$(printf '\033[32mpassed')
    sed "s/$(printf '\033')\\[[0-9]*m//g" "$work/narrow" | sed -n '/^algorithm/,/^stat/p' | awk 'length > 81 { exit 1 }' && grep -qF "$green" "$work/narrow"
    report $? 'a table of 80 columns, in colour'
    for command in 'solve stencil2d:n=9 --method cg' 'trisolve stencil2d:n=9 --from tril' 'stream stencil2d:n=9 --cols 3'; do
        table other 'env TERM=dumb' '' "$command"
        awk 'head-- > 0 && length > 81 { print; exit 1 } /^(column|method|slabs)/ { head = 1; if (length > 81) exit 1 }' "$work/other" && grep -q passed "$work/other" && ! grep -q "$(printf '\033')" "$work/other"
        report $? "$command: a table of 80 columns, and no colour on a terminal without it"
    done
    grep -q 'accumul' "$work/wide" && grep -q ' passed (' "$work/wide"
    report $? 'all columns with --wide, and no colour with NO_COLOR'
fi
report_end
