/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with matrices of blocks against their definition, on small integers: block_formats SPEC PES [device=SPEC]. A
 * in BSR or VBSR times a dense B, in every algorithm; transposes, orders, types, alpha and beta; tiles without blocks;
 * several executions of a plan; and the formats there and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/device.h>

#include "body.h"
#include "reference.h"
#include "tap.h"

enum { MOST = 256 };

static const char *device; /* that multiplies; NULL: the host */

/* One product: how A is shaped and stored. */
struct setting {
    int64_t m, k, n;
    enum shape shape;
    tulle_kind kind;
    tulle_type type;
    tulle_order order;
    int tiles, block; /* block: of BSR; the most of VBSR */
    double alpha, beta;
    tulle_product_options options;
};

/* Cuts of [0, n) into blocks of 1 to `most`; of exactly that for BSR. */
static tulle_block_cuts cuts_of(int64_t n, const struct setting *s, uint64_t seed, tulle_gidx *workspace)
{
    tulle_gidx count = 0;
    workspace[0] = 0;
    while (workspace[count] < n) {
        tulle_gidx size = s->kind == TULLE_BSR
                              ? s->block
                              : 1 + (tulle_gidx)(tulle__random_at(seed, 2, (uint64_t)count) % (uint64_t)s->block);
        workspace[count + 1] = workspace[count] + size < n ? workspace[count] + size : n;
        count++;
    }
    return (tulle_block_cuts){count, workspace};
}

static tulle_status layout_of(tulle_comm *comm, int64_t m, int64_t n, int rows, int cols, const tulle_block_cuts *row,
    const tulle_block_cuts *col, tulle_layout **layout)
{
    tulle_layout *even = NULL;
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = rows, .tile_cols = cols, .map = TULLE_CYCLIC};
    tulle_grid_square(tulle_comm_size(comm), false, &spec.grid_rows, &spec.grid_cols);
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &even);
    if (status == TULLE_OK) status = tulle_layout_in_blocks(even, row, col, layout);
    tulle_layout_free(even);
    return status;
}

