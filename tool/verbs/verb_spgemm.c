/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/block_sizes.h"
#include "verbs/product.h"
#include "verbs/selection.h"

static tulle_status run(const struct options *options)
{
    return run_product(options, SPGEMM);
}

static const struct option options[] = {{.name = "unordered",
                                            .group = GROUP_TUNING,
                                            .kind = KIND_FLAG,
                                            .text = "leave the rows of C unordered, which takes less time; --check and "
                                                    "-o sort them after the clock has stopped"},
    {.name = "explain",
        .kind = KIND_FLAG,
        .text = "first print what each mechanism of the kernel is thought to take, and takes, on one PE"},
    OPTIONS_SELECTION, OPTION_BLOCKS, OPTION_BLOCK_FILTER, OPTION_SYMMETRIC_C, OPTION_HALF, OPTIONS_SPARSE_A,
    OPTIONS_PRODUCT("PEs x 1; above 64 PEs the squarest")};

const struct verb verb_spgemm = {
    .name = "spgemm",
    .operands = "A [B]",
    .summary = "Multiply two sparse matrices",
    .description =
        "C = A B; with one operand C = A A, or C = A A^T if A is not square (A^T is made before the clock starts).\n"
        "Tiles of A have rows of equal work. The time is the median of --reps runs and includes making the plan and\n"
        "allocating C, but not reading; `reused` is the time of executing an existing plan, without symbolic work. A\n"
        "result that does not fit in --memory is computed a range of columns at a time, and for -o or --check once\n"
        "more: .mtx and .mtx.gz get its entries in the order of computation, .npz and .bsp.h5 by rows, through a\n"
        "temporary file beside the output; standard output is not possible then. With --blocks A, B and C are matrices "
        "of dense\n"
        "blocks, and C has a block wherever a product of two blocks falls. With --top, --above and --cosine C keeps "
        "some of the "
        "entries\n"
        "only; no more than some rows of the others exist at a time. nan is the smallest of all values, and never "
        "above X.\n"
        "--explain prints a line for each mechanism of the kernel: seconds that it is thought to take, roughly, and "
        "the\n"
        "least of --reps products, fresh and with their structure kept; `*` is the one chosen. Hopeless ones are not "
        "tried.",
    .examples = "tulle spgemm matrix.mtx.gz --pes 4 --alg all --check\n"
                "tulle spgemm rmat:scale=17,edgefactor=8,seed=1 --reps 5 --json\n"
                "tulle spgemm A.mtx --unordered --reps 5\n"
                "tulle spgemm A.mtx --pes 1 --explain --reps 5\n"
                "tulle spgemm K.mtx K.mtx --blocks 6 --filter 1e-5 --check\n"
                "tulle spgemm K.mtx K.mtx --blocks 6 --half --symmetric-c -o C.mtx\n"
                "tulle spgemm A.mtx B.mtx -o C.mtx.gz\n"
                "tulle spgemm documents.mtx.gz --transpose-b --cosine --top 10 --above 0.8 -o similar.mtx.gz",
    .options = options,
    .least = 1,
    .most = 2,
    .inputs = 2,
    .run = run,
};
