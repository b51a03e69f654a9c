/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of two matrices of blocks against a product by its definition, block by block: values are small integers,
 * so that sums are exact and norms decide alike. Every algorithm, transposes, alpha and beta, filters with their
 * counts, a pattern that is kept, ranges of columns, new values and new structures in one plan; also on devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/algebra.h>
#include <tulle/device.h>

#include "body.h"
#include "reference.h"
#include "tap.h"

enum { MOST = 96 };

static const char *device; /* that multiplies; NULL: the host */

struct setting {
    int64_t m, k, n;
    enum shape shape, shape_b;
    tulle_kind kind; /* of A and B */
    tulle_type type;
    int tiles, block; /* block: of BSR; the most of VBSR */
    double alpha, beta;
    tulle_product_options options;
};

struct counts {
    int64_t skipped, filtered;
};

/* Cuts of [0, n) into blocks of 1 to `most`; of exactly that for BSR. */
static tulle_block_cuts cuts_of(int64_t n, const struct setting *s, uint64_t seed, tulle_gidx *room)
{
    tulle_gidx count = 0;
    room[0] = 0;
    while (room[count] < n) {
        uint64_t drawn = tulle__random_at(seed, 2, (uint64_t)count) % (uint64_t)s->block;
        tulle_gidx size = s->kind == TULLE_BSR ? s->block : 1 + (tulle_gidx)drawn;
        room[count + 1] = room[count] + size < n ? room[count] + size : n;
        count++;
    }
    return (tulle_block_cuts){count, room};
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

/* All elements of a block with an entry are entries. */
static void fill_blocks(struct reference *r, tulle_block_cuts row, tulle_block_cuts col)
{
    for (tulle_gidx i = 0; i < row.count; i++)
        for (tulle_gidx j = 0; j < col.count; j++) {
            int any = 0;
            for (int64_t x = row.cut[i]; x < row.cut[i + 1]; x++)
                for (int64_t y = col.cut[j]; y < col.cut[j + 1]; y++) any |= r->has[x * r->n + y];
            for (int64_t x = row.cut[i]; x < row.cut[i + 1]; x++)
                for (int64_t y = col.cut[j]; y < col.cut[j + 1]; y++) r->has[x * r->n + y] = (char)any;
        }
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
    tulle_gidx room[3][MOST + 1];
    int ta = s->options.op_a == TULLE_OP_T, tb = s->options.op_b == TULLE_OP_T;
    tulle_block_cuts m = cuts_of(s->m, s, 1, room[0]), k = cuts_of(s->k, s, 2, room[1]),
                     n = cuts_of(s->n, s, 3, room[2]);
    struct reference a = make_reference(ta ? s->k : s->m, ta ? s->m : s->k, s->shape, 3),
                     b = make_reference(tb ? s->n : s->k, tb ? s->k : s->n, s->shape_b, 4),
                     c = make_reference(s->m, s->n, RANDOM, 5), want = {0};
    struct factors f = {.s = s, .a = &a, .b = &b, .old = &c, .m = m, .k = k, .n = n};
    struct counts counts;
    tulle_layout *la = NULL, *lb = NULL, *lc = NULL;
    tulle_mat *A = NULL, *B = NULL, *C = NULL;
    tulle_product *plan = NULL;
    tulle_product_report report;
    fill_blocks(&a, ta ? k : m, ta ? m : k);
    fill_blocks(&b, tb ? n : k, tb ? k : n);
    for (int64_t e = 0; e < c.m * c.n; e++) c.has[e] &= e % 3 == 0;
    fill_blocks(&c, m, n);
    TULLE_TRY(layout_of(comm, s->tiles, ta ? k : m, ta ? m : k, &la));
    TULLE_TRY(layout_of(comm, s->tiles, tb ? n : k, tb ? k : n, &lb));
    TULLE_TRY(into_blocks(comm, &a, s, s->kind, la, &A));
    TULLE_TRY(into_blocks(comm, &b, s, s->kind, lb, &B));
    TULLE_TRY(tulle_product_layout(A, s->options.op_a, B, s->options.op_b, &lc));
    TULLE_TRY(into_blocks(comm, &c, s, TULLE_VBSR, lc, &C));
    TULLE_TRY(tulle_product_new(A, B, C, &s->options, &plan));
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

static void run(tulle_team *team, struct setting s)
{
    s.options.device = device;
    tulle_status status = tulle_team_run(team, body, &s);
    if (status == TULLE_ERR_UNSUPPORTED && s.options.alg == TULLE_PRODUCT_CANNON) return;
    ok(status == TULLE_OK, "%s %s%s%s, %d x %d x %d, %s and %s, %s, beta %g, filter %g%s%s: %s",
        tulle_kind_name(s.kind), tulle_product_alg_name(s.options.alg), s.options.op_a ? " A^T" : "",
        s.options.op_b ? " B^T" : "", (int)s.m, (int)s.k, (int)s.n, shape_names[s.shape], shape_names[s.shape_b],
        tulle_type_name(s.type), s.beta, s.options.filter, s.options.keep_pattern ? ", pattern kept" : "",
        s.options.deterministic ? ", deterministic" : "", status == TULLE_OK ? "right" : tulle_error_message());
}

/* What a product refuses, with a message. */
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
    refused = tulle_product_new(V, W, C, NULL, &plan);
    ok(refused == TULLE_ERR_ARG, "inner cuts differ: %s", tulle_error_message());
    refused = tulle_product_new(W, W, C, NULL, &plan);
    ok(refused == TULLE_ERR_ARG, "C's cuts differ: %s", tulle_error_message());
    refused = tulle_product_new(V, V, A, NULL, &plan);
    ok(refused == TULLE_ERR_ARG, "C is csr: %s", tulle_error_message());
    refused = tulle_product_new(V, A, C, NULL, &plan);
    ok(refused == TULLE_ERR_UNSUPPORTED, "B is csr: %s", tulle_error_message());
    refused = tulle_product_new(V, V, C, &negative, &plan);
    ok(refused == TULLE_ERR_ARG, "a filter below 0: %s", tulle_error_message());
    refused = tulle_product_new(V, V, C, &nan, &plan);
    ok(refused == TULLE_ERR_ARG, "a filter that is no number: %s", tulle_error_message());
    refused = tulle_product_new(V, V, C, &ranges, &plan);
    ok(refused == TULLE_ERR_ARG, "a pattern in ranges: %s", tulle_error_message());
    refused = tulle_product_new(S, S, C, &some, &plan);
    ok(refused == TULLE_ERR_ARG || refused == TULLE_ERR_UNSUPPORTED, "a filter for bsr: %s", tulle_error_message());
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
    tulle_gidx room[2][MOST + 1];
    tulle_block_cuts m = cuts_of(50, &s, 1, room[0]), n = cuts_of(40, &s, 2, room[1]);
    struct reference a = make_reference(50, 40, RANDOM, 3);
    tulle_layout *l = NULL;
    tulle_mat *A = NULL;
    double norm = 0;
    fill_blocks(&a, m, n);
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
    tulle_gidx room[MOST + 1];
    tulle_block_cuts cuts = cuts_of(30, &s, 1, room);
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
            run(team, s);
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
            run(team, s);
        }
    s.shape = s.shape_b = RANDOM;
    for (int ops = 1; ops < 4; ops++)
        for (int filter = 0; filter < 2; filter++) {
            s.options = (tulle_product_options){.op_a = ops & 1 ? TULLE_OP_T : TULLE_OP_N,
                .op_b = ops & 2 ? TULLE_OP_T : TULLE_OP_N,
                .filter = filter ? 40 : 0};
            s.type = ops == 3 ? TULLE_F32 : TULLE_F64;
            s.alpha = -2;
            run(team, s);
        }
    s.type = TULLE_F32;
    s.alpha = 1;
    for (int phases = 2; phases < 6; phases += 3)
        for (int filter = 0; filter < 2; filter++) {
            s.options = (tulle_product_options){.phases = phases, .filter = filter ? 40 : 0};
            run(team, s);
        }
    s.type = TULLE_F64;
    s.kind = TULLE_BSR;
    s.block = 4;
    for (int alg = TULLE_PRODUCT_STATIONARY_C; alg < TULLE_PRODUCT_ALG_COUNT; alg++) {
        s.options = (tulle_product_options){.alg = (tulle_product_alg)alg};
        run(team, s);
    }
    s.kind = TULLE_VBSR;
    s.block = 40; /* fewer blocks than tiles */
    s.m = 70;
    s.n = 1;
    s.tiles = 5;
    s.options = (tulle_product_options){.alg = TULLE_PRODUCT_STEAL_LOCAL_C};
    run(team, s);
    s.m = 3;
    s.n = 90;
    run(team, s);
    ok(tulle_team_run(team, drops, NULL) == TULLE_OK, "small blocks are removed: %s", tulle_error_message());
    ok(tulle_team_run(team, nans, NULL) == TULLE_OK, "NaN stays: %s", tulle_error_message());
    ok(tulle_team_run(team, refusals, NULL) == TULLE_OK, "refusals: %s", tulle_error_message());
    tulle_team_free(team);
    return tap_done();
}
