/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices of blocks against a product by its definition, block by block: values are small integers,
 * so that sums are exact and norms decide alike.
 */
#ifndef TULLE_TEST_BLOCK_PROBLEM_H
#define TULLE_TEST_BLOCK_PROBLEM_H

#include <string.h>

#include "blocks.h"
#include "reference.h"
#include "tap.h"

enum { MOST = 96 };

static const char *device; /* that multiplies; NULL: the host */

struct setting {
    int64_t m, k, n;
    enum shape shape, shape_b;
    tulle_kind kind; /* of A and B */
    tulle_type type;
    int tiles, block;     /* block: of BSR; the most of VBSR */
    int tiles_b, tiles_c; /* of B, of C, each way; 0: as A's, and as tulle_product_layout says */
    double alpha, beta;
    tulle_product_options options;
};

struct counts {
    int64_t skipped, filtered;
};

/* Cuts of [0, n) into blocks of 1 to `most`; of exactly that for BSR. */
static tulle_block_cuts cuts_of(int64_t n, const struct setting *s, uint64_t seed, tulle_gidx *workspace)
{
    tulle_gidx count = 0;
    workspace[0] = 0;
    while (workspace[count] < n) {
        uint64_t drawn = tulle__random_at(seed, 2, (uint64_t)count) % (uint64_t)s->block;
        tulle_gidx size = s->kind == TULLE_BSR ? s->block : 1 + (tulle_gidx)drawn;
        workspace[count + 1] = workspace[count] + size < n ? workspace[count] + size : n;
        count++;
    }
    return (tulle_block_cuts){count, workspace};
}

static tulle_status layout_of(tulle_comm *comm, int tiles, tulle_block_cuts row, tulle_block_cuts col, tulle_layout **l)
{
    tulle_layout_spec spec = {.m = row.cut[row.count],
        .n = col.cut[col.count],
        .tile_rows = tiles,
        .tile_cols = tiles,
        .map = TULLE_CYCLIC,
        .row_blocks = row,
        .col_blocks = col};
    tulle_grid_square(tulle_comm_size(comm), false, &spec.grid_rows, &spec.grid_cols);
    return tulle_layout_new(&spec, tulle_comm_size(comm), l);
}

static double squared_norm(const struct reference *r, tulle_block_cuts row, tulle_block_cuts col, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t x = row.cut[i]; x < row.cut[i + 1]; x++)
        for (int64_t y = col.cut[j]; y < col.cut[j + 1]; y++) sum += r->val[x * r->n + y] * r->val[x * r->n + y];
    return sum;
}

/* The element of op(X). */
static int64_t at(const struct reference *r, tulle_op op, int64_t i, int64_t j)
{
    return op == TULLE_OP_T ? j * r->n + i : i * r->n + j;
}

struct factors {
    const struct setting *s;
    const struct reference *a, *b, *old;
    struct reference opa, opb; /* op(A), op(B) */
    tulle_block_cuts m, k, n;
};

static struct reference operated(const struct reference *r, tulle_op op)
{
    int64_t m = op == TULLE_OP_T ? r->n : r->m, n = op == TULLE_OP_T ? r->m : r->n;
    struct reference x = {m, n, malloc((size_t)(m * n + 1) * sizeof(double)), malloc((size_t)(m * n) + 1)};
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            x.val[i * n + j] = r->val[at(r, op, i, j)];
            x.has[i * n + j] = r->has[at(r, op, i, j)];
        }
    return x;
}

/* Adds the product of blocks (i, k) and (k, j), or skips it. */
static void add_product(const struct factors *f, int64_t i, int64_t k, int64_t j, double least, struct reference *c,
    char *has, struct counts *counts)
{
    const struct reference *a = &f->opa, *b = &f->opb;
    if (!a->has[f->m.cut[i] * a->n + f->k.cut[k]] || !b->has[f->k.cut[k] * b->n + f->n.cut[j]]) return;
    if (least > 0 && squared_norm(a, f->m, f->k, i, k) * squared_norm(b, f->k, f->n, k, j) < least) {
        counts->skipped++;
        return;
    }
    *has = 1;
    for (int64_t x = f->m.cut[i]; x < f->m.cut[i + 1]; x++)
        for (int64_t y = f->n.cut[j]; y < f->n.cut[j + 1]; y++)
            for (int64_t z = f->k.cut[k]; z < f->k.cut[k + 1]; z++)
                c->val[x * c->n + y] += f->s->alpha * a->val[x * a->n + z] * b->val[z * b->n + y];
}

