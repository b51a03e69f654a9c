/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/product.h"

static tulle_status run(const struct options *options)
{
    return run_product(options, SPGEMM);
}

static const struct option options[] = {{.name = "unordered",
                                            .kind = KIND_FLAG,
                                            .text = "rows of C in any order, which takes less time; --check and "
                                                    "-o put them in order, after the clock has stopped"},
    OPTIONS_SPARSE_A, OPTIONS_PRODUCT("PEs x 1")};

const struct verb verb_spgemm = {
    .name = "spgemm",
    .operands = "A [B]",
    .summary = "Multiply two sparse matrices",
    .description =
        "C = A B; with one operand C = A A, or C = A A^T if A is not square (A^T is made before the clock starts).\n"
        "Tiles of A are cut at rows of equal work. The time is the median of --reps runs and includes making the\n"
        "plan and allocating C, but not reading; `reused` is the time of executing a plan that exists, which does\n"
        "no symbolic work. A result that would not fit in --memory is made a range of columns at a time, and for -o "
        "or\n"
        "--check computed once more: .mtx and .mtx.gz get its entries in the order in which they are made, .npz and\n"
        ".bsp.h5 by rows, for which they lie in a temporary file beside it first; standard output gets none.",
    .examples = "tulle spgemm matrix.mtx.gz --pes 4 --alg all --check\n"
                "tulle spgemm rmat:scale=17,edgefactor=8,seed=1 --reps 5 --json\n"
                "tulle spgemm A.mtx --unordered --reps 5\n"
                "tulle spgemm A.mtx B.mtx -o C.mtx.gz",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
