/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The product of block-cyclic matrices, as a product of tiles in an order of indices of its own.
 *
 * Rows of C are ordered by the grid row that owns them, and in each by their places in its array.
 * Columns likewise. So each PE has one tile of C: its array, in place. Inner indices are ordered by
 * class: the pair of the parts that own them in op(A) and in op(B). A class is a tile column of A'
 * and a tile row of B'. Tile (p, class) of A' belongs to the PE in grid row p of C that owns the
 * class in op(A), tile (class, q) of B' to the PE in grid column q that owns it in op(B).
 *
 * Hence an element moves before the product only if its row (of A) or column (of B) belongs to
 * another part of the grid than that of C, or if the operand is transposed. Distributions alike need
 * copies on the same PE: of A into classes that others can read, the same of B. One PE has one
 * class, and multiplies the caller's arrays.
 *
 * Inner indices are summed class by class, so bits depend on the distribution, but not on timing.
 */
#include <inttypes.h>

#include <tulle/product.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/context.h"
#include "mat/cyclic/cyclic_copy.h"
#include "mat/cyclic/cyclic_window.h"

struct operand {
    const tulle_cyclic_part *part;
    tulle_op op;
    const void *val;
    tulle__cyclic_axis outer, inner; /* of rows and columns of op(A), or of columns and rows of op(B) */
    tulle_gidx outer_first, inner_first;
    tulle_gidx outer_n, inner_n;
    tulle_mat *mat; /* A' or B' */
};

/* is_b: the inner index is that of rows of op(B), not of columns of op(A). */
static struct operand operand_of(const tulle_cyclic_part *part, tulle_op op, const void *val, int is_b)
{
    const tulle_cyclic *x = part->cyclic;
    struct operand o = {.part = part, .op = op, .val = val};
    int inner_is_rows = is_b == (op == TULLE_OP_N);
    o.inner = inner_is_rows ? tulle__axis_rows(x) : tulle__axis_cols(x);
    o.outer = inner_is_rows ? tulle__axis_cols(x) : tulle__axis_rows(x);
    o.inner_first = inner_is_rows ? part->row : part->col;
    o.outer_first = inner_is_rows ? part->col : part->row;
    o.inner_n = inner_is_rows ? part->m : part->n;
    o.outer_n = inner_is_rows ? part->n : part->m;
    return o;
}

struct gemm {
    tulle_comm *comm;
    tulle_type type;
    struct operand a, b;
    const tulle_cyclic_part *c;
    void *C;                         /* the first own element of the part; NULL: none */
    tulle__cyclic_axis rows, cols;   /* of C */
    tulle__spans row_map, col_map;   /* of C's rows and columns */
    tulle__spans inner_map;          /* by class */
    tulle_gidx *row_cut, *col_cut;   /* [parts + 1] */
    tulle_gidx *class_cut;           /* [classes + 1]: of those that have indices */
    int *class_a, *class_b, classes; /* the parts that own each class */
    tulle_mat *result;               /* C' */
};

/* ---- arguments ---- */

static tulle_status check_shapes(const struct gemm *g)
{
    const struct operand *a = &g->a, *b = &g->b;
    if (a->outer_n == g->c->m && b->outer_n == g->c->n && a->inner_n == b->inner_n) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "shapes do not fit: op(A) is %" PRId64 " x %" PRId64 ", op(B) %" PRId64 " x %" PRId64 ", C %" PRId64
        " x %" PRId64,
        a->outer_n, a->inner_n, b->inner_n, b->outer_n, g->c->m, g->c->n);
}

