/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices of blocks (block_problem.h) in layers, and with layouts that do not match: every
 * algorithm, filters with their counts, which are those without layers, beta, a pattern that is kept, ranges.
 */
#include <stdio.h>
#include <stdlib.h>

#include "block_problem.h"

enum { WAYS = 8 };

/* Variants of a product. */
static struct setting varied(struct setting s, int way)
{
    const bool filtered = way == 1 || way == 3 || way == 5 || way == 6;
    s.options.filter = filtered ? 45 : 0;
    s.beta = way == 2 || way == 3 ? 2 : 0;
    s.options.keep_pattern = way == 4 || way == 5;
    s.options.phases = way == 6 ? 3 : 0;
    s.options.op_a = way == 7 ? TULLE_OP_T : TULLE_OP_N;
    s.type = way % 2 ? TULLE_F32 : TULLE_F64;
    s.alpha = way % 3 ? 1 : -2;
    return s;
}

/* Every number of layers, on the given cuts. */
static void layers(tulle_team *team, int npes, struct setting s)
{
    for (int times = 1; times <= npes; times++) {
        if (npes % times) continue;
        for (int alg = TULLE_PRODUCT_STATIONARY_C; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
            const bool steps = alg == TULLE_PRODUCT_SUMMA || alg == TULLE_PRODUCT_CANNON;
            if (times > 1 && steps) continue;
            s.options = (tulle_product_options){.alg = (tulle_product_alg)alg, .replication = times};
            for (int way = 0; way < (alg == TULLE_PRODUCT_STATIONARY_C ? WAYS : 2); way++)
                run_product(team, varied(s, way));
        }
    }
    s.options = (tulle_product_options){.replication = TULLE_AUTO};
    run_product(team, varied(s, 1));
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    const int npes = atoi(argv[2]);
    tulle_team *team;
    const tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct setting s = {.m = 40, .k = 48, .n = 36, .kind = TULLE_VBSR, .block = 7, .tiles = 3};
    layers(team, npes, s);
    s.tiles_b = 2; /* cuts that do not match */
    s.tiles_c = 4;
    layers(team, npes, s);
    s.kind = TULLE_BSR;
    s.block = 4;
    s.options = (tulle_product_options){.replication = npes};
    run_product(team, varied(s, 0));
    s.options.replication = 1;
    run_product(team, varied(s, 2));
    s.kind = TULLE_VBSR;
    for (int shape = EMPTY; shape < SHAPES; shape++) {
        s.shape = (enum shape)shape;
        s.shape_b = (enum shape)(shape % 2 ? shape : RANDOM);
        s.options = (tulle_product_options){.replication = npes};
        run_product(team, varied(s, shape % 4));
    }
    s.block = 40; /* fewer blocks than layers, none of the last tiles */
    s.m = 70;
    s.k = 45;
    s.n = 1;
    s.options = (tulle_product_options){.replication = npes};
    run_product(team, varied(s, 1));
    s.k = 1;
    s.n = 90;
    run_product(team, varied(s, 2));
    tulle_team_free(team);
    return tap_done();
}