static void make_block(
    const struct factors *f, int64_t i, int64_t j, double least, struct reference *c, struct counts *counts)
{
    const struct setting *s = f->s;
    int keep = s->options.keep_pattern, old = f->old->has[f->m.cut[i] * c->n + f->n.cut[j]];
    char has = 0;
    struct reference sum = {c->m, c->n, calloc((size_t)(c->m * c->n) + 1, sizeof(double)), NULL};
    for (int64_t k = 0; k < f->k.count; k++) add_product(f, i, k, j, least, &sum, &has, counts);
    has = (char)(has | (old && (s->beta != 0 || keep)));
    if (keep && !old) has = 0;
    for (int64_t x = f->m.cut[i]; x < f->m.cut[i + 1]; x++)
        for (int64_t y = f->n.cut[j]; y < f->n.cut[j + 1]; y++)
            if (s->beta != 0 && old) sum.val[x * c->n + y] += s->beta * f->old->val[x * c->n + y];
    if (has && !keep && s->options.filter > 0 &&
        squared_norm(&sum, f->m, f->n, i, j) < s->options.filter * s->options.filter) {
        counts->filtered++;
        has = 0;
    }
    for (int64_t x = f->m.cut[i]; x < f->m.cut[i + 1]; x++)
        for (int64_t y = f->n.cut[j]; y < f->n.cut[j + 1]; y++) {
            c->has[x * c->n + y] = has;
            c->val[x * c->n + y] = has ? sum.val[x * c->n + y] : 0;
        }
    free_reference(&sum);
}

static struct reference product(struct factors *f, struct counts *counts)
{
    const struct setting *s = f->s;
    struct reference c = {
        s->m, s->n, calloc((size_t)(s->m * s->n) + 1, sizeof(double)), calloc((size_t)(s->m * s->n) + 1, 1)};
    f->opa = operated(f->a, s->options.op_a);
    f->opb = operated(f->b, s->options.op_b);
    *counts = (struct counts){0, 0};
    for (int64_t i = 0; i < f->m.count; i++) {
        double blocks = 0, share = 0;
        for (int64_t k = 0; k < f->k.count; k++) blocks += f->opa.has[f->m.cut[i] * s->k + f->k.cut[k]];
        if (s->options.filter > 0) share = s->options.filter / ((blocks > 0 ? blocks : 1) * fabs(s->alpha));
        for (int64_t j = 0; j < f->n.count; j++) make_block(f, i, j, share * share, &c, counts);
    }
    free_reference(&f->opa);
    free_reference(&f->opb);
    return c;
}

/* C by its elements, and its norms. */
static tulle_status compare_blocks(tulle_mat *C, const struct reference *want)
{
    tulle_mat *S = NULL;
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(C);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(C))) continue;
            TULLE_TRY(tulle_mat_tile(C, i, j, &t));
            if (t.blocks && t.offset[t.blocks] != t.nnz) status = tulle__fail(TULLE_ERR_CHECK, "offsets do not end");
            for (int64_t e = 0; e < t.blocks; e++) {
                double sum = 0;
                for (int64_t v = t.offset[e]; v < t.offset[e + 1]; v++) {
                    double x = t.type == TULLE_F32 ? (double)((const float *)t.val)[v] : ((const double *)t.val)[v];
                    sum += x * x;
                }
                if (sum != t.norm[e]) status = tulle__fail(TULLE_ERR_CHECK, "a norm is %g, not %g", t.norm[e], sum);
            }
        }
    TULLE_TRY(tulle_comm_agree(tulle_mat_comm(C), status));
    TULLE_TRY(tulle_mat_to_csr(C, false, &S));
    TULLE_TRY(compare(S, want));
out:
    tulle_mat_free(S);
    return status;
}

static tulle_status into_blocks(tulle_comm *comm, const struct reference *r, const struct setting *s, tulle_kind kind,
    const tulle_layout *layout, tulle_mat **X)
{
    tulle_mat *S = NULL;
    tulle_status status = distribute(comm, r, layout, s->type, &S);
    if (status == TULLE_OK)
        status = kind == TULLE_BSR ? tulle_mat_to_bsr(S, s->block, s->block, X) : tulle_mat_to_vbsr(S, layout, X);
    tulle_mat_free(S);
    return status;
}

/* All columns at once, or range by range: these add up. */
static tulle_status execute(tulle_product *plan, tulle_mat *C, const struct factors *f, const struct reference *want,
    tulle_product_report *report)
{
    tulle_status status;
    double error;
    int64_t entries = 0, wanted = 0;
    tulle_columns columns = {.last = false};
    tulle_product_report one;
    if (tulle_product_phases(plan) == 1) {
        TULLE_TRY(tulle_product_execute(plan, f->s->alpha, f->s->beta, report));
        TULLE_TRY(compare_blocks(C, want));
        if (f->s->beta == 0) TULLE_TRY(tulle_product_check(plan, &error));
        return status;
    }
    *report = (tulle_product_report){.seconds = 0};
    while (!columns.last) {
        TULLE_TRY(tulle_product_next(plan, f->s->alpha, &columns, &one));
        TULLE_TRY(tulle_product_check(plan, &error));
        tulle_product_report_add(report, &one);
        entries += tulle_mat_nnz(C);
    }
    for (int64_t e = 0; e < want->m * want->n; e++) wanted += want->has[e];
    if (entries != wanted)
        status = tulle__fail(TULLE_ERR_CHECK, "ranges give %d entries instead of %d", (int)entries, (int)wanted);
out:
    return status;
}

