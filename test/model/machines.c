/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machines: saved and read back, those of the paper; the rooflines by hand; predictions for PEs
 * that do not exist.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tulle/io.h>
#include <tulle/model.h>

#include "algo/model/rates.h"
#include "base/host/kind.h"
#include "base/host/limits.h"
#include "body.h"
#include "kernel/kernel.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST];

static int close_to(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b);
}

static void keep(void)
{
    char path[TEMPORARY_MOST + 16];
    tulle_machine m = {.kind = "one",
                      .comm = "net:latency=1us+threads",
                      .threads = 3,
                      .stream = 1e10,
                      .cache = 2e10,
                      .fma = {3e10, 4e10},
                      .in_place = 1},
                  back;
    snprintf(path, sizeof path, "%s/machine", folder);
    for (int i = 0; i < TULLE_RATE_DEGREES * TULLE_RATE_WIDTHS; i++) m.spmm[i] = 1e9 * (i + 1);
    for (int i = 0; i < TULLE_RATE_FACTORS; i++) m.spgemm[i] = 2e9 * (i + 1);
    m.tier[TULLE_OTHER_NODE] = (tulle_tier){2.5e-6, 1.25e10, 1e-7};
    m.node_pes = 2;
    ok(tulle_machine_save(path, &m) == TULLE_OK && tulle_machine_load(path, 3, &back) == TULLE_OK &&
            memcmp(&m, &back, sizeof m) == 0,
        "what is kept comes back");
    ok(tulle_machine_find(path, 9, &back) == TULLE_OK && back.threads == 3, "by its name, whatever the threads");
    ok(tulle_machine_load(path, 2, &back) == TULLE_ERR_STATE, "but not as measured with others");

    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"kind a\nthreads 2\nstream x\n", "machine:3:"},
        {"kind a\nthreads 2\nstream 1 2\n", "machine:3:"},
        {"kind a\nbogus 2\n", "machine:2:"},
        {"kind a\nthreads 0\n", "machine:2:"},
        {"kind a\nthreads 2\nstream 1\ncache 1\nfma_f32 1\n", "the line 'fma_f64' is missing"},
        {"kind a\nthreads 2\nstream 1\ncache 1\nfma_f32 1\nfma_f64 1\nspgemm 1 2\n", "machine:7:"},
    };
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        FILE *file = fopen(path, "w");
        if (file) fputs(wrong[w].text, file), fclose(file);
        tulle_status status = tulle_machine_load(path, 2, &back);
        ok(status == TULLE_ERR_FORMAT && strstr(tulle_error_message(), wrong[w].message), "refused: %s",
            tulle_error_message());
    }
    FILE *file = fopen(path, "w");
    if (file) fputs("kind a\nthreads 2\nstream 1\ncache 1\nfma_f32 1\nfma_f64 1\n", file), fclose(file);
    ok(tulle_machine_load(path, 2, &back) == TULLE_OK && back.tier[0].bandwidth == 0,
        "a file of before the model is read");
    file = fopen(path, "w");
    if (file)
        fputs("kind a\nthreads 2\nstream 1\ncache 1\nfma_f32 1\nfma_f64 1\nsame_node 1e-06 2e9\n", file), fclose(file);
    ok(tulle_machine_load(path, 2, &back) == TULLE_OK && back.tier[0].bandwidth == 2e9 && back.tier[0].range == 0,
        "and one of before ranges were measured");
    unlink(path);
    ok(tulle_machine_find("summit", 1, &m) == TULLE_OK && m.node_pes == 6 &&
            m.tier[TULLE_OTHER_NODE].bandwidth == 3.83e9,
        "Summit has 6 PEs a node and 3.83 GB/s for each");
    ok(tulle_machine_find("dgx2", 1, &m) == TULLE_OK && m.node_pes == 16, "the DGX-2 has 16");
    ok(tulle_machine_find("nowhere/summit", 1, &m) == TULLE_ERR_IO, "no such machine: %s", tulle_error_message());
}

