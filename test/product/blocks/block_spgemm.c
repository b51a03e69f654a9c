/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices of blocks (block_problem.h): every algorithm, transposes, alpha and beta, filters with their
 * counts, a pattern that is kept, ranges of columns, new values and new structures in one plan; also on devices.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/algebra.h>
#include <tulle/device.h>

#include "block_problem.h"
#include "body.h"

/* Refusals of a product, with a message. */
static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status, refused;
    tulle_gidx cut[] = {0, 2, 5, 8}, other[] = {0, 3, 8};
    const struct setting s = {.type = TULLE_F64, .block = 2};
    const tulle_block_cuts cuts = {3, cut}, wider = {2, other};
    struct reference a = make_reference(8, 8, FULL, 3);
    tulle_product_options negative = {.filter = -1}, nan = {.filter = NAN}, some = {.filter = 1},
                          ranges = {.keep_pattern = true, .phases = 2};
    tulle_layout *l = NULL, *l2 = NULL;
    tulle_mat *A = NULL, *V = NULL, *W = NULL, *C = NULL, *S = NULL;
    tulle_product *plan = NULL;
    TULLE_TRY(layout_of(comm, 2, cuts, cuts, &l));
    TULLE_TRY(layout_of(comm, 2, wider, wider, &l2));
    TULLE_TRY(distribute(comm, &a, l, TULLE_F64, &A));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &V));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l2, &W));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_BSR, l, &S));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    EXPECT(tulle_product_new(V, W, C, NULL, &plan) == TULLE_ERR_ARG);         /* inner cuts differ */
    EXPECT(tulle_product_new(W, W, C, NULL, &plan) == TULLE_ERR_ARG);         /* C's cuts differ */
    EXPECT(tulle_product_new(V, V, A, NULL, &plan) == TULLE_ERR_ARG);         /* C is csr */
    EXPECT(tulle_product_new(V, A, C, NULL, &plan) == TULLE_ERR_UNSUPPORTED); /* B is csr */
    EXPECT(tulle_product_new(V, V, C, &negative, &plan) == TULLE_ERR_ARG);    /* a filter below 0 */
    EXPECT(tulle_product_new(V, V, C, &nan, &plan) == TULLE_ERR_ARG);         /* a filter that is no number */
    EXPECT(tulle_product_new(V, V, C, &ranges, &plan) == TULLE_ERR_ARG);      /* a pattern in ranges */
    refused = tulle_product_new(S, S, C, &some, &plan);
    EXPECT(refused == TULLE_ERR_ARG || refused == TULLE_ERR_UNSUPPORTED); /* a filter for bsr */
out:
    tulle_layout_free(l);
    tulle_layout_free(l2);
    free_reference(&a);
    return status;
}

/* Small blocks are removed, also from tiles whose values have changed since the last renew; not those with a NaN. */
static tulle_status drops(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    const struct setting s = {.kind = TULLE_VBSR, .type = TULLE_F32, .block = 6};
    tulle_gidx workspace[2][MOST + 1];
    tulle_block_cuts m = cuts_of(50, &s, 1, workspace[0]), n = cuts_of(40, &s, 2, workspace[1]);
    struct reference a = make_reference(50, 40, RANDOM, 3);
    tulle_layout *l = NULL;
    tulle_mat *A = NULL;
    double norm = 0;
    fill_blocks(a.has, a.n, m, n);
    TULLE_TRY(layout_of(comm, 3, m, n, &l));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &A));
    TULLE_TRY(scale_values(A, &a, 3)); /* norms are those before */
    for (int threshold = 0; threshold <= 12; threshold += 6) {
        TULLE_TRY(tulle_mat_drop(A, threshold));
        for (tulle_gidx i = 0; i < m.count; i++)
            for (tulle_gidx j = 0; j < n.count; j++)
                if (squared_norm(&a, m, n, i, j) <= threshold * threshold)
                    for (int64_t x = m.cut[i]; x < m.cut[i + 1]; x++)
                        for (int64_t y = n.cut[j]; y < n.cut[j + 1]; y++)
                            a.has[x * a.n + y] = 0, a.val[x * a.n + y] = 0;
        TULLE_TRY(compare_blocks(A, &a));
    }
    TULLE_TRY(tulle_mat_scale(A, (double)NAN, NULL, NULL));
    TULLE_TRY(tulle_mat_drop(A, 1e30));
    TULLE_TRY(tulle_mat_norm(A, TULLE_NORM_FROBENIUS, &norm));
    int64_t left = 0;
    for (int64_t e = 0; e < a.m * a.n; e++) left += a.has[e];
    if (tulle_mat_nnz(A) != left || (left && !isnan(norm))) status = tulle__fail(TULLE_ERR_CHECK, "a NaN was removed");
    if (!left) status = tulle__fail(TULLE_ERR_CHECK, "nothing is left to be a NaN");
