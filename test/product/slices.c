/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices whose layouts do not match: slices SPEC PES. Cuts of A, B and C at random, also of empty tiles,
 * owners at random, and one tile against many; every algorithm, against the naive reference and for equality. The same
 * plan again with new values; transposes, alpha and beta, phases; the same bits again in deterministic mode. The same
 * in 2.5D layers, of matrices that match and of others.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "comm/comm.h"
#include "operands.h"
#include "reference.h"
#include "tap.h"

struct cases {
    int64_t m, k, n;
    int cut[3]; /* of A, B, C */
    enum shape shape;
    tulle_type type;
    int dense_a, sparse;
    tulle_order order;
    double alpha, beta;
    tulle_product_options options;
};

static tulle_status make(tulle_comm *comm, const struct reference *r, const struct cases *c, int sparse, int how,
    tulle_layout **layout, tulle_mat **X)
{
    tulle_status status;
    TULLE_TRY(cut_layout(r->m, r->n, how, tulle_comm_size(comm), layout));
    if (sparse) return distribute(comm, r, *layout, c->type, X);
    TULLE_TRY(tulle_mat_new_dense(comm, *layout, c->type, c->order, X));
    TULLE_TRY(fill_dense(*X, r));
out:
    return status;
}

static tulle_status in_phases(tulle_product *plan, const struct cases *c, const struct reference *want)
{
    tulle_status status = TULLE_OK;
    tulle_product_report report;
    double error;
    int64_t nnz = 0, wanted = 0;
    for (tulle_columns columns = {.last = 0}; !columns.last;) {
        TULLE_TRY(tulle_product_next(plan, c->alpha, &columns, &report));
        if (c->beta == 0) TULLE_TRY(tulle_product_check(plan, &error));
        nnz += report.nnz_c;
    }
    for (int64_t e = 0; e < want->m * want->n; e++) wanted += want->has[e];
    EXPECT(nnz == wanted);
out:
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    int ta = c->options.op_a == TULLE_OP_T, tb = c->options.op_b == TULLE_OP_T;
    struct reference a = make_reference(ta ? c->k : c->m, ta ? c->m : c->k, c->shape, 1);
    struct reference b = make_reference(tb ? c->n : c->k, tb ? c->k : c->n, c->sparse ? RANDOM : FULL, 2);
    struct reference old = make_reference(c->m, c->n, c->sparse ? RANDOM : FULL, 3), want = {0}, again = {0};
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    double error;
    TULLE_TRY(make(comm, &a, c, !c->dense_a, c->cut[0], &l[0], &A));
    TULLE_TRY(make(comm, &b, c, c->sparse, c->cut[1], &l[1], &B));
    if (!c->sparse && c->beta == 0) undefine(&old);
    TULLE_TRY(make(comm, &old, c, c->sparse, c->cut[2], &l[2], &C));
    want = multiply(&a, &b, &old, c->alpha, c->beta, &c->options);
    status = tulle_product_new(A, B, C, &c->options, &plan);
    if (status == TULLE_ERR_UNSUPPORTED && c->options.alg == TULLE_PRODUCT_CANNON && tulle_comm_size(comm) > 1 &&
        c->options.replication <= 1)
        status = TULLE_OK;
    if (!plan) goto out;
    if (c->options.replication >= 0)
        EXPECT(tulle_product_replication(plan) == (c->options.replication > 1 ? c->options.replication : 1));
    if (tulle_product_phases(plan) > 1) {
        TULLE_TRY(in_phases(plan, c, &want));
        goto out;
    }
    TULLE_TRY(tulle_product_execute(plan, c->alpha, c->beta, &report));
    TULLE_TRY(compare(C, &want));
    EXPECT(!report.reused && report.replication == tulle_product_replication(plan));
    if (c->beta == 0)
        TULLE_TRY(tulle_product_check_matrices(c->alpha, A, c->options.op_a, B, c->options.op_b, C, &error));
    TULLE_TRY(scale_values(A, &a, 3));
    TULLE_TRY(scale_values(B, &b, 2));
    again = multiply(&a, &b, &want, c->alpha, c->beta, &c->options);
    TULLE_TRY(tulle_product_execute(plan, c->alpha, c->beta, &report));
    TULLE_TRY(compare(C, &again));
    EXPECT(!c->sparse || c->beta != 0 || report.reused ||
           strncmp(tulle_product_alg_name(tulle_product_alg_of(plan)), "steal", 5) == 0);
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    free_reference(&a);
    free_reference(&b);
    free_reference(&old);
    free_reference(&want);
    free_reference(&again);
    return status;
}

