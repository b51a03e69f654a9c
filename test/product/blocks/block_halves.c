/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of halves of symmetric and antisymmetric matrices beside those of the whole matrices: the same blocks and
 * the same bits, by every algorithm, on devices, transposed, with beta and a filter, in several layouts; and what is
 * refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tulle/algebra.h>
#include <tulle/device.h>

#include "block_problem.h"
#include "body.h"

struct halves {
    struct setting s;
    tulle_symmetry a, b; /* TULLE_GENERAL: all of it */
};

/* A matrix of the symmetry, and its half or itself. */
static tulle_status make_operand(tulle_comm *comm, const struct setting *s, uint64_t seed, tulle_symmetry symmetry,
    tulle_layout *l, tulle_block_cuts cuts, tulle_mat **whole, tulle_mat **half)
{
    struct reference r = make_reference(s->m, s->m, s->shape, seed);
    tulle_mat *G = NULL;
    tulle_status status;
    fill_blocks(r.has, r.n, cuts, cuts);
    TULLE_TRY(into_blocks(comm, &r, s, TULLE_VBSR, l, &G));
    if (symmetry == TULLE_GENERAL) {
        *whole = G;
        G = NULL;
    } else {
        TULLE_TRY(tulle_mat_symmetrise(G, symmetry, whole));
        TULLE_TRY(tulle_mat_to_half(*whole, symmetry, half));
        EXPECT(tulle_mat_symmetry(*half) == symmetry && tulle_mat_symmetry(*whole) == TULLE_GENERAL);
        EXPECT(tulle_mat_nnz(*half) <= tulle_mat_nnz(*whole));
    }
out:
    tulle_mat_free(G);
    free_reference(&r);
    return status;
}

static tulle_status same(const tulle_mat *C, const tulle_mat *D)
{
    tulle_mat *E = NULL;
    double largest = -1;
    tulle_status status;
    TULLE_TRY(tulle_mat_add(1, C, -1, D, &E));
    TULLE_TRY(tulle_mat_norm(E, TULLE_NORM_MAX, &largest));
    EXPECT(largest == 0);
    EXPECT(tulle_mat_nnz(C) == tulle_mat_nnz(D));
out:
    tulle_mat_free(E);
    return status;
}

static tulle_status body_halves(tulle_comm *comm, void *arg)
{
    const struct halves *x = arg;
    const struct setting *s = &x->s;
    tulle_gidx workspace[MOST + 1];
    const tulle_block_cuts cuts = cuts_of(s->m, s, 1, workspace);
    tulle_layout *l = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *a = NULL, *b = NULL, *C = NULL, *D = NULL;
    tulle_product *plan = NULL, *half = NULL;
    tulle_product_options way = {.alg = TULLE_PRODUCT_STATIONARY_C, .op_a = s->options.op_a, .op_b = s->options.op_b};
    tulle_status status;
    double error;
    way.filter = s->options.filter;
    TULLE_TRY(layout_of(comm, s->tiles, cuts, cuts, &l));
    TULLE_TRY(layout_of(comm, s->tiles_c ? s->tiles_c : s->tiles, cuts, cuts, &lc));
    TULLE_TRY(make_operand(comm, s, 3, x->a, l, cuts, &A, &a));
    TULLE_TRY(make_operand(comm, s, 4, x->b, l, cuts, &B, &b));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, s->type, &C));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, s->type, &D));
    TULLE_TRY(tulle_product_new(A, B, C, &way, &plan));
    TULLE_TRY(tulle_product_new(a ? a : A, b ? b : B, D, &s->options, &half));
    for (int turn = 0; turn < 3; turn++) {
        const double beta = turn == 1 ? s->beta : 0;
        if (turn == 2) { /* new values, and with them new norms */
            TULLE_TRY(tulle_mat_scale(A, 2, NULL, NULL));
            if (a) TULLE_TRY(tulle_mat_scale(a, 2, NULL, NULL));
        }
        TULLE_TRY(tulle_product_execute(plan, s->alpha, beta, NULL));
        TULLE_TRY(tulle_product_execute(half, s->alpha, beta, NULL));
        if (beta == 0) TULLE_TRY(tulle_product_check(half, &error));
        TULLE_TRY(same(C, D));
    }