/* A there and back: the same entries, with zeros in blocks or without. */
static tulle_status check_back(const tulle_mat *blocks, const struct reference *a)
{
    tulle_mat *S = NULL;
    struct reference bare = {a->m, a->n, a->val, malloc((size_t)(a->m * a->n) + 1)};
    for (int64_t e = 0; e < a->m * a->n; e++) bare.has[e] = a->val[e] != 0;
    tulle_status status = tulle_mat_to_csr(blocks, true, &S);
    if (status == TULLE_OK) status = compare(S, &bare);
    tulle_mat_free(S);
    free(bare.has);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    tulle_status status;
    tulle_gidx workspace[3][MOST + 1], one[MOST + 1];
    int ta = s->options.op_a == TULLE_OP_T;
    struct reference a = make_reference(ta ? s->k : s->m, ta ? s->m : s->k, s->shape, 3),
                     b = make_reference(s->k, s->n, FULL, 4), c = make_reference(s->m, s->n, FULL, 5), want = {0};
    tulle_block_cuts m = cuts_of(s->m, s, 1, workspace[0]), k = cuts_of(s->k, s, 2, workspace[1]), n = {s->n, one};
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *X = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    double error = 0;
    for (int64_t i = 0; i <= s->n; i++) one[i] = i;
    if (s->beta == 0) undefine(&c);
    TULLE_TRY(layout_of(comm, a.m, a.n, s->tiles, s->tiles, ta ? &k : &m, ta ? &m : &k, &la));
    TULLE_TRY(layout_of(comm, s->k, s->n, s->tiles, 2, &k, &n, &lb));
    TULLE_TRY(layout_of(comm, s->m, s->n, s->tiles, 2, &m, &n, &lc));
    TULLE_TRY(distribute(comm, &a, la, s->type, &X));
    TULLE_TRY(s->kind == TULLE_BSR ? tulle_mat_to_bsr(X, s->block, s->block, &A) : tulle_mat_to_vbsr(X, la, &A));
    if (tulle_mat_kind(A) != s->kind)
        TULLE_TRY(tulle__fail(TULLE_ERR_CHECK, "A is %s", tulle_kind_name(tulle_mat_kind(A))));
    TULLE_TRY(check_back(A, &a));
    TULLE_TRY(tulle_mat_new_dense(comm, lb, s->type, s->order, &B));
    TULLE_TRY(fill_dense(B, &b));
    TULLE_TRY(tulle_mat_new_dense(comm, lc, s->type, s->order, &C));
    tulle_product_options options = s->options;
    options.device = device;
    if (device) options.transfers = TULLE_TRANSFERS_AUTO; /* tiles go there as a whole */
    const tulle_product_devices devices = {.count = 1 + (int)s->kind % 2};
    options.devices = device ? &devices : NULL;
    TULLE_TRY(tulle_product_new(A, B, C, &options, &plan));
    for (int turn = 0; turn < 2; turn++) {
        TULLE_TRY(fill_dense(C, &c));
        TULLE_TRY(tulle_product_execute(plan, s->alpha, s->beta, NULL));
        want = multiply(&a, &b, &c, s->alpha, s->beta, &s->options);
        TULLE_TRY(compare(C, &want));
        free_reference(&want);
        want = (struct reference){0};
        if (s->beta == 0) TULLE_TRY(tulle_product_check(plan, &error));
        TULLE_TRY(scale_values(A, &a, 2));
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_mat_free(X);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    free_reference(&a);
    free_reference(&b);
    free_reference(&c);
    free_reference(&want);
    return status;
}

static int run(tulle_team *team, struct setting s)
{
    tulle_status status = tulle_team_run(team, body, &s);
    if (status == TULLE_ERR_UNSUPPORTED && s.options.alg == TULLE_PRODUCT_CANNON) return 1;
    return ok(status == TULLE_OK, "%s %s%s%s, %d x %d x %d, %s, %s: %s", tulle_kind_name(s.kind),
        tulle_product_alg_name(s.options.alg), s.options.op_a == TULLE_OP_T ? " transposed" : "",
        s.options.deterministic ? " deterministic" : "", (int)s.m, (int)s.k, (int)s.n, shape_names[s.shape],
        tulle_type_name(s.type), status == TULLE_OK ? "right" : tulle_error_message());
}

/* Refusals of a product, with a message. */
static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_gidx cut[] = {0, 2, 5, 8}, other[] = {0, 3, 8};
    const tulle_block_cuts cuts = {3, cut}, wider = {2, other};
    struct reference a = make_reference(8, 8, FULL, 3);
    tulle_layout *l = NULL, *l2 = NULL;
    tulle_mat *A = NULL, *V = NULL, *W = NULL, *S = NULL, *B = NULL, *C = NULL, *moved = NULL;
    tulle_product *plan = NULL;
    TULLE_TRY(layout_of(comm, 8, 8, 2, 2, &cuts, &cuts, &l));
    TULLE_TRY(layout_of(comm, 8, 8, 2, 2, &wider, &wider, &l2));
    TULLE_TRY(distribute(comm, &a, l, TULLE_F64, &A));
    TULLE_TRY(tulle_mat_to_vbsr(A, l, &V));
    TULLE_TRY(tulle_mat_to_vbsr(A, l2, &W));
    TULLE_TRY(tulle_mat_to_bsr(A, 2, 4, &S));
    TULLE_TRY(tulle_mat_new_dense(comm, l2, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &C));
    EXPECT(tulle_product_new(V, B, C, NULL, &plan) == TULLE_ERR_UNSUPPORTED); /* cuts that do not match */
    EXPECT(tulle_product_new(V, S, C, NULL, &plan) == TULLE_ERR_ARG);         /* B is bsr, C dense */
    EXPECT(tulle_product_new(V, V, V, NULL, &plan) == TULLE_ERR_ARG);         /* C is a factor */
    EXPECT(tulle_product_new(V, A, A, NULL, &plan) == TULLE_ERR_UNSUPPORTED); /* B is csr */
    EXPECT(tulle_mat_to_bsr(A, 3, 2, &S) == TULLE_ERR_ARG);                   /* 8 rows in blocks of 3 */
    TULLE_TRY(tulle_mat_redistribute(V, l2, &moved));
    TULLE_TRY(check_back(moved, &a));
    EXPECT(tulle_mat_to_vbsr(V, l2, &S) == TULLE_ERR_ARG); /* blocks of blocks */
    TULLE_TRY(check_back(W, &a));
out:
    tulle_layout_free(l);
    tulle_layout_free(l2);
    free_reference(&a);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "usage: %s SPEC PES [device=SPEC]\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_device_facts facts;
    device = argc > 3 ? argv[3] + strlen("device=") : NULL;
    if (device && strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    tulle_team *team;
    tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    const struct setting plain = {
        .m = 60, .k = 48, .n = 9, .shape = RANDOM, .type = TULLE_F64, .tiles = 3, .alpha = 1, .beta = 0};
    for (int kind = TULLE_BSR; kind <= TULLE_VBSR; kind++) {
        struct setting s = plain;
        s.kind = (tulle_kind)kind;
        s.block = kind == TULLE_BSR ? 3 : 9;
        for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
            for (int deterministic = 0; deterministic < 2; deterministic++) {
                s.options = (tulle_product_options){.alg = (tulle_product_alg)alg, .deterministic = deterministic};
                run(team, s);
            }
        for (int layers = 2; layers <= npes; layers++) {
            if (npes % layers) continue;
            s.options = (tulle_product_options){.replication = layers};
            run(team, s);
            s.beta = 3;
            s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STEAL_LOCAL_A, .replication = layers};
            run(team, s);
            s.beta = 0;
        }
        s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STATIONARY_A};
        for (int shape = 0; shape < SHAPES; shape++) {
            s.shape = (enum shape)shape;
            s.options.transfers = shape % 2 ? TULLE_TRANSFERS_ROWS : TULLE_TRANSFERS_COVER;
            run(team, s);
        }
        s.shape = RANDOM;
        s.options = (tulle_product_options){.op_a = TULLE_OP_T};
        run(team, s);
        s.type = TULLE_F32;
        s.order = TULLE_COL_MAJOR;
        s.alpha = -2;
        s.beta = 3;
        run(team, s);
        s.m = 6;
        s.k = 96;
        s.n = 1;
        run(team, s);
        s.block = 6;
        s.tiles = 5;
        s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STEAL_LOCAL_A};
        run(team, s);
        s = plain; /* ever more columns, up to 128 a tile */
        s.kind = (tulle_kind)kind;
        s.block = 3;
        s.m = 18;
        s.k = 24;
        for (s.n = 4; s.n <= 256; s.n *= 2)
            for (int type = TULLE_F64; type <= TULLE_F32; type++) {
                s.type = (tulle_type)type;
                run(team, s);
            }
    }
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "refusals: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
