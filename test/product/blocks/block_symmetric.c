/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products whose C is known to be symmetric, A A^T and A A of a symmetric A, beside the whole product: the same blocks
 * where one of two is multiplied, bit by bit, the other ones their transposes, fewer flops; every algorithm, with beta
 * and a filter, in several layouts, on devices; and what is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/algebra.h>
#include <tulle/device.h>

#include "block_problem.h"
#include "body.h"
#include "elements.h"

struct symmetric {
    struct setting s;
    bool square; /* A A of a symmetric A; else A A^T */
    int64_t flops[2];
};

/* True if the block is multiplied, as tulle/product.h says; on one PE those of the lower triangle are. */
static bool is_made(const tulle_mat *D, tulle_gidx row, tulle_gidx col)
{
    if (tulle_comm_size(tulle_mat_comm(D)) == 1) return col <= row;
    return tulle_half_stores(tulle_layout_row_blocks(tulle_mat_layout(D)).count, row, col);
}

/* The first block row of a tile, or column, among all. */
static tulle_gidx first_of(tulle_block_cuts all, const tulle_gidx *cut)
{
    return cut - all.cut;
}

/*
 * True if all blocks of D that are multiplied are 0, but for elements above the diagonal.
 * Collective, agreed.
 */
static tulle_status made_are_zero(const tulle_mat *D)
{
    tulle_status status = TULLE_OK;
    bool zero = true;
    const tulle_layout *l = tulle_mat_layout(D);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(D))) continue;
            TULLE_TRY(tulle_mat_tile(D, i, j, &t));
            const tulle_gidx row = first_of(tulle_layout_row_blocks(l), t.row_block),
                             col = first_of(tulle_layout_col_blocks(l), t.col_block);
            for (int64_t r = 0; t.nnz && r < t.block_rows; r++)
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                    const int64_t width = t.col_block[t.colind[e] + 1] - t.col_block[t.colind[e]];
                    const bool diagonal = row + r == col + t.colind[e];
                    for (int64_t k = 0; k < t.offset[e + 1] - t.offset[e]; k++)
                        if (is_made(D, row + r, col + t.colind[e]) && !(diagonal && k % width > k / width))
                            zero &= get(t.val, t.type, t.offset[e] + k) == 0;
                }
        }
    if (!zero) status = tulle__fail(TULLE_ERR_CHECK, "a block that is multiplied differs");
out:
    return tulle_comm_agree(tulle_mat_comm(D), status);
}

static tulle_status body_symmetric(tulle_comm *comm, void *arg)
{
    struct symmetric *x = arg;
    const struct setting *s = &x->s;
    tulle_status status;
    tulle_gidx workspace[2][MOST + 1];
    const tulle_block_cuts m = cuts_of(s->m, s, 1, workspace[0]), k = x->square ? m : cuts_of(s->k, s, 2, workspace[1]);
    struct reference a = make_reference(s->m, x->square ? s->m : s->k, s->shape, 3);
    tulle_product_options whole = s->options;
    tulle_layout *la = NULL, *lc = NULL;
    tulle_mat *G = NULL, *A = NULL, *C = NULL, *H = NULL, *D = NULL;
    tulle_product *plan = NULL, *half = NULL;
    tulle_product_report report[2];
    double largest = -1, error;
    fill_blocks(a.has, a.n, m, k);
    TULLE_TRY(layout_of(comm, s->tiles, m, k, &la));
    TULLE_TRY(into_blocks(comm, &a, s, s->kind, la, &G));
    if (x->square) {
        TULLE_TRY(tulle_mat_symmetrise(G, TULLE_SYMMETRIC, &A));
    } else {
        A = G;
        G = NULL;
        whole.op_b = TULLE_OP_T;
    }
    TULLE_TRY(
        s->tiles_c ? layout_of(comm, s->tiles_c, m, m, &lc) : tulle_product_layout(A, TULLE_OP_N, A, whole.op_b, &lc));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, s->type, &C));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, s->type, &H));
    tulle_product_options lower = whole;
    lower.symmetric_c = true;
    lower.device = device;
    whole.device = device && strstr(device, "cpu") ? NULL : device; /* this one has the host's bits */
    TULLE_TRY(tulle_product_new(A, A, C, &whole, &plan));
    TULLE_TRY(tulle_product_new(A, A, H, &lower, &half));
    for (int turn = 0; turn < 2; turn++) {
        const double beta = turn ? s->beta : 0; /* C is symmetric then */
        TULLE_TRY(tulle_product_execute(plan, s->alpha, beta, &report[0]));
        TULLE_TRY(tulle_product_execute(half, s->alpha, beta, &report[1]));
        EXPECT(!report[1].reused);
        EXPECT(!device == !report[1].device.devices);
        if (beta == 0) TULLE_TRY(tulle_product_check(half, &error));
        TULLE_TRY(tulle_mat_asymmetry(H, TULLE_SYMMETRIC, &largest));
        EXPECT(largest == 0);
        TULLE_TRY(tulle_mat_add(1, C, -1, H, &D));
        TULLE_TRY(made_are_zero(D));
        tulle_mat_free(D);
        D = NULL;
        if (s->options.filter <= 0) EXPECT(tulle_mat_nnz(C) == tulle_mat_nnz(H));
        EXPECT(report[1].flops <= report[0].flops);
    }
    for (int way = 0; way < 2 && tulle_comm_rank(comm) == 0; way++) x->flops[way] = report[way].flops;