/* Two made-up measurements of one machine. */
static void merge(void)
{
    const tulle_machine quiet = {.kind = "one",
        .comm = "threads",
        .threads = 2,
        .stream = 8e10,
        .cache = 9e10,
        .fma = {3e10, 4e10},
        .spmm = {5, 6, 7},
        .spgemm = {0, 2},
        .tier = {{1e-6, 1e9, 1e-8}, {3e-6, 2e9, 0}},
        .node_pes = 2};
    tulle_machine busy = quiet, m;
    busy.stream = 2e10;                           /* worse */
    busy.cache = 10e10;                           /* better */
    busy.spmm[1] = 1;                             /* worse */
    busy.spgemm[0] = 1;                           /* not known before */
    busy.spgemm[1] = 0;                           /* not known now */
    busy.tier[0] = (tulle_tier){2e-6, 3e9, 2e-8}; /* worse, better, worse */
    busy.tier[1] = (tulle_tier){0, 0, 0};         /* no PEs are that far apart this time */
    m = busy;
    ok(tulle_machine_merge(&quiet, &m) == 5, "five figures of before are better");
    ok(m.stream == 8e10 && m.cache == 10e10 && m.fma[0] == 3e10 && m.spmm[0] == 5 && m.spmm[1] == 6 &&
            m.spgemm[0] == 1 && m.spgemm[1] == 2,
        "the higher of two rates, or the one that is known");
    ok(m.tier[0].latency == 1e-6 && m.tier[0].bandwidth == 3e9 && m.tier[0].range == 1e-8 && m.tier[1].bandwidth == 0,
        "the lower of two latencies and costs of a range, the higher of two bandwidths");
    m = busy;
    strcpy(m.comm, "mpi");
    ok(tulle_machine_merge(&quiet, &m) == 3 && m.tier[0].latency == 2e-6 && m.stream == 8e10,
        "tiers of another comm are no better ones");
    m = busy;
    memset(m.tier, 0, sizeof m.tier);
    m.node_pes = 0;
    m.comm[0] = 0;
    ok(tulle_machine_merge(&quiet, &m) == 3 && memcmp(m.tier, quiet.tier, sizeof m.tier) == 0 && m.node_pes == 2 &&
            strcmp(m.comm, "threads") == 0,
        "tiers that are not measured this time stay");
    m = busy;
    m.threads = 3;
    ok(tulle_machine_merge(&quiet, &m) == 0 && m.stream == 2e10, "figures of other threads are no better ones");
    m = busy;
    strcpy(m.kind, "other");
    ok(tulle_machine_merge(&quiet, &m) == 0 && m.stream == 2e10, "nor those of another kind");
}

static void roofs(void)
{
    tulle_machine m = {.threads = 4, .stream = 8e9, .cache = 1, .fma = {[TULLE_F32] = 1e12, [TULLE_F64] = 4e9}};
    m.tier[TULLE_SAME_NODE] = (tulle_tier){1e-6, 1e9, 0};
    /* 100 x 50, 1000 entries, 10 columns of f64: 20000 flops; 12000 + 808 + 8 (1000 + 500) bytes */
    tulle_roofline r = tulle_roofline_spmm(&m, 4, TULLE_F64, 100, 50, 1000, 10);
    ok(close_to(r.intensity, 20000.0 / 24808) && r.rate == 4e9, "SpMM under the peak: %g, %g", r.intensity, r.rate);
    r = tulle_roofline_spmm(&m, 1, TULLE_F32, 100, 50, 1000, 10);
    ok(close_to(r.intensity, 20000.0 / 14808) && close_to(r.rate, r.intensity * 2e9),
        "a quarter of the threads, under the bandwidth: %g, %g", r.intensity, r.rate);
    r = tulle_roofline_spmm(&m, 4, TULLE_F64, 100, 5000, 10, 10); /* of 5000 rows of B 10 are asked for */
    ok(close_to(r.intensity, 200.0 / (120 + 808 + 8 * (1000 + 100))), "rows of B that nobody asks for: %g",
        r.intensity);
    r = tulle_roofline_spgemm(&m, 4, TULLE_F64, 2);
    ok(close_to(r.intensity, 2 * 2.0 / (7 * 12)), "SpGEMM: %g", r.intensity);
    r = tulle_roofline_network(&m, 4, 5e9, 1e6, 1e6);
    ok(r.intensity == 1 && r.rate == 1e9, "bound by the network: %g", r.rate);
    r = tulle_roofline_network(&m, 4, 5e9, 1e6, 1e4);
    ok(r.rate == 5e9, "bound by the local roof: %g", r.rate);
    r = tulle_roofline_network(&m, 4, 5e9, 1e6, 0);
    ok(r.rate == 5e9, "and where nothing moves");
}

struct far {
    const char *operand;
    int rows, cols, cols_b;
    tulle_counting counting;
    tulle_prediction p[TULLE_PRODUCT_ALG_COUNT], here;
    tulle_machine machine;
    tulle_status refused;
    double entries, needed; /* needed: bytes of stationary A if only required rows travel */
};

