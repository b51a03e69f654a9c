/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/gram.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "algo/krylov/space.h"
#include "base/bisect.h"
#include "base/error.h"
#include "tile/element.h"

enum {
    WIDE = 32,
    NARROW = 8,  /* columns of X that a thread takes */
    ITEMS = 16,  /* of a piece, about */
    ROWS = 1024, /* of Y that a thread takes */
};

/* ---- vectors ---- */

/* n x 1, cut evenly at multiples of the block of sums. Collective, agreed. */
static tulle_status make_layout(tulle__gram *g, tulle_gidx n)
{
    const int64_t block = tulle__space_block(n);
    const int pes = g->comm->size;
    TULLE__SCOPED tulle_gidx *cut = NULL;
    TULLE__SCOPED int *owner = NULL;
    tulle_status status = tulle__alloc((size_t)pes + 1, sizeof *cut, "cuts", &cut);
    if (status == TULLE_OK) status = tulle__alloc((size_t)pes, sizeof *owner, "owners", &owner);
    if (status == TULLE_OK) {
        for (int k = 0; k < pes; k++) owner[k] = k;
        tulle_cuts_even(n, pes, cut);
        for (int k = 1; k < pes; k++) {
            cut[k] = (cut[k] + block / 2) / block * block;
            if (cut[k] > n) cut[k] = n;
        }
        const tulle_layout_spec spec = {
            .m = n, .n = 1, .tile_rows = pes, .tile_cols = 1, .row_cut = cut, .owner = owner};
        status = tulle_layout_new(&spec, pes, &g->layout);
    }
    TULLE_CALL(tulle_comm_agree(g->comm, status));
    g->first = cut[g->comm->rank];
    g->count = cut[g->comm->rank + 1] - g->first;
    return TULLE_OK;
}

static int64_t longest_part(const tulle__gram *g)
{
    int64_t most = 0;
    for (int i = 0; i < g->layout->mt; i++) {
        const int64_t rows = g->layout->row_cut[i + 1] - g->layout->row_cut[i];
        if (rows > most) most = rows;
    }
    return most;
}

/* All rows of D X in order; X: own rows, `width` columns. Collective, agreed. */
static tulle_status gather(tulle__gram *g, const void *X, int width, const void **all)
{
    const tulle_type type = g->rows->type;
    const tulle_gidx n = g->rows->n;
    const size_t line = (size_t)width * tulle_type_size(type), part = (size_t)longest_part(g) * line;
    *all = X;
    if (g->comm->size > 1) {
        if (g->count) memcpy(g->mine, X, (size_t)g->count * line);
        TULLE_CALL(tulle_comm_agree(g->comm, tulle_comm_allgather(g->comm, g->mine, part, g->all)));
        for (int pe = 0; pe < g->comm->size; pe++) {
            const tulle_gidx from = g->layout->row_cut[pe], to = g->layout->row_cut[pe + 1];
            memcpy((char *)g->whole + (size_t)from * line, (const char *)g->all + (size_t)pe * part,
                (size_t)(to - from) * line);
        }
        *all = g->whole;
    }
    if (!g->factor && g->unit == 1) return TULLE_OK;
    for (tulle_gidx r = 0; r < n; r++) {
        const double by = g->factor ? g->unit * g->factor[r] : g->unit;
        for (int c = 0; c < width; c++)
            tulle__element_set(type, g->whole, r * width + c, tulle__element(type, *all, r * width + c) * by);
    }
    *all = g->whole;
    return TULLE_OK;
}

/* ---- a piece ---- */

struct pass {
    tulle__gram *g;
    const tulle__row_piece *piece;
    const void *X;
    int width, slices, group, groups;
    atomic_int_fast64_t next;
};

/*
 * Slices whose sums are no more than the entries, and columns of a group, narrow where there are few slices: they
 * follow from sizes alone.
 */
static void set_shares(struct pass *pass)
{
    const tulle__row_passes *rows = pass->g->rows;
    const int wide = (pass->width + WIDE - 1) / WIDE, most = (ITEMS + wide - 1) / wide;
    const int64_t worth = rows->entries / (rows->n + 1);
    pass->slices = worth < 1 ? 1 : worth < most ? (int)worth : most;
    pass->group = pass->slices < most ? NARROW : WIDE;
    pass->groups = (pass->width + pass->group - 1) / pass->group;
}