static tulle_status check_overlap(const struct gemm *g, const void *C)
{
    size_t size = tulle_type_size(g->type);
    tulle__window c = tulle__window_of(g->c, C, size, g->comm->rank);
    for (int o = 0; o < 2; o++) {
        const struct operand *x = o ? &g->b : &g->a;
        tulle__window w = tulle__window_of(x->part, x->val, size, g->comm->rank);
        if (tulle__windows_overlap(&c, &w))
            return tulle__fail(
                TULLE_ERR_ARG, "C and %c have elements in common on PE %d", o ? 'B' : 'A', g->comm->rank);
    }
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status check(const char *function, const struct gemm *g, const void *C)
{
    const tulle_cyclic_part *const parts[] = {g->a.part, g->b.part, g->c};
    tulle_status status;
    TULLE_TRY(tulle__wants_values(g->comm, "a product of block-cyclic matrices"));
    int rank = g->comm->rank, npes = g->comm->size;
    TULLE_TRY(tulle__cyclic_check(function, g->a.part, "A", npes, rank, g->a.val));
    TULLE_TRY(tulle__cyclic_check(function, g->b.part, "B", npes, rank, g->b.val));
    TULLE_TRY(tulle__cyclic_check(function, g->c, "C", npes, rank, C));
    TULLE_TRY(check_shapes(g));
    TULLE_TRY(check_overlap(g, C));
    TULLE_TRY(tulle__cyclic_same(g->comm, 3, parts));
out:
    return tulle_comm_agree(g->comm, status);
}

/* ---- the order of indices ---- */

static tulle_status order_indices(struct gemm *g)
{
    const tulle__cyclic_axis *a = &g->a.inner, *b = &g->b.inner;
    int classes = a->parts * b->parts;
    tulle_gidx k = g->a.inner_n;
    TULLE_CALL(tulle__alloc((size_t)g->rows.parts + 1, sizeof *g->row_cut, "cuts", &g->row_cut));
    TULLE_CALL(tulle__alloc((size_t)g->cols.parts + 1, sizeof *g->col_cut, "cuts", &g->col_cut));
    TULLE_CALL(tulle__alloc((size_t)classes + 1, sizeof *g->class_cut, "cuts", &g->class_cut));
    TULLE_CALL(tulle__alloc((size_t)classes, sizeof *g->class_a, "classes of indices", &g->class_a));
    TULLE_CALL(tulle__alloc((size_t)classes, sizeof *g->class_b, "classes of indices", &g->class_b));
    TULLE_CALL(tulle__spans_by_part(&g->rows, g->c->row, g->c->m, &g->row_map, g->row_cut));
    TULLE_CALL(tulle__spans_by_part(&g->cols, g->c->col, g->c->n, &g->col_map, g->col_cut));
    TULLE_CALL(tulle__spans_by_class(a, g->a.inner_first, b, g->b.inner_first, k, &g->inner_map, g->class_cut));
    for (int c = 0; c < classes; c++) {
        if (g->class_cut[c] == g->class_cut[c + 1]) continue;
        g->class_a[g->classes] = c / b->parts;
        g->class_b[g->classes] = c % b->parts;
        g->class_cut[g->classes++] = g->class_cut[c];
    }
    g->class_cut[g->classes] = k;
    return TULLE_OK;
}

/* ---- the three matrices ---- */

/* The part of a grid of `parts` that has the role of part `from` of `of` parts. */
static int scaled_part(int from, int of, int parts)
{
    return (int)((int64_t)from * parts / of);
}

static tulle_status layout_of(struct gemm *g, int which, tulle_layout **layout)
{
    const tulle_cyclic *grid = g->c->cyclic;
    int P = g->rows.parts, Q = g->cols.parts, K = g->classes, mt = which == 'B' ? K : P, nt = which == 'A' ? K : Q;
    TULLE__SCOPED int *owner = NULL;
    TULLE_CALL(tulle__alloc((size_t)mt * (size_t)nt, sizeof *owner, "owners", &owner));
    for (int i = 0; i < mt; i++)
        for (int j = 0; j < nt; j++) {
            int p = which == 'B' ? scaled_part(g->class_b[i], g->b.inner.parts, P) : i;
            int q = which == 'A' ? scaled_part(g->class_a[j], g->a.inner.parts, Q) : j;
            owner[(size_t)i * (size_t)nt + (size_t)j] = tulle__cyclic_rank(grid, p, q);
        }
    tulle_layout_spec spec = {.m = which == 'B' ? g->a.inner_n : g->c->m,
        .n = which == 'A' ? g->a.inner_n : g->c->n,
        .tile_rows = mt,
        .tile_cols = nt,
        .row_cut = which == 'B' ? g->class_cut : g->row_cut,
        .col_cut = which == 'A' ? g->class_cut : g->col_cut,
        .owner = owner};
    return tulle_layout_new(&spec, g->comm->size, layout);
}

/* Maps this PE's elements of an operand to A' or B'. */
static tulle_status map_operand(const struct gemm *g, const struct operand *o, tulle__cyclic_map *map)
{
    const tulle_layout *l = o->mat->layout;
    int is_b = o == &g->b, transposed = o->op == TULLE_OP_T, p, q;
    *map = (tulle__cyclic_map){.mat = o->mat, .transposed = transposed, .ld = o->part->ld};
    if (!tulle__cyclic_position(o->part->cyclic, g->comm->rank, &p, &q)) return TULLE_OK;
    int inner_is_rows = is_b != transposed;
    tulle__spans *inner = inner_is_rows ? &map->rows : &map->cols, *outer = inner_is_rows ? &map->cols : &map->rows;
    const tulle_gidx *inner_cut = is_b ? l->row_cut : l->col_cut, *outer_cut = is_b ? l->col_cut : l->row_cut;
    TULLE_CALL(tulle__spans_of_part(&o->inner, inner_is_rows ? p : q, o->inner_first, o->inner_n, &g->inner_map,
        inner_cut, is_b ? l->mt : l->nt, inner));
    return tulle__spans_of_part(&o->outer, inner_is_rows ? q : p, o->outer_first, o->outer_n,
        is_b ? &g->col_map : &g->row_map, outer_cut, is_b ? l->nt : l->mt, outer);
}

static tulle_status put_operand(struct gemm *g, struct operand *o)
{
    TULLE__SCOPED_BY(tulle__cyclic_map_fini) tulle__cyclic_map map = {.mat = NULL};
    TULLE_CALL(map_operand(g, o, &map));
    return tulle__cyclic_put(&map, o->val);
}

/* Makes A' or B' with its elements. Collective, agreed. */
static tulle_status make_operand(struct gemm *g, struct operand *o)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    tulle_order order = o->op == TULLE_OP_T ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR;
    TULLE_CALL(tulle_comm_agree(g->comm, layout_of(g, o == &g->b ? 'B' : 'A', &layout)));
    if (g->comm->size == 1) { /* the caller's array is A' already, and is only read */
        tulle__window w = tulle__window_of(o->part, o->val, tulle_type_size(g->type), 0);
        const tulle_tile tile = {
            .kind = TULLE_DENSE, .type = g->type, .order = order, .ld = o->part->ld, .val = w.first};
        return tulle__mat_borrow(g->comm, layout, &tile, &o->mat);
    }
    TULLE_CALL(tulle_mat_new_dense_undefined(g->comm, layout, g->type, order, &o->mat));
    return tulle_comm_agree(g->comm, put_operand(g, o));
}