static tulle_status look_far(tulle_comm *comm, void *arg)
{
    struct far *f = arg;
    tulle_status status;
    tulle_mat *A = NULL;
    tulle_layout *l[3] = {NULL, NULL, NULL};
    tulle_counts *counts = NULL;
    int K = f->rows > f->cols ? f->rows : f->cols, pes = f->rows * f->cols;
    TULLE_TRY(tulle_mat_load(comm, f->operand, NULL, TULLE_CSR, NULL, NULL, &A));
    tulle_gidx m = tulle_mat_rows(A), n = f->cols_b ? f->cols_b : m;
    tulle_layout_spec s = {
        .m = m, .n = m, .grid_rows = f->rows, .grid_cols = f->cols, .tile_rows = f->rows, .tile_cols = K};
    TULLE_TRY(tulle_layout_new(&s, pes, &l[0]));
    s.n = n;
    s.tile_rows = K;
    s.tile_cols = f->cols;
    TULLE_TRY(tulle_layout_new(&s, pes, &l[1]));
    s.tile_rows = f->rows;
    TULLE_TRY(tulle_layout_new(&s, pes, &l[2]));
    tulle_counts_spec spec = {l[0], l[1], l[2], pes, TULLE_F32, f->counting, 0, 0};
    TULLE_TRY(tulle_counts_new(A, f->cols_b ? NULL : A, &spec, &counts));
    if (tulle_comm_rank(comm) == 0) f->entries = tulle_counts_entries(counts);
    tulle_prediction p;
    tulle_model_options whole = {0};
    whole.transfers = TULLE_TRANSFERS_WHOLE;
    for (int a = 1; a < TULLE_PRODUCT_ALG_COUNT; a++) {
        TULLE_TRY(tulle_predict(counts, &f->machine, &whole, (tulle_product_alg)a, &p));
        if (tulle_comm_rank(comm) == 0) f->p[a] = p;
    }
    TULLE_TRY(tulle_predict(counts, &f->machine, NULL, TULLE_PRODUCT_STATIONARY_A, &p));
    if (tulle_comm_rank(comm) == 0) f->needed = p.bytes_moved;
    spec.pes = 1; /* whose layouts assign tiles to other PEs */
    tulle_counts *none = NULL;
    tulle_status refused = tulle_counts_new(A, NULL, &spec, &none);
    if (tulle_comm_rank(comm) == 0) f->refused = refused;
    EXPECT(
        tulle_predict(counts, &f->machine, NULL, TULLE_PRODUCT_AUTO, &(tulle_prediction){.suits = 0}) == TULLE_ERR_ARG);
out:
    tulle_counts_free(counts);
    for (int x = 0; x < 3; x++) tulle_layout_free(l[x]);
    return status;
}

static void try_far(int npes, struct far *f)
{
    tulle_team *team = NULL;
    tulle_status status = tulle_team_new("threads", npes, NULL, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, look_far, f);
    tulle_team_free(team);
    ok(status == TULLE_OK, "%d x %d PEs looked at from %d: %s", f->rows, f->cols, npes,
        status == TULLE_OK ? "done" : tulle_error_message());
}

/* Field by field: what lies between them is anything. */
static int same_prediction(const tulle_prediction *p, const tulle_prediction *q)
{
    return p->alg == q->alg && p->suits == q->suits && p->batch == q->batch && p->seconds == q->seconds &&
           p->compute.max == q->compute.max && p->communicate.max == q->communicate.max &&
           p->accumulate.max == q->accumulate.max && p->wait.max == q->wait.max && p->bytes_moved == q->bytes_moved &&
           p->messages == q->messages && p->partials == q->partials && p->load_imbalance == q->load_imbalance;
}