out:
    tulle_product_free(plan);
    tulle_product_free(half);
    tulle_mat_free(A);
    tulle_mat_free(B);
    tulle_mat_free(a);
    tulle_mat_free(b);
    tulle_mat_free(C);
    tulle_mat_free(D);
    tulle_layout_free(l);
    tulle_layout_free(lc);
    return status;
}

/* A A of a symmetric or antisymmetric A as a half: that of the whole product. */
static tulle_status body_half_c(tulle_comm *comm, void *arg)
{
    const struct halves *x = arg;
    const struct setting *s = &x->s;
    tulle_gidx workspace[MOST + 1];
    const tulle_block_cuts cuts = cuts_of(s->m, s, 1, workspace);
    tulle_layout *l = NULL, *lc = NULL;
    tulle_mat *A = NULL, *a = NULL, *C = NULL, *D = NULL, *c = NULL;
    tulle_product *plan = NULL, *half = NULL;
    tulle_product_options way = {.alg = TULLE_PRODUCT_STATIONARY_C}, lower = s->options;
    way.device = device && strstr(device, "cpu") ? NULL : device; /* this one has the host's bits */
    lower.device = device;
    tulle_product_report report[2];
    tulle_status status;
    double error;
    lower.symmetric_c = true;
    TULLE_TRY(layout_of(comm, s->tiles, cuts, cuts, &l));
    TULLE_TRY(layout_of(comm, s->tiles_c ? s->tiles_c : s->tiles, cuts, cuts, &lc));
    TULLE_TRY(make_operand(comm, s, 3, x->a, l, cuts, &A, &a));
    TULLE_TRY(tulle_mat_new_vbsr(comm, lc, s->type, &C));
    TULLE_TRY(tulle_mat_new_half(comm, lc, s->type, TULLE_SYMMETRIC, &c));
    TULLE_TRY(tulle_product_new(A, A, C, &way, &plan));
    TULLE_TRY(tulle_product_new(x->b == TULLE_GENERAL ? A : a, a, c, &lower, &half));
    for (int turn = 0; turn < 3; turn++) {
        const double beta = turn == 1 ? s->beta : 0;
        TULLE_TRY(tulle_product_execute(plan, s->alpha, beta, &report[0]));
        TULLE_TRY(tulle_product_execute(half, s->alpha, beta, &report[1]));
        if (beta == 0) TULLE_TRY(tulle_product_check(half, &error));
        TULLE_TRY(tulle_mat_to_full(c, &D));
        TULLE_TRY(same(C, D));
        tulle_mat_free(D);
        D = NULL;
        EXPECT(report[1].flops <= report[0].flops);
        EXPECT(!device == !report[1].device.devices);
        if (device && turn && s->beta == 0) EXPECT(report[1].reused); /* values alone */
    }
out:
    tulle_product_free(plan);
    tulle_product_free(half);
    tulle_mat_free(A);
    tulle_mat_free(a);
    tulle_mat_free(C);
    tulle_mat_free(c);
    tulle_mat_free(D);
    tulle_layout_free(l);
    tulle_layout_free(lc);
    return status;
}

static void run_as(
    tulle_team *team, tulle_body run_body, const char *what, struct setting s, tulle_symmetry a, tulle_symmetry b)
{
    static const char *const names[] = {"whole", "symmetric", "skew"};
    struct halves x = {.s = s, .a = a, .b = b};
    const tulle_status status = tulle_team_run(team, run_body, &x);
    ok(status == TULLE_OK, "%s%s %s%s %s%s, n %d, %s, %s, beta %g, filter %g, cuts %d %d: %s", what,
        tulle_product_alg_name(s.options.alg), names[a], s.options.op_a ? "^T" : "", names[b],
        s.options.op_b ? "^T" : "", (int)s.m, shape_names[s.shape], tulle_type_name(s.type), s.beta, s.options.filter,
        s.tiles, s.tiles_c, status == TULLE_OK ? "right" : tulle_error_message());
}