/* The first row of slice s of a piece: equal numbers of entries, and of rows where there are none. */
static int64_t slice_at(const tulle__row_piece *piece, int s, int slices)
{
    const int64_t entries = piece->ptr[piece->rows] - piece->ptr[0], wanted = piece->ptr[0] + entries * s / slices;
    int64_t low = 0, high = piece->rows;
    if (s == 0 || s == slices) return s ? piece->rows : 0;
    if (!entries) return piece->rows * s / slices;
    TULLE__PARTITION_POINT(low, high, middle, piece->ptr[middle] < wanted);
    return low;
}

static void multiply(const struct pass *pass, int slice, int group)
{
    const tulle__gram *g = pass->g;
    const tulle__row_piece *piece = pass->piece;
    const size_t size = tulle_type_size(g->rows->type);
    const int64_t begin = slice_at(piece, slice, pass->slices), end = slice_at(piece, slice + 1, pass->slices);
    const int64_t at = piece->ptr[begin] - piece->ptr[0], column = (int64_t)group * pass->group;
    char *sums = (char *)g->parts + (size_t)slice * (size_t)(g->rows->n + 1) * (size_t)pass->width * size;
    const size_t skip = (size_t)column * size;
    char *Z = g->Z ? (char *)g->Z + (size_t)((piece->first - g->rows->first + begin) * g->ldz) * size + skip : NULL;
    g->context->kernels->gram(&(tulle__gram_task){.values = g->rows->values,
        .type = g->rows->type,
        .rows = end - begin,
        .n = pass->width - column < pass->group ? pass->width - column : pass->group,
        .ptr = piece->ptr + begin,
        .col = piece->col ? piece->col + at : NULL,
        .val = piece->val ? (const char *)piece->val + (size_t)at * tulle_type_size(g->rows->values) : NULL,
        .X = pass->X ? (const char *)pass->X + skip : NULL,
        .ldx = pass->width,
        .shift = g->mean && pass->X ? (const char *)g->shift + skip : NULL,
        .keep = g->keep ? (const char *)g->keeps + skip : NULL,
        .Z = Z,
        .ldz = g->ldz,
        .Y = sums + skip,
        .ldy = pass->width,
        .total = sums + (size_t)g->rows->n * (size_t)pass->width * size + skip});
}

static tulle_status share(void *arg, int thread, int nthreads)
{
    struct pass *pass = arg;
    (void)thread, (void)nthreads;
    const int64_t items = (int64_t)pass->slices * pass->groups;
    for (int64_t i; (i = tulle__pool_take(pass->g->context->pool, &pass->next, items)) < items;)
        multiply(pass, (int)(i / pass->groups), (int)(i % pass->groups));
    return TULLE_OK;
}

static tulle_status take(void *arg, const tulle__row_piece *piece)
{
    struct pass *pass = arg;
    pass->piece = piece;
    atomic_store(&pass->next, 0);
    return tulle__pool_run(pass->g->context->pool, share, pass);
}

/* ---- products ---- */

/* Room for the sums of slices, set to zero. Local. */
static tulle_status clear(tulle__gram *g, int slices, int width)
{
    const size_t bytes = (size_t)slices * (size_t)(g->rows->n + 1) * (size_t)width * tulle_type_size(g->rows->type);
    if (bytes > g->parts_bytes) {
        tulle__free(g->parts);
        g->parts = NULL;
        g->parts_bytes = 0;
        TULLE_CALL(tulle__alloc(bytes, 1, "sums of slices", &g->parts));
        g->parts_bytes = bytes;
    }
    memset(g->parts, 0, bytes);
    return TULLE_OK;
}

/* shift = mu^T D X */
static void set_shift(tulle__gram *g, const void *X, int width)
{
    const tulle_type type = g->rows->type;
    for (int c = 0; c < width && g->mean; c++) {
        double sum = 0;
        for (tulle_gidx r = 0; r < g->rows->n; r++) sum += g->mean[r] * tulle__element(type, X, r * width + c);
        tulle__element_set(type, g->shift, c, sum);
    }
}