static void far_away(void)
{
    struct far f = {.operand = "rmat:scale=11,edgefactor=8", .rows = 16, .cols = 24, .counting = TULLE_COUNT_RESULT}, g,
               h;
    (void)tulle_machine_find("summit", 1, &f.machine);
    g = f;
    try_far(1, &f);
    try_far(3, &g);
    int same = 1;
    for (int a = 1; a < TULLE_PRODUCT_ALG_COUNT; a++) same &= same_prediction(&f.p[a], &g.p[a]);
    ok(same, "384 PEs look the same from 1 and from 3");
    /* rows that two PEs count for one tile are counted twice */
    ok(f.needed < f.p[TULLE_PRODUCT_STATIONARY_A].bytes_moved && g.needed >= f.needed && g.needed < 1.1 * f.needed,
        "of B's tiles less moves: %.0f bytes of %.0f, from 3 PEs %.0f", f.needed,
        f.p[TULLE_PRODUCT_STATIONARY_A].bytes_moved, g.needed);
    ok(f.refused == TULLE_ERR_ARG, "layouts for more PEs than there are said to be are refused");
    ok(!f.p[TULLE_PRODUCT_CANNON].suits && f.p[TULLE_PRODUCT_SUMMA].suits, "16 x 24 is no grid for Cannon");
    ok(f.p[TULLE_PRODUCT_STATIONARY_C].seconds < f.p[TULLE_PRODUCT_SUMMA].seconds, "stages cost: %g s, %g s without",
        f.p[TULLE_PRODUCT_SUMMA].seconds, f.p[TULLE_PRODUCT_STATIONARY_C].seconds);
    /*
     * the same on one node whose PEs read each other's memory: only records of partial results
     * travel
     */
    h = f;
    h.rows = h.cols = 4;
    h.machine.in_place = 1;
    h.machine.fma[TULLE_F32] = 1e9; /* so that work dominates */
    h.machine.node_pes = h.rows * h.cols;
    h.cols_b = 64;
    try_far(1, &h);
    ok(h.p[TULLE_PRODUCT_STATIONARY_C].bytes_moved == 0 && h.p[TULLE_PRODUCT_STATIONARY_C].communicate.max == 0,
        "what is read in place does not move");
    ok(h.p[TULLE_PRODUCT_STEAL_LOCAL_C].seconds < h.p[TULLE_PRODUCT_STATIONARY_C].seconds &&
            h.p[TULLE_PRODUCT_STEAL_LOCAL_C].wait.mean < h.p[TULLE_PRODUCT_STATIONARY_C].wait.mean,
        "stealing balances: %g s, %g s without", h.p[TULLE_PRODUCT_STEAL_LOCAL_C].seconds,
        h.p[TULLE_PRODUCT_STATIONARY_C].seconds);
    /* entries of C assumed uniform: multiplications stay exact */
    g = f;
    g.counting = TULLE_COUNT_FLOPS;
    try_far(2, &g);
    ok(g.p[TULLE_PRODUCT_STATIONARY_C].load_imbalance == f.p[TULLE_PRODUCT_STATIONARY_C].load_imbalance &&
            g.p[TULLE_PRODUCT_STATIONARY_C].bytes_moved == f.p[TULLE_PRODUCT_STATIONARY_C].bytes_moved,
        "tiles are counted without the result");
}

/* Entries of C from some rows: distinguishes a band from random entries. */
static void estimate(void)
{
    static const char *const operands[] = {"band:n=3000,lower=4,upper=4", "er:n=3000,degree=5", "fem:nodes=12,dof=2"};
    for (size_t o = 0; o < sizeof operands / sizeof *operands; o++) {
        struct far f = {.operand = operands[o], .rows = 4, .cols = 2, .counting = TULLE_COUNT_RESULT}, g;
        (void)tulle_machine_find("summit", 1, &f.machine);
        g = f;
        g.counting = TULLE_COUNT_FLOPS;
        try_far(1, &f);
        try_far(3, &g);
        ok(g.entries > 0.6 * f.entries && g.entries < 1.6 * f.entries, "%s: %.0f entries of C estimated, %.0f counted",
            operands[o], g.entries, f.entries);
    }
}

/* Every PE gets the same figures, and they are figures. */
static tulle_status measure(tulle_comm *comm, void *arg)
{
    tulle_status status;
    tulle_machine m = {.threads = 1};
    int in_place = *(const int *)arg;
    TULLE_TRY(tulle_machine_measure_tiers(comm, &m));
    double pair[4] = {m.tier[0].latency, m.tier[0].bandwidth, -m.tier[0].latency, -m.tier[0].bandwidth};
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 4, pair));
    EXPECT(pair[0] == -pair[2] && pair[1] == -pair[3] && pair[0] > 0 && pair[1] > 0);
    double range[2] = {m.tier[0].range, -m.tier[0].range};
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, 2, range));
    EXPECT(range[0] == -range[1] && range[0] > 0);
    EXPECT(m.tier[TULLE_OTHER_NODE].bandwidth == 0 && m.node_pes == tulle_comm_size(comm) && m.in_place == in_place);
out:
    return status;
}