static void run(tulle_team *team, struct setting s, tulle_symmetry a, tulle_symmetry b)
{
    run_as(team, body_halves, "", s, a, b);
}

/* b: TULLE_GENERAL of a first factor that is whole. */
static void run_half_c(tulle_team *team, struct setting s, tulle_symmetry a, tulle_symmetry b)
{
    run_as(team, body_half_c, "half by ", s, a, b);
}

static tulle_status refusals(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_gidx cut[] = {0, 2, 5, 8};
    const struct setting s = {.m = 8, .shape = FULL, .type = TULLE_F64, .block = 3};
    const tulle_block_cuts cuts = {3, cut};
    const tulle_product_options none = {.alg = TULLE_PRODUCT_AUTO};
    tulle_layout *l = NULL;
    tulle_mat *A = NULL, *H = NULL, *C = NULL, *X = NULL, *Y = NULL, *N = NULL;
    tulle_product *plan = NULL;
    TULLE_TRY(layout_of(comm, 2, cuts, cuts, &l));
    TULLE_TRY(make_operand(comm, &s, 3, TULLE_SYMMETRIC, l, cuts, &A, &H));
    TULLE_TRY(tulle_mat_new_vbsr(comm, l, TULLE_F64, &C));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_new_dense(comm, l, TULLE_F64, TULLE_ROW_MAJOR, &Y));
    EXPECT(tulle_product_new(A, A, H, &none, &plan) == TULLE_ERR_ARG); /* without symmetric_c */
    EXPECT(tulle_product_new(H, X, Y, &none, &plan) == TULLE_ERR_UNSUPPORTED);
    EXPECT(strstr(tulle_error_message(), "tulle_mat_to_full"));
    EXPECT(tulle_mat_to_half(A, TULLE_SKEW, &N) == TULLE_ERR_ARG);
    EXPECT(tulle_mat_to_half(A, TULLE_GENERAL, &N) == TULLE_ERR_ARG);
    EXPECT(tulle_mat_to_half(H, TULLE_SYMMETRIC, &N) == TULLE_ERR_UNSUPPORTED && !N);
out:
    tulle_product_free(plan);
    tulle_layout_free(l);
    tulle_mat_free(A);
    tulle_mat_free(H);
    tulle_mat_free(C);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    return status;
}

/* C as a half, made on a device: new values too, of a structure that stays. */
static void on_device(tulle_team *team)
{
    struct setting s = {.m = 61, .kind = TULLE_VBSR, .tiles = 4, .block = 6, .alpha = 2};
    for (int way = 0; way < 4; way++) {
        s.options.alg = way ? TULLE_PRODUCT_STATIONARY_C : TULLE_PRODUCT_STATIONARY_A;
        s.shape = way == 1 ? FULL : RANDOM;
        s.type = way == 3 ? TULLE_F32 : TULLE_F64;
        s.beta = way & 2 ? 2 : 0;
        run_half_c(team, s, way & 1 ? TULLE_SKEW : TULLE_SYMMETRIC, way & 1 ? TULLE_SKEW : TULLE_GENERAL);
    }
    s.m = 96; /* blocks enough for squares of several */
    s.block = 2;
    s.beta = 0;
    run_half_c(team, s, TULLE_SKEW, TULLE_SKEW);
}

