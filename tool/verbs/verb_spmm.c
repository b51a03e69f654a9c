/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/block_sizes.h"
#include "verbs/product.h"

static tulle_status run(const struct options *options)
{
    return run_product(options, SPMM);
}

static const struct option options[] = {{.name = "cols",
                                            .letter = 'n',
                                            .kind = KIND_INT,
                                            .argument = "N",
                                            .fallback = "128",
                                            .low = 1,
                                            .high = 1 << 24,
                                            .text = "columns of the random dense operand"},
    OPTION_BLOCKS, OPTIONS_SPARSE_A, OPTIONS_PRODUCT("PEs x 1; above 64 PEs the squarest")};

const struct verb verb_spmm = {
    .name = "spmm",
    .operands = "A [B]",
    .summary = "Multiply a sparse matrix with a dense one",
    .description =
        "C = A B with B dense and row-major: a file, or random with --cols columns. Tiles of A have rows of equal\n"
        "numbers of entries. The time is the median of --reps runs and includes making the plan and allocating C,\n"
        "but not reading; `reused` is the time of executing an existing plan.",
    .examples = "tulle spmm matrix.mtx.gz --cols 128 --pes 3 --alg all --check\n"
                "tulle spmm fem:nodes=16,dof=3 --blocks 3 --check\n"
                "tulle spmm fem:nodes=64,dof=1 --cols 32 --type f32 --reps 5 --json",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
