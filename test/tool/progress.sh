#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the command says while it works: a line on a terminal, cleared at the end; nothing elsewhere or with --quiet.
# progress.sh TULLE DATA
set -u
. "$(dirname "$0")/expect.sh"

# deterministic: a job a product of two tiles
slow="spgemm er:n=500,degree=3 --pes 2 --tiles 5 --comm net:latency=20ms+threads --machine summit --alg stationary-c --deterministic"
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

if command -v script >/dev/null 2>&1; then
    slow="solve stencil2d:n=20 --method gmres --restart 2 --tol 1e-12 --max-iterations 60 --pes 2 --comm net:latency=4ms+threads"
    script -qec "$tulle $slow" /dev/null >"$work/out"
    grep -q 'gmres: column 1, iteration [0-9]*, residual .* of ' "$work/out"
    report $? "a convergence line on a terminal"
    block="solve stencil2d:n=20 --method block-cg --rhs random:3 --tol 1e-12 --pes 2 --comm net:latency=3ms+threads"
    script -qec "$tulle $block" /dev/null >"$work/out"
    grep -q 'block-cg: column [123], iteration [0-9]*, residual .* of .*, the worst of [123], width [123], ' "$work/out"
    report $? "and of a block, with its worst column"
    "$tulle" $slow >"$work/out" 2>&1
    ! grep -q 'gmres: column 1, iteration' "$work/out"
    report $? "and nowhere else"
fi
report_end