int main(int argc, char **argv)
{
    int npes;
    tulle_team *team;
    if (argc < 3 || (npes = atoi(argv[2])) < 1) {
        fprintf(stderr, "usage: block_halves SPEC PES [device=DEVICE]\n");
        return 2;
    }
    tulle_device_facts facts;
    if (argc == 4) device = argv[3] + strlen("device=");
    if (device && strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    const tulle_team_options team_options = {.memory = (size_t)npes << 26, .threads = 1, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &team_options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    if (device) {
        on_device(team);
        tulle_team_free(team);
        return tap_done();
    }
    struct setting s = {.m = 61, .kind = TULLE_VBSR, .tiles = 4, .block = 6, .alpha = 2};
    for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int way = 0; way < 4; way++) {
            const bool cannon = alg == TULLE_PRODUCT_CANNON;
            if (cannon && npes != 1 && npes != 4) continue; /* square grids */
            s.options = (tulle_product_options){.alg = (tulle_product_alg)alg, .filter = way & 2 ? 60 : 0};
            s.shape = way == 1 ? FULL : RANDOM;
            s.type = way == 3 ? TULLE_F32 : TULLE_F64;
            s.beta = way & 2 ? 0 : 2;
            s.options.op_a = way & 1 ? TULLE_OP_T : TULLE_OP_N;
            s.options.op_b = way == 2 ? TULLE_OP_T : TULLE_OP_N;
            run(team, s, way == 1 ? TULLE_SKEW : TULLE_SYMMETRIC, way == 2 ? TULLE_SKEW : TULLE_SYMMETRIC);
            if (cannon) s.options.op_a = s.options.op_b = TULLE_OP_N; /* a whole matrix changes its owners */
            run(team, s, way & 1 ? TULLE_GENERAL : TULLE_SKEW, way & 1 ? TULLE_SKEW : TULLE_GENERAL);
            s.options = (tulle_product_options){.alg = (tulle_product_alg)alg};
            if (way < 2) run_half_c(team, s, way ? TULLE_SKEW : TULLE_SYMMETRIC, way ? TULLE_SKEW : TULLE_GENERAL);
        }
    s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STATIONARY_C, .filter = 20};
    s.type = TULLE_F64;
    s.tiles = 3;
    s.tiles_c = 5; /* cuts that do not match */
    run(team, s, TULLE_SYMMETRIC, TULLE_SKEW);
    s.options.filter = 0;
    s.beta = -1;
    run_half_c(team, s, TULLE_SYMMETRIC, TULLE_SYMMETRIC);
    s.options.filter = 20;
    s.beta = 0;
    s.m = 96; /* blocks enough for squares of several */
    s.block = 2;
    run(team, s, TULLE_SYMMETRIC, TULLE_SKEW);
    s.options.filter = 0;
    run_half_c(team, s, TULLE_SKEW, TULLE_SKEW);
    s.m = 61;
    s.block = 6;
    s.options.filter = 20;
    s.options.transfers = TULLE_TRANSFERS_WHOLE;
    s.tiles_c = 0;
    run(team, s, TULLE_SYMMETRIC, TULLE_SYMMETRIC);
    s.options.transfers = TULLE_TRANSFERS_COVER;
    run(team, s, TULLE_SKEW, TULLE_SYMMETRIC);
    s.tiles = 1;
    run(team, s, TULLE_SYMMETRIC, TULLE_SYMMETRIC);
    s.tiles = 6;
    s.m = 5; /* fewer blocks than tiles */
    run(team, s, TULLE_SYMMETRIC, TULLE_SKEW);
    s.m = 40;
    s.shape = EMPTY;
    run(team, s, TULLE_SYMMETRIC, TULLE_SYMMETRIC);
    s.m = 0;
    run(team, s, TULLE_SYMMETRIC, TULLE_SYMMETRIC);
    s.m = 61;
    s.shape = RANDOM;
    s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STATIONARY_C,
        .device = tulle_team_virtual(team) ? "model:mem=40K,link=1G,flops=1T+cpu" : "limit:mem=40K+cpu"};
    run(team, s, TULLE_SYMMETRIC, TULLE_SKEW);
    if (npes % 2 == 0) {
        s = (struct setting){.m = 50, .shape = RANDOM, .kind = TULLE_VBSR, .tiles = 3, .block = 6, .alpha = 1};
        s.options.replication = 2;
        run(team, s, TULLE_SYMMETRIC, TULLE_SKEW);
    }
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "refusals: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
