/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimated entries of a sparse product against those that it has, tile row by tile row; and that a product of which
 * the multiplications would not fit, but the entries do, is made in one phase. estimates SPEC PES
 */
#include "algo/product/plan/estimate.h"

#include <math.h>
#include <string.h>

#include "operands.h"
#include "tap.h"

enum { ROWS_MOST = 16 };

struct product {
    const char *a, *b;
    double tolerance; /* rows of B that are alike share the error of one estimate: a quarter is its deviation */
    int rows, cols;   /* of the grid */
    int n;
    double found[ROWS_MOST], ratio[ROWS_MOST];
};

/* Entries of C in each tile row, over what multiplications and columns allow. */
static tulle_status find_true(const product_operands *o, const int64_t *work, double *found)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = o->l[2];
    int64_t entries[ROWS_MOST] = {0};
    for (int i = 0; i < l->mt; i++)
        for (int j = 0; j < l->nt; j++) {
            tulle_tile tile;
            if (!tulle__tile_is_mine(o->C, i, j)) continue;
            TULLE_TRY(tulle_mat_tile(o->C, i, j, &tile));
            entries[i] += tile.nnz;
        }
    TULLE_TRY(tulle_comm_reduce_int(o->C->comm, TULLE_SUM, l->mt, entries));
    for (int i = 0; i < l->mt; i++) {
        double most = 0;
        for (int64_t r = l->row_cut[i]; r < l->row_cut[i + 1]; r++)
            most += (double)work[r] < (double)l->n ? (double)work[r] : (double)l->n;
        found[i] = most > 0 ? (double)entries[i] / most : 1;
    }
out:
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    tulle_status status;
    struct product *p = arg;
    product_operands o = {.A = NULL};
    tulle_operand_shape a, b;
    tulle_product *plan = NULL;
    int64_t *work = NULL;
    double found[ROWS_MOST], ratio[ROWS_MOST];
    tulle_product_options options = {0};
    TULLE_TRY(tulle_operand_inspect(p->a, NULL, &a));
    TULLE_TRY(tulle_operand_inspect(p->b, NULL, &b));
    product_grid grid = {
        .m = a.m, .k = a.n, .n = b.n, .rows = p->rows, .cols = p->cols, .tiles = 2, .map = TULLE_CYCLIC};
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(load_operands(comm, p->a, p->b, &o));
    TULLE_TRY(tulle__alloc((size_t)a.m, sizeof *work, "row flops", &work));
    TULLE_TRY(tulle_mat_row_flops(o.A, o.B, work));
    TULLE_TRY(tulle__estimate_ratio(o.A, o.B, work, ratio));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
    TULLE_TRY(find_true(&o, work, found));
    double same[ROWS_MOST];
    memcpy(same, ratio, sizeof same);
    TULLE_TRY(tulle_comm_reduce_real(comm, TULLE_MAX, o.l[2]->mt, same));
    EXPECT(memcmp(same, ratio, (size_t)o.l[2]->mt * sizeof *same) == 0);
    if (tulle_comm_rank(comm) == 0) {
        p->n = o.l[2]->mt;
        memcpy(p->found, found, sizeof found);
        memcpy(p->ratio, ratio, sizeof ratio);
    }
out:
    if (status == TULLE_OK) tulle_product_free(plan); /* else the team frees it */
    tulle__free(work);
    free_operands(&o, status);
    return status;
}

static const struct product products[] = {
    {.a = "er:n=3000,degree=6", .b = "er:n=3000,degree=6", .tolerance = 0.25},
    {.a = "rmat:scale=11,edgefactor=8", .b = "rmat:scale=11,edgefactor=8", .tolerance = 0.25},
    {.a = "fem:nodes=12,dof=3", .b = "fem:nodes=12,dof=3", .tolerance = 0.25},
    {.a = "band:n=4000,lower=9,upper=30", .b = "band:n=4000,lower=1,upper=2", .tolerance = 0.25},
    {.a = "circuit:n=2500", .b = "circuit:n=2500", .tolerance = 0.35},
    {.a = "er:m=900,n=70,degree=30", .b = "er:m=70,n=2000,degree=9", .tolerance = 0.6},
    {.a = "er:m=40,n=1000,degree=500", .b = "er:m=1000,n=300,degree=40", .tolerance = 0.6},
    {.a = "er:m=5,n=8,degree=0.001", .b = "er:m=8,n=5,degree=2", .tolerance = 0},
};

static void test_ratios(tulle_team *team, int rows, int cols)
{
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        struct product p = products[i];
        double worst = 0;
        p.rows = rows;
        p.cols = cols;
        tulle_status status = tulle_team_run(team, body, &p);
        for (int t = 0; status == TULLE_OK && t < p.n; t++) {
            double off = fabs(p.ratio[t] / p.found[t] - 1);
            if (!(off <= worst)) worst = off;
        }
        ok(status == TULLE_OK && worst <= p.tolerance, "%s x %s on %d x %d: %s", p.a, p.b, rows, cols,
            status == TULLE_OK ? "estimated" : tulle_error_message());
        if (worst > p.tolerance) printf("# off by %.0f %%\n", worst * 100);
    }
}

/* 24 million multiplications, which might want a gigabyte, make 1.4 million entries. */
static tulle_status one_phase(tulle_comm *comm, void *arg)
{
    tulle_status status;
    product_operands o = {.A = NULL};
    tulle_product *plan = NULL;
    tulle_operand_shape shape;
    tulle_product_options options = {0};
    const char *name = "fem:nodes=12,dof=3";
    TULLE_TRY(tulle_operand_inspect(name, NULL, &shape));
    const product_grid grid = square_grid(comm, shape.m);
    TULLE_TRY(grid_layouts(&grid, o.l));
    TULLE_TRY(load_operands(comm, name, name, &o));
    TULLE_TRY(tulle_product_new(o.A, o.B, o.C, &options, &plan));
    if (tulle_comm_rank(comm) == 0) *(int *)arg = tulle_product_phases(plan);
    TULLE_TRY(tulle_product_execute(plan, 1, 0, NULL));
out:
    if (status == TULLE_OK) tulle_product_free(plan);
    free_operands(&o, status);
    return status;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "threads";
    int pes = argc > 2 ? atoi(argv[2]) : 2, phases = 0;
    tulle_team *team;
    if (!ok(tulle_team_new(spec, pes, NULL, &team) == TULLE_OK, "a team of %d", pes)) return tap_done();
    test_ratios(team, pes, 1);
    if (pes % 2 == 0) test_ratios(team, 2, pes / 2);
    tulle_team_free(team);
    tulle_team_options small = {.memory = (size_t)240 << 20};
    if (!ok(tulle_team_new(spec, pes, &small, &team) == TULLE_OK, "a team of 240 MB")) return tap_done();
    tulle_status status = tulle_team_run(team, one_phase, &phases);
    ok(status == TULLE_OK && phases == 1, "a product of many multiplications of few entries: %d phase, %s", phases,
        status == TULLE_OK ? "done" : tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