out:
    tulle_mat_free(A);
    tulle_layout_free(l);
    free_reference(&a);
    return status;
}

/* Values that are no numbers go through a filter. */
static tulle_status nans(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    const struct setting s = {.kind = TULLE_VBSR, .type = TULLE_F64, .block = 4};
    const tulle_product_options options = {.filter = 1e6};
    tulle_gidx workspace[MOST + 1];
    tulle_block_cuts cuts = cuts_of(30, &s, 1, workspace);
    struct reference a = make_reference(30, 30, RANDOM, 3);
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    TULLE_TRY(layout_of(comm, 2, cuts, cuts, &l));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &A));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &B));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    if (tulle_mat_nnz(C)) status = tulle__fail(TULLE_ERR_CHECK, "the filter leaves %d values", (int)tulle_mat_nnz(C));
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_mat_scale(A, (double)NAN, NULL, NULL));
    TULLE_TRY(tulle_mat_renew(A));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    if (!tulle_mat_nnz(C)) status = tulle__fail(TULLE_ERR_CHECK, "the filter hides NaN");
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(l);
    free_reference(&a);
    return status;
}

static void run_options(tulle_team *team, struct setting s)
{
    for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int way = 0; way < 6; way++) {
            s.options = (tulle_product_options){.alg = (tulle_product_alg)alg, .deterministic = way == 1};
            s.beta = way == 2 || way == 5 ? 2 : 0;
            s.options.filter = way >= 3 ? 45 : 0;
            s.options.keep_pattern = way == 4;
            if (way == 4) s.options.filter = alg % 2 ? 45 : 0;
            run_product(team, s);
        }
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) return fprintf(stderr, "usage: %s SPEC PES [device=DEVICE]\n", argv[0]), 2;
    tulle_device_facts facts;
    if (argc == 4) device = argv[3] + strlen("device=");
    if (device && strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct setting s = {.m = 40,
        .k = 48,
        .n = 36,
        .shape_b = RANDOM,
        .shape = RANDOM,
        .kind = TULLE_VBSR,
        .type = TULLE_F64,
        .block = 7,
        .tiles = 3,
        .alpha = 1};
    run_options(team, s);
    s.beta = 0;
    for (int shape = 0; shape < SHAPES; shape++)
        for (int way = 0; way < 3; way++) {
            s.shape = (enum shape)shape;
            s.shape_b = (enum shape)((shape + way) % SHAPES);
            s.options = (tulle_product_options){
                .alg = way == 1 ? TULLE_PRODUCT_STATIONARY_A : TULLE_PRODUCT_STATIONARY_C, .filter = way == 2 ? 30 : 0};
            run_product(team, s);
        }
    s.shape = s.shape_b = RANDOM;
    for (int ops = 1; ops < 4; ops++)
        for (int filter = 0; filter < 2; filter++) {
            s.options = (tulle_product_options){.op_a = ops & 1 ? TULLE_OP_T : TULLE_OP_N,
                .op_b = ops & 2 ? TULLE_OP_T : TULLE_OP_N,
                .filter = filter ? 40 : 0};
            s.type = ops == 3 ? TULLE_F32 : TULLE_F64;
            s.alpha = -2;
            run_product(team, s);
        }
    s.type = TULLE_F32;
    s.alpha = 1;
    for (int phases = 2; phases < 6; phases += 3)
        for (int filter = 0; filter < 2; filter++) {
            s.options = (tulle_product_options){.phases = phases, .filter = filter ? 40 : 0};
            run_product(team, s);
        }
    s.type = TULLE_F64;
    s.kind = TULLE_BSR;
    s.block = 4;
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
        s.options = (tulle_product_options){.alg = (tulle_product_alg)alg};
        run_product(team, s);
    }
    s.block = 200; /* which the BLAS multiplies */
    s.m = s.k = s.n = 400;
    /* the devices are too small for a tile of them */
    for (int type = TULLE_F64; type <= TULLE_F32 && !device; type++) {
        s.type = (tulle_type)type;
        s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STATIONARY_C};
        run_product(team, s);
    }
    s.type = TULLE_F64;
    s.k = 48;
    s.kind = TULLE_VBSR;
    s.block = 40; /* fewer blocks than tiles */
    s.m = 70;
    s.n = 1;
    s.tiles = 5;
    s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STEAL_LOCAL_C};
    run_product(team, s);
    s.m = 3;
    s.n = 90;
    run_product(team, s);
    ok(tulle_team_run(team, drops, NULL) == TULLE_OK, "small blocks are removed: %s", tulle_error_message());
    ok(tulle_team_run(team, nans, NULL) == TULLE_OK, "NaN stays: %s", tulle_error_message());
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "refusals: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