static void tiers(void)
{
    static const struct {
        const char *spec;
        int in_place;
    } cases[] = {{"threads", 1}, {"threads:direct=off", 0}, {"check+threads", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        tulle_team *team = NULL;
        int in_place = cases[c].in_place;
        tulle_status status = tulle_team_new(cases[c].spec, 3, NULL, &team);
        if (status == TULLE_OK) status = tulle_team_run(team, measure, &in_place);
        tulle_team_free(team);
        ok(status == TULLE_OK, "%s: tiers are measured: %s", cases[c].spec,
            status == TULLE_OK ? "" : tulle_error_message());
    }
}

/* From which sizes of blocks on kernels multiply, by made-up rates, in a file and out of it. */
static void block_sizes(void)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/sizes", folder);
    enum { N = TULLE_RATE_CROSSINGS, X = TULLE_BLOCK_LIBXSMM, B = TULLE_BLOCK_BLAS };
    tulle_machine m = {.kind = "a", .threads = 1, .stream = 1, .cache = 1, .fma = {1, 1}}, back;
    double *own = m.block_kernels, *libxsmm = own + X * N, *blas = own + B * N;
    tulle__block_sizes(&m);
    ok(m.block_from[X] == 0 && m.block_from[B] == 0, "without rates the defaults hold");
    for (int s = 0; s < N; s++) own[s] = 10;
    tulle__block_sizes(&m);
    ok(m.block_from[X] == TULLE__BLOCK_NEVER && m.block_from[B] == TULLE__BLOCK_NEVER,
        "what is not there multiplies nothing");
    for (int s = 0; s < N; s++) libxsmm[s] = s < 3 ? 5 : 20, blas[s] = s < N - 1 ? 2 : 30;
    libxsmm[5] = 9; /* a disturbed one among better ones */
    tulle__block_sizes(&m);
    ok(m.block_from[X] == TULLE_RATE_CROSSING[3] && m.block_from[B] == TULLE_RATE_CROSSING[N - 1],
        "LIBXSMM from %g on, the BLAS from %g on", m.block_from[X], m.block_from[B]);
    ok(tulle_machine_save(path, &m) == TULLE_OK && tulle_machine_load(path, 1, &back) == TULLE_OK &&
            memcmp(back.block_from, m.block_from, sizeof m.block_from) == 0 &&
            memcmp(back.block_kernels, m.block_kernels, sizeof m.block_kernels) == 0,
        "a file keeps rates and sizes");
    unlink(path);
    back.block_kernels[X * N + 2] = 40; /* a later, better measurement */
    ok(tulle_machine_merge(&m, &back) == 0 && back.block_from[X] == TULLE_RATE_CROSSING[2],
        "sizes are of merged rates");
    for (int s = 0; s < N; s++) blas[s] = 100;
    tulle__block_sizes(&m);
    ok(m.block_from[B] == TULLE_RATE_CROSSING[0] && m.block_from[X] == TULLE__BLOCK_NEVER, "one kernel may have all");
    for (int s = 0; s < N; s++) libxsmm[s] = blas[s] = own[s] * 1.02;
    tulle__block_sizes(&m);
    ok(m.block_from[B] == TULLE__BLOCK_NEVER && m.block_from[X] == TULLE__BLOCK_NEVER, "two percent are no reason");
}

/* The file that has no name in a call is that of this kind of machine: no other's figures go into it, or come of it. */
static void kinds(void)
{
    char path[4200];
    tulle_machine m, back, published;
    setenv("XDG_CACHE_HOME", folder, 1);
    unsetenv("TULLE_MACHINE");
    ok(tulle_machine_find("summit", 1, &published) == TULLE_OK &&
            tulle_machine_save(NULL, &published) == TULLE_ERR_STATE && strstr(tulle_error_message(), "'summit'"),
        "a published machine is not kept as this one: %s", tulle_error_message());
    ok(tulle_machine_guess(1, &m) == TULLE_OK && tulle_machine_path(1, path, sizeof path) == TULLE_OK &&
            access(path, F_OK) != 0,
        "and there is no such file: %s", path);
    tulle__machine_kind("", tulle__cores_available(""), m.kind);
    ok(tulle_machine_save(NULL, &m) == TULLE_OK && tulle_machine_load(NULL, 1, &back) == TULLE_OK &&
            back.stream > .99 * m.stream && back.stream < 1.01 * m.stream,
        "figures of this kind of machine are kept");
    ok(tulle_machine_save(path, &published) == TULLE_OK && tulle_machine_load(path, 1, &back) == TULLE_OK &&
            tulle_machine_load(NULL, 1, &back) == TULLE_ERR_STATE,
        "a file that has another's is not taken for this one's: %s", tulle_error_message());
    setenv("TULLE_MACHINE", path, 1);
    ok(tulle_machine_load(NULL, 1, &back) == TULLE_OK && strcmp(back.kind, "summit") == 0,
        "unless it is named by TULLE_MACHINE");
    unsetenv("TULLE_MACHINE");
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
}

int main(void)
{
    if (!temporary_folder(folder)) return 2;
    kinds();
    keep();
    merge();
    block_sizes();
    roofs();
    far_away();
    estimate();
    tiers();
    ok(rmdir(folder) == 0, "no file is left behind");
    return tap_done();
}