struct sums {
    tulle__gram *g;
    int slices, width;
    void *Y;
};

/* The sums of all slices, of rows begin .. end - 1. */
static void add_slices(void *arg, int64_t begin, int64_t end)
{
    const struct sums *x = arg;
    const tulle__gram *g = x->g;
    const int64_t numbers = (g->rows->n + 1) * x->width;
    for (int64_t i = begin * x->width; i < end * x->width; i++) {
        double sum = 0;
        for (int s = 0; s < x->slices; s++) sum += tulle__element(g->rows->type, g->parts, s * numbers + i);
        g->sums[i] = sum;
    }
}

/* Own rows begin .. end - 1 of Y = D (A^T S X - mu (1^T S X)). */
static void finish_rows(void *arg, int64_t begin, int64_t end)
{
    const struct sums *x = arg;
    const tulle__gram *g = x->g;
    const double *total = g->sums + g->rows->n * x->width;
    for (int64_t r = begin; r < end; r++) {
        const tulle_gidx row = g->first + r;
        for (int c = 0; c < x->width; c++) {
            double y = g->sums[row * x->width + c];
            if (g->mean) y -= g->mean[row] * total[c];
            tulle__element_set(g->rows->type, x->Y, r * x->width + c, g->unit * (g->factor ? y * g->factor[row] : y));
        }
    }
}

/* The sums of all slices and PEs, and Y of them. Collective, agreed. */
static tulle_status collect(tulle__gram *g, int slices, int width, void *Y)
{
    enum { AT_ONCE = 1 << 20 };
    const int64_t numbers = (g->rows->n + 1) * width;
    struct sums x = {g, slices, width, Y};
    tulle_status status = TULLE_OK;
    tulle__pool_blocks(g->context->pool, g->rows->n + 1, ROWS, add_slices, &x);
    for (int64_t i = 0; i < numbers && status == TULLE_OK && g->comm->size > 1; i += AT_ONCE)
        status = tulle_comm_reduce_real(
            g->comm, TULLE_SUM, (int)(numbers - i < AT_ONCE ? numbers - i : AT_ONCE), g->sums + i);
    TULLE_CALL(tulle_comm_agree(g->comm, status));
    tulle__pool_blocks(g->context->pool, g->count, ROWS, finish_rows, &x);
    return TULLE_OK;
}

/* One with all rows of X, or with Z as it is. Collective, agreed. */
static tulle_status run_pass(tulle__gram *g, const void *X, int width, void *Y)
{
    struct pass pass = {.g = g, .X = X, .width = width};
    set_shares(&pass);
    tulle_status status = clear(g, pass.slices, width);
    if (status == TULLE_OK) {
        tulle__work done = {
            .memory = (double)g->rows->entries * (double)(sizeof(tulle_lidx) + tulle_type_size(g->rows->values))};
        done.flops[g->rows->type] = 4. * (double)g->rows->entries * width;
        tulle__kernel_begin(g->comm);
        status = tulle__row_passes_run(g->rows, take, &pass);
        tulle__kernel_end(g->comm, &done);
    }
    g->Z = NULL;
    TULLE_CALL(tulle_comm_agree(g->comm, status));
    return collect(g, pass.slices, width, Y);
}

static tulle_status multiply_all(tulle__gram *g, const void *X, int width, void *Y)
{
    const void *all;
    const tulle_status status = gather(g, X, width, &all);
    if (status != TULLE_OK) {
        g->Z = NULL;
        return status;
    }
    set_shift(g, all, width);
    return run_pass(g, all, width, Y);
}

tulle_status tulle__gram_bidiagonal(
    tulle__gram *g, const void *X, const double *keep, int columns, void *Z, int64_t ldz, void *Y)
{
    g->keep = Z != NULL;
    for (int c = 0; c < columns; c++) tulle__element_set(g->rows->type, g->keeps, c, keep[c]);
    g->Z = Z;
    g->ldz = ldz;
    const tulle_status status = multiply_all(g, X, columns, Y);
    g->keep = false;
    return status;
}

