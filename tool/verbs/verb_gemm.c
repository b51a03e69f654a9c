/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/product.h"

static tulle_status run(const struct options *options)
{
    return run_product(options, GEMM);
}

#define SIZE_OPTION(option, what)                                                                                      \
    {                                                                                                                  \
        .name = option, .kind = KIND_INT, .argument = "N", .low = 0, .high = INT32_MAX, .text = what                   \
    }

static const struct option options[] = {{.name = "size",
                                            .letter = 'n',
                                            .kind = KIND_INT,
                                            .argument = "N",
                                            .low = 0,
                                            .high = INT32_MAX,
                                            .text = "random factors, N x N; also the default of --m, --n and --k"},
    {.name = "block",
        .group = GROUP_TUNING,
        .kind = KIND_WORD,
        .argument = "BxC|auto",
        .fallback = "auto",
        .text = "with --device: tiles of C in a block; auto: those that load the fewest bytes"},
    {.name = "host-block",
        .group = GROUP_EXPERIMENTS,
        .kind = KIND_WORD,
        .argument = "BxC|auto",
        .fallback = "auto",
        .text = "with --device: tiles of C for which the host keeps tiles of other PEs; auto: as memory allows"},
    {.name = "chunk",
        .group = GROUP_TUNING,
        .kind = KIND_INT,
        .argument = "D",
        .low = 1,
        .high = 16,
        .text = "with --device: tiles of the inner indices in a chunk (default: as memory allows)"},
    SIZE_OPTION("m", "rows of a random A"), SIZE_OPTION("n", "columns of a random B (default: those of A)"),
    SIZE_OPTION("k", "columns of a random A, rows of a random B"), OPTIONS_PRODUCT("auto")};

const struct verb verb_gemm = {
    .name = "gemm",
    .operands = "[A [B]]",
    .summary = "Multiply two dense matrices",
    .description =
        "C = A B, all three dense and row-major. Factors are files, or random with --size or --m, --n and --k; with\n"
        "one file B is random. Tiles are multiplied by the BLAS, with one thread for each thread of a PE. --grid "
        "auto\n"
        "is the grid of PEs that moves the fewest bytes. --grid RxCxL has L layers of R x C PEs, each with a part of\n"
        "the inner indices, which are summed at the end; other PEs are idle. `tulle predict gemm` chooses such a grid\n"
        "and predicts its bytes. With --device, C is made in blocks of tiles, which stay on devices while chunks of\n"
        "A and B pass through; --lookahead is then the tiles of the inner indices that are copied ahead of a chunk.\n"
        "The time is the median of --reps runs and includes making the plan and allocating C, but not reading;\n"
        "`reused` is the time of executing an existing plan.",
    .examples = "tulle gemm --size 4000 --pes 4 --check\n"
                "tulle gemm --size 4000 --pes 8 --grid 2x2x2\n"
                "tulle gemm --size 4000 --tiles 8 --device limit:mem=64M,link=8G+cpu --devices 2\n"
                "tulle gemm --m 20000 --n 500 --k 3000 --type f32 --alg all --json\n"
                "tulle gemm A.npy B.npy -o C.npy",
    .options = options,
    .least = 0,
    .most = 2,
    .inputs = 2,
    .run = run,
};