static void run(tulle_team *team, const struct cases *c)
{
    const tulle_product_options *o = &c->options;
    tulle_status status = tulle_team_run(team, run_case, (void *)(uintptr_t)c);
    ok(status == TULLE_OK,
        "%s %s %s %dx%dx%d %s cuts %d,%d,%d%s alpha %g beta %g%s%s%s%s lookahead %d phases %d replication %d: %s",
        tulle_product_alg_name(o->alg),
        c->sparse    ? "spgemm"
        : c->dense_a ? "gemm"
                     : "spmm",
        tulle_type_name(c->type), (int)c->m, (int)c->k, (int)c->n, shape_names[c->shape], c->cut[0], c->cut[1],
        c->cut[2], c->order == TULLE_COL_MAJOR ? " col-major" : "", c->alpha, c->beta,
        o->op_a == TULLE_OP_T ? " A^T" : "", o->op_b == TULLE_OP_T ? " B^T" : "",
        o->deterministic ? " deterministic" : "", o->transfers == TULLE_TRANSFERS_WHOLE ? " whole tiles" : "",
        o->lookahead, o->phases, o->replication, status == TULLE_OK ? "right" : tulle_error_message());
}

enum { FEW = 4 };

/* few: as the executor goes the same ways under every algorithm and in layers. */
static void all_cases(tulle_team *team, struct cases base, int few)
{
    static const int cuts[][3] = {{1, 2, 3}, {4, 5, 6}, {WHOLE, 7, 8}, {9, WHOLE, 10}, {11, 12, WHOLE},
        {WHOLE, WHOLE, 13}, {ROWS, ROWS, ROWS}, {COLUMNS, ROWS, COLUMNS}, {ROWS, COLUMNS, 14}, {15, COLUMNS, ROWS}};
    const bool bulk = base.options.alg == TULLE_PRODUCT_SUMMA || base.options.alg == TULLE_PRODUCT_CANNON;
    struct cases c;
    for (size_t t = 0; t < (few ? FEW : sizeof cuts / sizeof *cuts); t++) {
        c = base;
        memcpy(c.cut, cuts[t], sizeof c.cut);
        c.type = t % 2 ? TULLE_F32 : TULLE_F64;
        run(team, &c);
    }
    for (int s = few ? HYPERSPARSE : 0; s < SHAPES; s++) c = base, c.shape = (enum shape)s, run(team, &c);
    static const int64_t sizes[][3] = {{1, 1, 1}, {0, 5, 4}, {5, 0, 4}, {5, 4, 0}, {90, 3, 2}, {2, 3, 90}, {3, 90, 2}};
    for (size_t t = 0; t < (few ? FEW : sizeof sizes / sizeof *sizes); t++)
        c = base, c.m = sizes[t][0], c.k = sizes[t][1], c.n = sizes[t][2], run(team, &c);
    for (int op = few ? 3 : 1; op < 4; op++)
        c = base, c.options.op_a = (tulle_op)(op & 1), c.options.op_b = (tulle_op)(op >> 1), run(team, &c);
    c = base, c.beta = 1, c.alpha = 0.5, c.type = TULLE_F32, run(team, &c);
    c = base, c.beta = 3, c.options.lookahead = TULLE_NONE, run(team, &c);
    c = base, c.alpha = -2, c.options.lookahead = bulk ? 0 : 4, run(team, &c);
    c = base, c.options.transfers = TULLE_TRANSFERS_WHOLE, c.options.deterministic = 1, run(team, &c);
    if (base.sparse) c = base, c.options.phases = 3, run(team, &c);
    if (base.sparse && !few) c = base, c.options.phases = 41, run(team, &c);
    c = base, c.order = TULLE_COL_MAJOR;
    if (!base.sparse) run(team, &c);
    c.options.op_b = TULLE_OP_T, c.beta = 2;
    if (!base.sparse) run(team, &c);
}