static tulle_status borrow_result(struct gemm *g)
{
    TULLE__SCOPED_LAYOUT tulle_layout *layout = NULL;
    const tulle_tile tile = {
        .kind = TULLE_DENSE, .type = g->type, .order = TULLE_COL_MAJOR, .ld = g->c->ld, .val = g->C};
    TULLE_CALL(layout_of(g, 'C', &layout));
    return tulle__mat_borrow(g->comm, layout, &tile, &g->result);
}

static void drop(struct gemm *g)
{
    tulle__mat_drop(g->a.mat);
    tulle__mat_drop(g->b.mat);
    tulle__mat_drop(g->result);
    tulle__spans_fini(&g->row_map);
    tulle__spans_fini(&g->col_map);
    tulle__spans_fini(&g->inner_map);
    tulle__free(g->row_cut);
    tulle__free(g->col_cut);
    tulle__free(g->class_cut);
    tulle__free(g->class_a);
    tulle__free(g->class_b);
}

/* Collective, agreed: no PE reads another's tiles after it. */
static tulle_status multiply(struct gemm *g, double alpha, double beta, tulle_product_report *out)
{
    tulle_product_report report; /* made by all PEs together, even if some have no use for it */
    tulle_product *plan = NULL;
    tulle_product_options options = {.size = sizeof options, .alg = TULLE_PRODUCT_STATIONARY_C, .deterministic = true};
    tulle_status status;
    TULLE_TRY(tulle_comm_agree(g->comm, order_indices(g)));
    TULLE_TRY(make_operand(g, &g->a));
    TULLE_TRY(make_operand(g, &g->b));
    TULLE_TRY(tulle_comm_agree(g->comm, borrow_result(g)));
    TULLE_TRY(tulle_product_new(g->a.mat, g->b.mat, g->result, &options, &plan));
    TULLE_TRY(tulle_product_execute(plan, alpha, beta, &report));
    if (out) *out = report;
out:
    tulle_product_free(plan);
    return status;
}

/* C = beta C of this PE's elements; C is not read if beta is 0. */
static tulle_status scale(struct gemm *g, const tulle__window *w, double beta)
{
    tulle__context *context;
    tulle_status status = TULLE_OK;
    if (g->C && beta != 1) status = tulle__context_get(g->comm, &context);
    if (g->C && beta != 1 && status == TULLE_OK)
        status = context->kernels->scale(context->pool, g->type, w->cols, w->rows, g->c->ld, beta, g->C);
    return tulle_comm_agree(g->comm, status);
}

tulle_status tulle_gemm_cyclic(tulle_comm *comm, tulle_type type, tulle_op op_a, const tulle_cyclic_part *a,
    const void *A, tulle_op op_b, const tulle_cyclic_part *b, const void *B, double alpha, double beta,
    const tulle_cyclic_part *c, void *C, tulle_product_report *report)
{
    if (TULLE__NULL(comm) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__OUTSIDE(op_a, TULLE_OP_T) ||
        TULLE__NULL(a) || TULLE__NULL_AS(a->cyclic, "a") || TULLE__OUTSIDE(op_b, TULLE_OP_T) || TULLE__NULL(b) ||
        TULLE__NULL_AS(b->cyclic, "b") || TULLE__NULL(c) || TULLE__NULL_AS(c->cyclic, "c"))
        return tulle__refuse(comm);
    struct gemm g = {.comm = comm,
        .type = type,
        .a = operand_of(a, op_a, A, 0),
        .b = operand_of(b, op_b, B, 1),
        .c = c,
        .rows = tulle__axis_rows(c->cyclic),
        .cols = tulle__axis_cols(c->cyclic)};
    TULLE_CALL(check(__func__, &g, C));
    if (report) *report = (tulle_product_report){.seconds = 0};
    tulle__window w = tulle__window_of(c, C, tulle_type_size(type), comm->rank);
    g.C = (void *)(uintptr_t)w.first;
    if (!c->m || !c->n) return TULLE_OK;
    tulle_status status = alpha == 0 || !g.a.inner_n ? scale(&g, &w, beta) : multiply(&g, alpha, beta, report);
    drop(&g);
    return status;
}