static tulle_status check_counts(
    const struct setting *s, const tulle_product_report *report, const struct counts *counts, int turn)
{
    const char *alg = tulle_product_alg_name(s->options.alg);
    int fixed = !device && s->options.filter <= 0 && !s->options.keep_pattern && s->beta == 0 &&
                s->options.phases < 2 && s->options.alg != TULLE_PRODUCT_AUTO && strncmp(alg, "steal", 5) != 0;
    if (report->skipped_products != counts->skipped || report->filtered_blocks != counts->filtered)
        return tulle__fail(TULLE_ERR_CHECK, "%d products skipped, not %d; %d blocks filtered, not %d",
            (int)report->skipped_products, (int)counts->skipped, (int)report->filtered_blocks, (int)counts->filtered);
    if (fixed && report->reused != (turn > 0))
        return tulle__fail(
            TULLE_ERR_CHECK, "execution %d: symbolic work was %s", turn, report->reused ? "left out" : "done");
    return TULLE_OK;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    const struct setting *s = arg;
    tulle_status status;
    tulle_gidx workspace[3][MOST + 1];
    int ta = s->options.op_a == TULLE_OP_T, tb = s->options.op_b == TULLE_OP_T;
    tulle_block_cuts m = cuts_of(s->m, s, 1, workspace[0]), k = cuts_of(s->k, s, 2, workspace[1]),
                     n = cuts_of(s->n, s, 3, workspace[2]);
    struct reference a = make_reference(ta ? s->k : s->m, ta ? s->m : s->k, s->shape, 3),
                     b = make_reference(tb ? s->n : s->k, tb ? s->k : s->n, s->shape_b, 4),
                     c = make_reference(s->m, s->n, RANDOM, 5), want = {0};
    struct factors f = {.s = s, .a = &a, .b = &b, .old = &c, .m = m, .k = k, .n = n};
    struct counts counts;
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    fill_blocks(a.has, a.n, ta ? k : m, ta ? m : k);
    fill_blocks(b.has, b.n, tb ? n : k, tb ? k : n);
    for (int64_t e = 0; e < c.m * c.n; e++) c.has[e] &= e % 3 == 0;
    fill_blocks(c.has, c.n, m, n);
    TULLE_TRY(layout_of(comm, s->tiles, ta ? k : m, ta ? m : k, &la));
    TULLE_TRY(layout_of(comm, s->tiles_b ? s->tiles_b : s->tiles, tb ? n : k, tb ? k : n, &lb));
    TULLE_TRY(into_blocks(comm, &a, s, s->kind, la, &A));
    TULLE_TRY(into_blocks(comm, &b, s, s->kind, lb, &B));
    TULLE_TRY(s->tiles_c ? layout_of(comm, s->tiles_c, m, n, &lc)
                         : tulle_product_layout(A, s->options.op_a, B, s->options.op_b, &lc));
    TULLE_TRY(into_blocks(comm, &c, s, TULLE_VBSR, lc, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &s->options, &plan));
    if (s->options.replication > 1 && tulle_product_replication(plan) != s->options.replication)
        status =
            tulle__fail(TULLE_ERR_CHECK, "%d layers, not %d", tulle_product_replication(plan), s->options.replication);
    TULLE_TRY(tulle_comm_agree(comm, status));
    for (int turn = 0; turn < 2; turn++) {
        want = product(&f, &counts);
        TULLE_TRY(execute(plan, C, &f, &want, &report));
        TULLE_TRY(check_counts(s, &report, &counts, turn));
        if (s->beta != 0 || s->options.keep_pattern) break; /* C is no longer what it was */
        free_reference(&want);
        want = (struct reference){0};
        TULLE_TRY(scale_values(A, &a, 2));
        if (s->options.filter > 0) TULLE_TRY(tulle_mat_renew(A)); /* norms */
    }
out:
    tulle_product_free(plan);
    tulle_mat_free(C);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(la);
    tulle_layout_free(lb);
    tulle_layout_free(lc);
    free_reference(&a);
    free_reference(&b);
    free_reference(&c);
    free_reference(&want);
    return status;
}

__attribute__((unused)) static void run_product(tulle_team *team, struct setting s)
{
    s.options.device = device;
    tulle_status status = tulle_team_run(team, body, &s);
    if (status == TULLE_ERR_UNSUPPORTED && s.options.alg == TULLE_PRODUCT_CANNON) return;
    ok(status == TULLE_OK,
        "%s %s%s%s, %d x %d x %d, %s and %s, %s, beta %g, filter %g%s%s, %d layers, cuts %d %d %d: %s",
        tulle_kind_name(s.kind), tulle_product_alg_name(s.options.alg), s.options.op_a ? " A^T" : "",
        s.options.op_b ? " B^T" : "", (int)s.m, (int)s.k, (int)s.n, shape_names[s.shape], shape_names[s.shape_b],
        tulle_type_name(s.type), s.beta, s.options.filter, s.options.keep_pattern ? ", pattern kept" : "",
        s.options.deterministic ? ", deterministic" : "", s.options.replication, s.tiles, s.tiles_b, s.tiles_c,
        status == TULLE_OK ? "right" : tulle_error_message());
}

#endif