/* Bits of the values of own tiles. */
static uint64_t digest(tulle_mat *C)
{
    uint64_t sum = 0;
    const tulle_layout *l = tulle_mat_layout(C);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(C)) ||
                tulle_mat_tile(C, i, j, &t) != TULLE_OK)
                continue;
            for (int64_t e = 0; e < t.nnz; e++) {
                uint64_t bits;
                memcpy(&bits, (const double *)t.val + e, sizeof bits);
                sum = (sum ^ bits) * 0x9e3779b97f4a7c15u + (sum >> 31);
            }
        }
    return sum;
}

/* Values whose sums are rounded: the same bits from every execution, each with a plan of its own. */
static tulle_status same_bits(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    uint64_t first = 0;
    int64_t differ = 0;
    for (int x = 0; x < 3; x++) TULLE_TRY(cut_layout(80, 80, c->cut[x], tulle_comm_size(comm), &o.l[x]));
    TULLE_TRY(load_operands(comm, "er:n=80,degree=9", c->sparse ? "er:n=80,degree=9,seed=2" : NULL, &o));
    for (int turn = 0; turn < 4; turn++) {
        TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &c->options, &plan));
        TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
        uint64_t bits = digest(o.C);
        if (turn == 0) first = bits;
        differ += bits != first;
        tulle_product_free(plan);
        plan = NULL;
    }
    TULLE_TRY(tulle_comm_reduce_int(comm, TULLE_SUM, 1, &differ));
    EXPECT(differ == 0);
out:
    tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

/* PE 1 owns C in six tiles, PE 0 A and B in one each: what moves is A in six parts, each once, and B once. */
static tulle_status fetch_once(tulle_comm *comm, void *arg)
{
    int64_t *moved = arg; /* really; of A and B */
    tulle_status status;
    static const int owner[6] = {1, 1, 1, 1, 1, 1};
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_report report;
    tulle_product_options options = {0};
    options.alg = TULLE_PRODUCT_STATIONARY_C;
    TULLE_TRY(cut_layout(400, 400, WHOLE, tulle_comm_size(comm), &o.l[0]));
    TULLE_TRY(cut_layout(400, 8, WHOLE, tulle_comm_size(comm), &o.l[1]));
    tulle_layout_spec spec = {.m = 400, .n = 8, .tile_rows = 6, .tile_cols = 1, .owner = owner};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &o.l[2]));
    TULLE_TRY(load_operands(comm, "er:n=400,degree=4", NULL, &o));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    if (tulle_comm_rank(comm) == 0) {
        moved[0] = report.bytes_moved;
        moved[1] = (int64_t)(tulle_mat_bytes(o.A) + tulle_mat_bytes(o.B));
    }
out:
    tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

/* Volume of layers, chosen or given. */
struct volume {
    int rows, cols, replication;
    int64_t moved;
};

static tulle_status move(tulle_comm *comm, void *arg)
{
    struct volume *v = arg;
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_product_report report;
    tulle_product_options options = {0};
    options.alg = TULLE_PRODUCT_STATIONARY_C;
    options.replication = v->replication;
    for (int x = 0; x < 3; x++) {
        tulle_layout_spec spec = {.m = 400, .n = x ? 4 : 400, .grid_rows = v->rows, .grid_cols = v->cols};
        spec.tile_rows = x == 1 ? v->cols : v->rows;
        TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &o.l[x]));
    }
    TULLE_TRY(load_operands(comm, "er:n=400,degree=60", NULL, &o));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, &report));
    if (tulle_comm_rank(comm) == 0) {
        v->moved = report.bytes_moved;
        v->replication = report.replication;
    }
out:
    tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