out:
    tulle_product_free(plan);
    tulle_product_free(half);
    tulle_mat_free(D);
    tulle_mat_free(H);
    tulle_mat_free(C);
    tulle_mat_free(A);
    tulle_mat_free(G);
    tulle_layout_free(la);
    tulle_layout_free(lc);
    free_reference(&a);
    return status;
}

static int64_t run_symmetric(tulle_team *team, struct setting s, bool square)
{
    struct symmetric x = {.s = s, .square = square};
    const tulle_status status = tulle_team_run(team, body_symmetric, &x);
    if (status == TULLE_ERR_UNSUPPORTED && s.options.alg == TULLE_PRODUCT_CANNON) return 0;
    ok(status == TULLE_OK, "%s %s, %d x %d, %s, %s, beta %g, filter %g, cuts %d %d: %s", square ? "A A" : "A A^T",
        tulle_product_alg_name(s.options.alg), (int)s.m, (int)s.k, shape_names[s.shape], tulle_type_name(s.type),
        s.beta, s.options.filter, s.tiles, s.tiles_c, status == TULLE_OK ? "right" : tulle_error_message());
    return status == TULLE_OK && x.flops[0] ? x.flops[1] * 1000 / x.flops[0] : 0;
}

static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_gidx cut[] = {0, 2, 5, 8}, other[] = {0, 3, 5, 8};
    const struct setting s = {.type = TULLE_F64, .block = 3};
    const tulle_block_cuts cuts = {3, cut}, wider = {3, other};
    struct reference a = make_reference(8, 8, FULL, 3);
    const tulle_product_devices resident = {.resident = true};
    const tulle_product_options all = {.symmetric_c = true}, ranges = {.symmetric_c = true, .phases = 2},
                                kept = {.symmetric_c = true, .keep_pattern = true},
                                on_device = {.symmetric_c = true, .device = "cpu", .devices = &resident},
                                layers = {.symmetric_c = true, .replication = 2};
    tulle_layout *l = NULL, *l2 = NULL;
    tulle_mat *V = NULL, *W = NULL, *C = NULL, *C2 = NULL, *S = NULL, *C3 = NULL;
    tulle_product *plan = NULL;
    TULLE_TRY(layout_of(comm, 2, cuts, cuts, &l));
    TULLE_TRY(layout_of(comm, 2, cuts, wider, &l2));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l, &V));
    TULLE_TRY(into_blocks(comm, &a, &s, TULLE_VBSR, l2, &W));
    TULLE_TRY(distribute(comm, &a, l, TULLE_F64, &S));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l2, TULLE_F64, &C2));
    TULLE_TRY(tulle_mat_new_csr(comm, l, TULLE_F64, &C3));
    EXPECT(tulle_product_new(V, W, C2, &all, &plan) == TULLE_ERR_ARG);         /* other column blocks */
    EXPECT(tulle_product_new(S, S, C3, &all, &plan) == TULLE_ERR_UNSUPPORTED); /* no blocks */
    EXPECT(tulle_product_new(V, V, C, &ranges, &plan) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_product_new(V, V, C, &kept, &plan) == TULLE_ERR_UNSUPPORTED);
    EXPECT(tulle_product_new(V, V, C, &on_device, &plan) == TULLE_ERR_UNSUPPORTED);
    EXPECT(strstr(tulle_error_message(), "device-resident"));
    if (tulle_comm_size(comm) % 2 == 0) EXPECT(tulle_product_new(V, V, C, &layers, &plan) == TULLE_ERR_UNSUPPORTED);
    TULLE_TRY(tulle_product_new(V, V, C, &all, &plan));
    tulle_columns columns;
    TULLE_TRY(tulle_product_next(plan, 1, &columns, NULL)); /* all columns at once */
    EXPECT(columns.last && columns.from == 0);
