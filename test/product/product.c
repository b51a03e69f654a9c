/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every product algorithm against a naive reference: product SPEC PES [TRANSFERS | device=SPEC | some]. One process
 * loops over types, shapes, layouts, algorithms and options; with `some`, over every third case, so that algorithms
 * take turns. Values are small integers, so that sums are exact and compared for equality.
 */
#include <string.h>

#include <tulle/device.h>
#include <tulle/machine.h>
#include <tulle/product.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "body.h"
#include "comm/comm.h"
#include "reference.h"
#include "tap.h"

struct cases {
    int64_t m, k, n;
    enum shape a_shape, b_shape;
    tulle_type type;
    int dense_a; /* A dense, and B and C */
    int sparse, tiles_m, tiles_k, tiles_n, layout_kind;
    tulle_order order;
    double alpha, beta;
    tulle_product_options options;
    int twice; /* execute again with new values */
};

enum { SPMM, SPGEMM, GEMM, FAMILIES };
static const char *const families[] = {"spmm", "spgemm", "gemm"};

static tulle_status make_layout(int64_t m, int64_t n, int tm, int tn, int kind, int npes, tulle_layout **layout)
{
    tulle_layout_spec spec = {.m = m, .n = n, .tile_rows = tm, .tile_cols = tn};
    int owner[64 * 64];
    if (kind == 1) spec.map = TULLE_CYCLIC;
    if (kind == 2) { /* owners at random */
        for (int t = 0; t < tm * tn; t++) owner[t] = (int)(tulle__random_at(7, (uint64_t)t, 0) % (uint64_t)npes);
        spec.owner = owner;
    }
    if (kind == 3) spec.grid_rows = npes, spec.grid_cols = 1;
    if (kind == 4) { /* all on the last PE */
        for (int t = 0; t < tm * tn; t++) owner[t] = npes - 1;
        spec.owner = owner;
    }
    return tulle_layout_new(&spec, npes, layout);
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_status status;
    int npes = tulle_comm_size(comm), ta = c->options.op_a == TULLE_OP_T, tb = c->options.op_b == TULLE_OP_T;
    struct reference a = make_reference(ta ? c->k : c->m, ta ? c->m : c->k, c->a_shape, 1);
    struct reference b = make_reference(tb ? c->n : c->k, tb ? c->k : c->n, c->sparse ? c->b_shape : FULL, 2);
    struct reference old = make_reference(c->m, c->n, c->sparse ? RANDOM : FULL, 3), want = {0}, again = {0};
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL, *A2 = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    TULLE_TRY(
        make_layout(a.m, a.n, ta ? c->tiles_k : c->tiles_m, ta ? c->tiles_m : c->tiles_k, c->layout_kind, npes, &la));
    TULLE_TRY(
        make_layout(b.m, b.n, tb ? c->tiles_n : c->tiles_k, tb ? c->tiles_k : c->tiles_n, c->layout_kind, npes, &lb));
    if (c->dense_a) {
        TULLE_TRY(tulle_mat_new_dense(comm, la, c->type, c->order, &A));
        TULLE_TRY(fill_dense(A, &a));
    } else {
        TULLE_TRY(distribute(comm, &a, la, c->type, &A));
    }
    if (c->sparse) {
        TULLE_TRY(distribute(comm, &b, lb, c->type, &B));
    } else {
        TULLE_TRY(tulle_mat_new_dense(comm, lb, c->type, c->order, &B));
        TULLE_TRY(fill_dense(B, &b));
    }
    TULLE_TRY(tulle_product_layout(A, c->options.op_a, B, c->options.op_b, &lc));
    if (c->sparse) {
        TULLE_TRY(distribute(comm, &old, lc, c->type, &C));
    } else {
        TULLE_TRY(tulle_mat_new_dense_undefined(comm, lc, c->type, c->order, &C));
        if (c->beta == 0) undefine(&old);
        TULLE_TRY(fill_dense(C, &old));
    }
    want = multiply(&a, &b, &old, c->alpha, c->beta, &c->options);
    status = tulle_product_new(A, B, C, &c->options, &plan);
    /* Cannon refuses most of these layouts; all those that it has to do are in bulk.c */
    if (status == TULLE_ERR_UNSUPPORTED && c->options.alg == TULLE_PRODUCT_CANNON && npes > 1) status = TULLE_OK;
    if (!plan) goto out;
    if (tulle_product_phases(plan) > 1) {
        /* the phases together are the product: each has its columns and no others */
        int64_t nnz = 0;
        tulle_columns columns = {.last = 0};
        while (status == TULLE_OK && !columns.last) {
            double error;
            status = tulle_product_next(plan, c->alpha, &columns, &report);
            if (status == TULLE_OK && c->beta == 0) status = tulle_product_check(plan, &error);
            if (status == TULLE_OK) nnz += report.nnz_c;
        }
        int64_t wanted = 0;
        for (int64_t e = 0; e < want.m * want.n; e++) wanted += want.has[e];
        if (status == TULLE_OK && nnz != wanted)
            status = tulle__fail(TULLE_ERR_CHECK, "phases give %d entries instead of %d", (int)nnz, (int)wanted);
        if (status == TULLE_OK && tulle_product_execute(plan, 1, 0, NULL) != TULLE_ERR_LIMIT)
            status = tulle__fail(TULLE_ERR_CHECK, "a plan of several phases executed at once");
        goto out;
    }
    TULLE_TRY(tulle_product_execute(plan, c->alpha, c->beta, &report));
    TULLE_TRY(compare(C, &want));
    if (report.reused) status = tulle__fail(TULLE_ERR_CHECK, "a first execution cannot reuse structure");
    if (status == TULLE_OK && c->beta == 0) {
        double error;
        TULLE_TRY(tulle_product_check_matrices(c->alpha, A, c->options.op_a, B, c->options.op_b, C, &error));
    }
    if (status == TULLE_OK && c->twice) {
        TULLE_TRY(scale_values(A, &a, 3));
        TULLE_TRY(scale_values(B, &b, 2));
        again = multiply(&a, &b, &want, c->alpha, c->beta, &c->options);
        TULLE_TRY(tulle_product_execute(plan, c->alpha, c->beta, &report));
        TULLE_TRY(compare(C, &again));
        /* where units are stolen, what a PE does changes from run to run: no structure of it is kept */
        int stealing = strncmp(tulle_product_alg_name(tulle_product_alg_of(plan)), "steal", 5) == 0;
        int reusable = !c->sparse || c->beta == 0;
        if (report.reused != reusable && !(c->sparse && stealing))
            status = tulle__fail(TULLE_ERR_CHECK, "the second execution says that it %s symbolic work",
                report.reused ? "did no" : "repeated");
    }
    if (status == TULLE_OK && c->beta != 0) { /* C has more entries than the product: its structure is of no use */
        for (int time = 0; time < 2; time++) {
            free_reference(&again);
            again = multiply(&a, &b, &want, 2 * c->alpha, 0, &c->options);
            TULLE_TRY(tulle_product_execute(plan, 2 * c->alpha, 0, &report));
            TULLE_TRY(compare(C, &again));
        }
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(A2);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    free_reference(&a);
    free_reference(&b);
    free_reference(&old);
    free_reference(&want);
    free_reference(&again);
    return status;
}

static int every = 1, called;

static int run(tulle_team *team, const struct cases *c)
{
    if (called++ % every) return 1;
    tulle_status status = tulle_team_run(team, run_case, (void *)(uintptr_t)c);
    return ok(status == TULLE_OK,
        "%s %s %s %dx%dx%d %s*%s tiles %d,%d,%d layout %d%s alpha %g beta %g%s%s lookahead %d%s phases %d: %s",
        tulle_product_alg_name(c->options.alg),
        families[c->sparse    ? SPGEMM
                 : c->dense_a ? GEMM
                              : SPMM],
        tulle_type_name(c->type), (int)c->m, (int)c->k, (int)c->n, shape_names[c->a_shape], shape_names[c->b_shape],
        c->tiles_m, c->tiles_k, c->tiles_n, c->layout_kind, c->order == TULLE_COL_MAJOR ? " col-major" : "", c->alpha,
        c->beta, c->options.op_a == TULLE_OP_T ? " A^T" : "", c->options.op_b == TULLE_OP_T ? " B^T" : "",
        c->options.lookahead, c->options.deterministic ? " deterministic" : "", c->options.phases,
        status == TULLE_OK ? "right" : tulle_error_message());
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4)
        return fprintf(stderr, "usage: %s SPEC PES [TRANSFERS | device=SPEC | some]\n", argv[0]), 2;
    int npes = atoi(argv[2]), last = TULLE_PRODUCT_ALG_COUNT;
    tulle_team *team;
    tulle_transfers transfers = TULLE_TRANSFERS_AUTO;
    tulle_machine machine;
    const char *device = argc == 4 && strncmp(argv[3], "device=", 7) == 0 ? argv[3] + 7 : NULL;
    tulle_device_facts facts;
    const int some = argc == 4 && strcmp(argv[3], "some") == 0 ? 3 : 1;
    const int emulated = device && strcmp(device, "cuda") == 0; /* a thread of the host for each of the device's */
    every = some;
    if (device || every > 1) argc = 3;
    if (device && strstr(device, "cuda") && tulle_device_probe(device, &facts) == TULLE_ERR_UNSUPPORTED)
        return printf("1..0 # SKIP %s\n", tulle_error_message()), 0;
    if (argc == 4) {
        /* a network without latency, so that few bytes are worth moving by themselves; the others fetch all tiles
           whole */
        if (tulle_transfers_parse(argv[3], &transfers) != TULLE_OK ||
            tulle_machine_find("dgx2", 1, &machine) != TULLE_OK)
            return fprintf(stderr, "%s\n", tulle_error_message()), 2;
        machine.tier[TULLE_SAME_NODE].latency = machine.tier[TULLE_OTHER_NODE].latency = 1e-12;
        last = TULLE_PRODUCT_STEAL_LOCAL_C;
    }
    /* a small arena: every partial result takes several panels */
    tulle_team_options options = {
        .memory = (size_t)npes << 27, .threads = npes > 2 ? 1 : 2, .arena = 4096, .panels = 2};
    if (!ok(tulle_team_new(argv[1], npes, &options, &team) == TULLE_OK, "open: %s", tulle_error_message()))
        return tap_done();
    struct blocks before[64] = {{0}}, after[64] = {{0}}; /* those of other processes stay 0 */
    for (int alg = argc == 4 ? TULLE_PRODUCT_STATIONARY_C : TULLE_PRODUCT_AUTO; alg < last; alg++) {
        every = emulated && alg != TULLE_PRODUCT_STATIONARY_A ? 7 : some;
        if (getenv("EMUL_GUARD")) every = 11; /* each access of a guarded page is a signal */
        for (int family = 0; family < (argc == 4 ? GEMM : FAMILIES); family++) {
            const int sparse = family == SPGEMM;
            struct cases base = {.m = 37,
                .k = 29,
                .n = 41,
                .sparse = sparse,
                .dense_a = family == GEMM,
                .tiles_m = 3,
                .tiles_k = 2,
                .tiles_n = 2,
                .type = TULLE_F64,
                .alpha = 1,
                .twice = 1};
            base.options.alg = (tulle_product_alg)alg;
            const int fetches = alg != TULLE_PRODUCT_SUMMA && alg != TULLE_PRODUCT_CANNON;
            base.options.transfers = fetches && !device ? transfers : TULLE_TRANSFERS_AUTO;
            base.options.machine = argc == 4 ? &machine : NULL;
            base.options.device = device;
            const tulle_product_devices devices = {.count = 1 + alg % 3};
            base.options.devices = device ? &devices : NULL;
            struct cases c;
            for (int s = 0; s < SHAPES; s++) {
                c = base, c.a_shape = (enum shape)s, run(team, &c);
                c = base, c.b_shape = (enum shape)s, c.type = TULLE_F32, run(team, &c);
            }
            for (int kind = 1; kind < 5; kind++) c = base, c.layout_kind = kind, run(team, &c);
            if (argc == 4) base.layout_kind = 3; /* rows of tiles: where A and C lie together */
            for (int s = 0; s < SHAPES && argc == 4; s++) {
                c = base, c.tiles_k = 4, c.a_shape = (enum shape)s, run(team, &c);
                c = base, c.tiles_k = 7, c.a_shape = (enum shape)s, c.beta = 2, c.type = TULLE_F32, run(team, &c);
                c = base, c.tiles_k = 7, c.a_shape = (enum shape)s, c.options.deterministic = 1, run(team, &c);
            }
            static const int tiles[][3] = {{1, 1, 1}, {7, 5, 3}, {4, 4, 4}, {1, 6, 1}, {2, 1, 5}, {40, 30, 2}};
            for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++) {
                c = base, c.tiles_m = tiles[t][0], c.tiles_k = tiles[t][1], c.tiles_n = tiles[t][2];
                c.type = t % 2 ? TULLE_F32 : TULLE_F64;
                run(team, &c);
            }
            static const int64_t sizes[][3] = {
                {1, 1, 1}, {0, 5, 4}, {5, 0, 4}, {5, 4, 0}, {200, 3, 2}, {2, 3, 200}, {3, 150, 2}, {1, 64, 1}};
            for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++)
                c = base, c.m = sizes[t][0], c.k = sizes[t][1], c.n = sizes[t][2], run(team, &c);
            for (int op = 1; op < 4; op++)
                c = base, c.options.op_a = (tulle_op)(op & 1), c.options.op_b = (tulle_op)(op >> 1), run(team, &c);
            c = base, c.alpha = -2, run(team, &c);
            c = base, c.beta = 3, run(team, &c);
            c = base, c.beta = 1, c.alpha = 0.5, c.type = TULLE_F32, run(team, &c);
            for (int lookahead = 0; lookahead < (fetches ? 6 : 2); lookahead += 2)
                c = base, c.options.lookahead = lookahead ? lookahead : TULLE_NONE, c.tiles_k = 7, run(team, &c);
            c = base, c.options.no_offset = fetches, run(team, &c);
            c = base, c.options.transfers = TULLE_TRANSFERS_WHOLE, run(team, &c);
            c = base, c.options.deterministic = 1, c.tiles_k = 5, run(team, &c);
            if (!sparse) c = base, c.order = TULLE_COL_MAJOR, run(team, &c);
            if (!sparse) c = base, c.order = TULLE_COL_MAJOR, c.options.op_b = TULLE_OP_T, c.beta = 2, run(team, &c);
            if (sparse) c = base, c.options.phases = 3, run(team, &c);
            if (sparse) c = base, c.options.phases = 41, run(team, &c);
            if (sparse) c = base, c.n = 1, c.tiles_n = 1, c.options.phases = 3, run(team, &c);
        }
    }
    every = 1;
    tulle_team_run(team, count_blocks, before);
    struct cases c = {
        .m = 60, .k = 50, .n = 40, .sparse = 1, .tiles_m = 4, .tiles_k = 4, .tiles_n = 4, .twice = 1, .alpha = 1};
    c.options.alg = TULLE_PRODUCT_STATIONARY_A;
    run(team, &c);
    ok(tulle_team_run(team, count_blocks, after) == TULLE_OK &&
            memcmp(before, after, (size_t)npes * sizeof *after) == 0,
        "no segment block is left behind");
    tulle_team_free(team);
    return tap_done();
}