tulle_status tulle__gram_transposed(tulle__gram *g, const void *Z, int64_t ldz, int columns, void *Y)
{
    g->Z = (void *)(uintptr_t)Z; /* a pass without X reads it */
    g->ldz = ldz;
    return run_pass(g, NULL, columns, Y);
}

/* ---- the operator ---- */

struct bound {
    tulle__owned owned;
    tulle__gram *g;
    void *x, *y;
    int width;
};

static void drop(tulle__owned *object)
{
    tulle__free(object);
}

static void *own_rows(tulle_mat *x)
{
    for (int i = 0; i < x->layout->mt; i++)
        if (tulle__tile_is_mine(x, i, 0) && tulle__tile_rows(x, i)) return tulle__own_tile_in_place(x, i, 0).val;
    return NULL;
}

static tulle_status bind(void *context, tulle_mat *x, tulle_mat *y, void **out)
{
    tulle__gram *g = context;
    struct bound *bound = NULL;
    tulle_status status = tulle_comm_agree(g->comm, tulle__alloc_zero(1, sizeof *bound, "an operator", &bound));
    if (status != TULLE_OK) {
        tulle__free(bound);
        return status;
    }
    *bound = (struct bound){.g = g, .x = own_rows(x), .y = own_rows(y), .width = (int)x->layout->n};
    tulle__pe_own(g->comm->pe, &bound->owned, drop);
    *out = bound;
    return TULLE_OK;
}

static tulle_status apply(void *arg)
{
    struct bound *bound = arg;
    return multiply_all(bound->g, bound->x, bound->width, bound->y);
}

static void unbind(void *arg)
{
    struct bound *bound = arg;
    tulle__pe_disown(&bound->owned);
    drop(&bound->owned);
}

tulle_operator tulle__gram_operator(tulle__gram *g)
{
    return (tulle_operator){.comm = g->comm,
        .n = g->rows->n,
        .type = g->rows->type,
        .layout = g->layout,
        .context = g,
        .bind = bind,
        .apply = apply,
        .unbind = unbind,
        .cols = g->width};
}

tulle_status tulle__gram_init(
    tulle__row_passes *rows, const double *mean, const double *factor, int width, tulle__gram *g)
{
    *g = (tulle__gram){.comm = rows->comm, .rows = rows, .mean = mean, .factor = factor, .unit = 1, .width = width};
    const size_t size = tulle_type_size(rows->type), columns = (size_t)width, n = (size_t)rows->n;
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle_comm_agree(g->comm, tulle__context_get(g->comm, &g->context)));
    TULLE_CALL(make_layout(g, rows->n));
    const size_t part = (size_t)longest_part(g), pes = (size_t)g->comm->size;
    TULLE_TRY(tulle__alloc((n + 1) * columns, sizeof *g->sums, "sums of a product", &g->sums));
    TULLE_TRY(tulle__alloc(columns, size, "sums of means", &g->shift));
    TULLE_TRY(tulle__alloc(columns, size, "factors of a product", &g->keeps));
    if (pes > 1) TULLE_TRY(tulle__alloc(part * columns, size, "own rows of X", &g->mine));
    if (pes > 1) TULLE_TRY(tulle__alloc(part * columns * pes, size, "rows of X", &g->all));
    if (pes > 1 || factor) TULLE_TRY(tulle__alloc(n * columns, size, "rows of X", &g->whole));
out:
    return tulle_comm_agree(g->comm, status);
}

tulle_status tulle__gram_set_unit(tulle__gram *g, double unit)
{
    g->unit = unit;
    if (g->whole) return TULLE_OK;
    return tulle__alloc((size_t)g->rows->n * (size_t)g->width, tulle_type_size(g->rows->type), "rows of X", &g->whole);
}

void tulle__gram_fini(tulle__gram *g)
{
    tulle__free(g->parts);
    tulle__free(g->whole);
    tulle__free(g->all);
    tulle__free(g->mine);
    tulle__free(g->keeps);
    tulle__free(g->shift);
    tulle__free(g->sums);
    tulle_layout_free(g->layout);
    *g = (tulle__gram){.comm = NULL};
}