out:
    tulle_product_free(plan);
    tulle_layout_free(l);
    tulle_layout_free(l2);
    tulle_mat_free(V);
    tulle_mat_free(W);
    tulle_mat_free(S);
    tulle_mat_free(C);
    tulle_mat_free(C2);
    tulle_mat_free(C3);
    free_reference(&a);
    return status;
}

int main(int argc, char **argv)
{
    int npes;
    tulle_team *team;
    if (argc < 3 || (npes = atoi(argv[2])) < 1) {
        fprintf(stderr, "usage: block_symmetric SPEC PES [device=DEVICE]\n");
        return 2;
    }
    tulle_device_facts facts;
    if (argc == 4) device = argv[3] + strlen("device=");
    const bool brief = device && strstr(device, "cuda");
    if (brief && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    const tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct setting s = {.m = 60,
        .k = 47,
        .shape = RANDOM,
        .kind = TULLE_VBSR,
        .type = TULLE_F64,
        .tiles = 3,
        .block = 6,
        .alpha = 1,
        .beta = 2};
    for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int way = 0; way < 4; way++) {
            /* the emulation is slow */
            if (brief && alg != TULLE_PRODUCT_STATIONARY_C && alg != TULLE_PRODUCT_STEAL_LOCAL_C) continue;
            s.options = (tulle_product_options){.alg = (tulle_product_alg)alg, .filter = way & 2 ? 40 : 0};
            s.shape = way ? RANDOM : FULL;
            s.beta = way & 2 ? 0 : 2;
            s.type = way == 3 ? TULLE_F32 : TULLE_F64;
            (void)run_symmetric(team, s, way & 1);
        }
    s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STATIONARY_C};
    s.kind = TULLE_BSR;
    s.shape = FULL;
    s.m = s.k = 60;
    s.beta = 0;
    const int64_t share = run_symmetric(team, s, true); /* 10 blocks: 55 of 100 products; PE 0 counts */
    ok(share == 550 || !tap_first(), "of a full product %d of 1000 flops are done", (int)share);
    s.kind = TULLE_VBSR;
    s.shape = RANDOM;
    s.beta = -1;
    s.alpha = .5;
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg <= TULLE_PRODUCT_STEAL_LOCAL_C; alg++) {
        s.options.alg = (tulle_product_alg)alg;
        s.tiles_c = 4; /* cuts that do not match */
        s.tiles = 2;
        (void)run_symmetric(team, s, false);
    }
    s.tiles_c = 0;
    s.tiles = 5;
    s.m = 3; /* fewer blocks than tiles */
    (void)run_symmetric(team, s, false);
    s.m = 50;
    s.k = 1;
    s.shape = EMPTY;
    (void)run_symmetric(team, s, false);
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "refusals: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