/* A is what is large here, and its rows are read by all PEs of a grid row: layers must be taken, and must pay. */
static void layers_pay(tulle_team *team, int npes)
{
    struct volume v[] = {{2, npes / 2, 1, 0}, {2, npes / 2, TULLE_AUTO, 0}};
    for (int x = 0; x < 2; x++) {
        tulle_status status = tulle_team_run(team, move, &v[x]);
        ok(status == TULLE_OK, "on %d x %d PEs: %s", v[x].rows, v[x].cols, tulle_error_message());
    }
    ok(v[1].replication > 1 && v[1].moved < v[0].moved, "%d layers move %d bytes instead of %d", v[1].replication,
        (int)v[1].moved, (int)v[0].moved);
}

/* Every divisor of the number of PEs as layers, and what is none. */
static void layers(tulle_team *team, int npes, struct cases base)
{
    int bulk = base.options.alg == TULLE_PRODUCT_SUMMA || base.options.alg == TULLE_PRODUCT_CANNON;
    struct cases c = base;
    for (int times = 2; times <= npes; times++) {
        base.options.replication = times;
        if (npes % times || bulk) {
            c = base;
            tulle_status status = tulle_team_run(team, run_case, &c);
            ok(status == (npes % times ? TULLE_ERR_ARG : TULLE_ERR_UNSUPPORTED) &&
                    strstr(tulle_error_message(), "replication"),
                "%s in %d layers of %d PEs: %s", tulle_product_alg_name(c.options.alg), times, npes,
                tulle_error_message());
        } else {
            all_cases(team, base, 1);
        }
    }
    c.options.replication = TULLE_AUTO;
    run(team, &c);
}

int main(int argc, char **argv)
{
    if (argc != 3) return fprintf(stderr, "usage: %s SPEC PES\n", argv[0]), 2;
    int npes = atoi(argv[2]);
    tulle_team *team;
    tulle_team_options options = {
        .memory = (size_t)npes << 26, .threads = npes > 1 ? 1 : 2, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    /* many PEs are slow on few cores: the static algorithms and one that steals */
    for (int alg = TULLE_PRODUCT_AUTO; alg < TULLE_PRODUCT_ALG_COUNT; alg++)
        for (int family = 0; family < 3; family++) {
            const int sparse = family == 1, dense_a = family == 2;
            if (npes > 7 && alg > TULLE_PRODUCT_STATIONARY_A && alg != TULLE_PRODUCT_STEAL_LOCAL_A) continue;
            struct cases base = {.m = 37,
                .k = 29,
                .n = 41,
                .sparse = sparse,
                .dense_a = dense_a,
                .cut = {1, 2, 3},
                .type = TULLE_F64,
                .alpha = 1};
            base.options.alg = (tulle_product_alg)alg;
            if (alg == TULLE_PRODUCT_AUTO && !family) { /* what a team makes once is there after the first product */
                run(team, &base);
                tulle_team_run(team, count_blocks, before);
            }
            all_cases(team, base, alg > TULLE_PRODUCT_STATIONARY_A);
            layers(team, npes, base);
            base.options.deterministic = 1;
            if (dense_a) continue;
            tulle_status status =
                alg == TULLE_PRODUCT_CANNON && npes > 1 ? TULLE_OK : tulle_team_run(team, same_bits, &base);
            ok(status == TULLE_OK, "%s %s deterministic: the same bits: %s",
                tulle_product_alg_name((tulle_product_alg)alg), sparse ? "spgemm" : "spmm",
                status == TULLE_OK ? "right" : tulle_error_message());
        }
    /* where others' tiles are read in place nothing moves anyway */
    if (npes == 8) layers_pay(team, npes);
    if (npes == 2 && strstr(argv[1], "direct=off")) {
        int64_t moved[2] = {0, 0};
        tulle_status status = tulle_team_run(team, fetch_once, moved);
        ok(status == TULLE_OK && moved[0] >= moved[1] && moved[0] < moved[1] + 4096,
            "%d bytes move of factors of %d: no part twice", (int)moved[0], (int)moved[1]);
    }
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "no block is left behind");
    tulle_team_free(team);
    return tap_done();
}
