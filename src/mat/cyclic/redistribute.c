/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies from one block-cyclic distribution to another.
 *
 * The rows that part p of the source's grid rows and part p' of the target's own, times the columns
 * that q and q' own, are a block: what PE (p, q) has for PE (p', q'). What a PE has for itself it
 * copies at once. Other blocks go in rounds, each of so many of the own columns of every source as
 * its window holds: the source packs them, block by block and column-major, and the target unpacks
 * its own from the windows, by load where they are mapped, else after one get a block. So an element
 * is read and written twice, and a window stays in the cache. Windows have two halves, which rounds
 * use in turn: a half is packed again after the barrier that follows all reads of it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/arg.h"
#include "base/error.h"
#include "mat/context.h"
#include "mat/cyclic/cyclic_window.h"
#include "mat/cyclic/spans.h"

enum { HALF = 1 << 20 };   /* bytes of half a window, if a column of it needs no more */
enum { COLUMNS_EACH = 8 }; /* that a thread copies at a time */

struct side {
    const tulle_cyclic_part *part;
    tulle__cyclic_axis rows, cols;
    int is_in, p, q; /* this PE in the grid */
};

struct redistribution {
    tulle_comm *comm;
    tulle__pool *pool;
    size_t size; /* of an element */
    struct side from, to;
    const char *source;
    char *target;
    tulle__spans *out;     /* [to.rows.parts]: the rows for each part of the target's */
    tulle__spans *in;      /* [from.rows.parts]: the rows from each part of the source's */
    int64_t *above;        /* [from.rows.parts]: rows of it for parts of the target's before this PE's */
    tulle__spans *columns; /* [from.cols.parts]: the columns of each, with their parts of the target's */
    int64_t *next;         /* [from.cols.parts]: the first run of columns that the round at hand meets */
    int64_t width, rounds; /* own columns of a source in a round */
    size_t half;
    tulle__place *window; /* [PEs] */
    int taken;
    char *scratch[2]; /* blocks that were got, one being unpacked */
    int64_t *count;   /* [to.cols.parts] columns of a round for each part */
    int64_t *column;  /* [width] their places, of one part */
};

static struct side side_of(const tulle_cyclic_part *part, int rank)
{
    struct side s = {.part = part, .rows = tulle__axis_rows(part->cyclic), .cols = tulle__axis_cols(part->cyclic)};
    s.is_in = tulle__cyclic_position(part->cyclic, rank, &s.p, &s.q);
    return s;
}

static int rank_of(const struct side *s, int p, int q)
{
    return tulle__cyclic_rank(s->part->cyclic, p, q);
}

/* Rows of the part that grid row p owns, and columns that grid column q does. */
static int64_t own_rows(const struct side *s, int p)
{
    return tulle__axis_below(&s->rows, p, s->part->row + s->part->m) - tulle__axis_below(&s->rows, p, s->part->row);
}
static int64_t own_cols(const struct side *s, int q)
{
    return tulle__axis_below(&s->cols, q, s->part->col + s->part->n) - tulle__axis_below(&s->cols, q, s->part->col);
}

static int64_t count_of(const tulle__spans *spans)
{
    int64_t count = 0;
    for (int64_t s = 0; s < spans->count; s++) count += spans->span[s].count;
    return count;
}

/* ---- copies ---- */

/* Columns of a block: from the source's array to where it is packed, or from there to the target's. */
struct block {
    const tulle__spans *rows;
    int64_t count; /* of rows */
    const int64_t *column;
    size_t size;
    const char *source; /* packs */
    size_t source_step;
    char *target; /* unpacks */
    size_t target_step;
    char *packed;
};

static void copy_columns(void *arg, int64_t begin, int64_t end)
{
    const struct block *b = arg;
    const tulle__span *last = b->rows->span + b->rows->count;
    size_t size = b->size;
    for (int64_t c = begin; c < end; c++) {
        char *packed = b->packed + (size_t)(c * b->count) * size;
        const char *source = b->source ? b->source + (size_t)b->column[c] * b->source_step : NULL;
        char *target = b->target ? b->target + (size_t)b->column[c] * b->target_step : NULL;
        for (const tulle__span *run = b->rows->span; run < last; run++) {
            size_t bytes = (size_t)run->count * size;
            if (source)
                memcpy(packed, source + (size_t)run->from * size, bytes);
            else
                memcpy(target + (size_t)run->at * size, packed, bytes);
            packed += bytes;
        }
    }
}

/* Columns begin .. end - 1 of those that this PE's grid column of the source owns: what is its own in the target, too.
 */
static void copy_own_columns(void *arg, int64_t begin, int64_t end)
{
    const struct redistribution *x = arg;
    const tulle__spans *cols = &x->columns[x->from.q], *rows = &x->out[x->to.p];
    int64_t before = 0;
    for (int64_t s = 0; s < cols->count && before < end; before += cols->span[s++].count) {
        const tulle__span *run = &cols->span[s];
        if (run->tile != x->to.q) continue;
        for (int64_t c = begin > before ? begin - before : 0; c < run->count && before + c < end; c++) {
            const char *source = x->source + (size_t)((run->from + c) * x->from.part->ld) * x->size;
            char *target = x->target + (size_t)((run->at + c) * x->to.part->ld) * x->size;
            for (int64_t r = 0; r < rows->count; r++)
                memcpy(target + (size_t)rows->span[r].at * x->size, source + (size_t)rows->span[r].from * x->size,
                    (size_t)rows->span[r].count * x->size);
        }
    }
}

static void copy_own(struct redistribution *x)
{
    if (!x->from.is_in || !x->to.is_in || !x->out[x->to.p].count) return;
    tulle__pool_blocks(x->pool, own_cols(&x->from, x->from.q), COLUMNS_EACH, copy_own_columns, x);
}

/* ---- rounds ---- */

/* The columns of grid column q that round n packs, by their places in its array: *begin .. *end - 1. */
static void columns_of_round(const struct redistribution *x, int q, int64_t n, tulle_gidx *begin, tulle_gidx *end)
{
    tulle_gidx first = tulle__axis_below(&x->from.cols, q, x->from.part->col), all = first + own_cols(&x->from, q);
    *begin = first + n * x->width < all ? first + n * x->width : all;
    *end = *begin + x->width < all ? *begin + x->width : all;
}

/*
 * Counts the columns that grid column q packs in a round for each part of the target's, and lists
 * those of one part: their places in the source's array, or the target's.
 */
static void list_columns(struct redistribution *x, int q, int64_t n, int part, int in_target)
{
    tulle_gidx begin, end;
    int64_t listed = 0;
    const tulle__spans *cols = &x->columns[q];
    columns_of_round(x, q, n, &begin, &end);
    memset(x->count, 0, (size_t)x->to.cols.parts * sizeof *x->count);
    while (x->next[q] < cols->count && cols->span[x->next[q]].from + cols->span[x->next[q]].count <= begin)
        x->next[q]++;
    for (int64_t s = x->next[q]; s < cols->count && cols->span[s].from < end; s++) {
        const tulle__span *run = &cols->span[s];
        tulle_gidx low = run->from > begin ? run->from : begin,
                   high = run->from + run->count < end ? run->from + run->count : end;
        x->count[run->tile] += high - low;
        for (tulle_gidx c = low; run->tile == part && c < high; c++)
            x->column[listed++] = in_target ? run->at + c - run->from : c;
    }
}

/* Elements of a window before those for a part of the target's columns, of a source with so many rows. */
static int64_t before_part(const struct redistribution *x, int64_t rows, int part)
{
    int64_t before = 0;
    for (int q = 0; q < part; q++) before += x->count[q];
    return before * rows;
}

static void pack(struct redistribution *x, int64_t n)
{
    if (!x->from.is_in) return;
    char *window = tulle__mapped(x->comm, &x->window[x->comm->rank]);
    char *half = window + (size_t)(n % 2) * x->half;
    int64_t rows = own_rows(&x->from, x->from.p);
    for (int q = 0; q < x->to.cols.parts; q++) {
        list_columns(x, x->from.q, n, q, 0);
        char *at = half + (size_t)before_part(x, rows, q) * x->size;
        for (int p = 0; p < x->to.rows.parts; p++) {
            struct block b = {.rows = &x->out[p],
                .count = count_of(&x->out[p]),
                .column = x->column,
                .size = x->size,
                .source = x->source,
                .source_step = (size_t)x->from.part->ld * x->size,
                .packed = at};
            at += (size_t)(b.count * x->count[q]) * x->size;
            if (b.count && rank_of(&x->to, p, q) != x->comm->rank)
                tulle__pool_blocks(x->pool, x->count[q], COLUMNS_EACH, copy_columns, &b);
        }
    }
}

/* A block of a round that is on its way to this PE. */
struct arrival {
    int p, q; /* its source; p = -1: none */
    const char *packed;
    tulle__transfer transfer;
    int is_got;
};

/* The block of round n from (p, q) for this PE, mapped or being got into scratch. 0: it is empty, or the own. */
static int arrive(struct redistribution *x, int64_t n, int p, int q, char *scratch, struct arrival *a)
{
    int from = rank_of(&x->from, p, q);
    int64_t rows = count_of(&x->in[p]);
    if (from == x->comm->rank || !rows) return 0;
    list_columns(x, q, n, x->to.q, 1);
    int64_t cols = x->count[x->to.q];
    if (!cols) return 0;
    int64_t before = before_part(x, own_rows(&x->from, p), x->to.q) + x->above[p] * cols;
    uint64_t at = (uint64_t)(n % 2) * x->half + (uint64_t)before * x->size;
    const char *mapped = tulle__mapped(x->comm, &x->window[from]);
    *a = (struct arrival){.p = p, .q = q, .packed = mapped ? mapped + at : scratch, .is_got = !mapped};
    if (!mapped)
        a->transfer = tulle__get(
            x->comm, tulle__comm_group(x->comm), &x->window[from], at, scratch, (size_t)(rows * cols) * x->size);
    return 1;
}

static tulle_status unpack(struct redistribution *x, int64_t n, struct arrival *a)
{
    tulle_status status = a->p >= 0 && a->is_got ? tulle__transfer_wait(x->comm, &a->transfer) : TULLE_OK;
    if (a->p >= 0 && status == TULLE_OK) {
        list_columns(x, a->q, n, x->to.q, 1);
        struct block b = {.rows = &x->in[a->p],
            .count = count_of(&x->in[a->p]),
            .column = x->column,
            .size = x->size,
            .target = x->target,
            .target_step = (size_t)x->to.part->ld * x->size,
            .packed = (char *)(uintptr_t)a->packed}; /* only read */
        tulle__pool_blocks(x->pool, x->count[x->to.q], COLUMNS_EACH, copy_columns, &b);
    }
    a->p = -1;
    return status;
}

static tulle_status round_of(struct redistribution *x, int64_t n)
{
    struct arrival last = {.p = -1}, next;
    int P = x->from.rows.parts, Q = x->from.cols.parts, which = 0;
    pack(x, n);
    TULLE_CALL(tulle_comm_barrier(x->comm));
    /* sources begin with this PE's successor, so that not all PEs read the same window */
    for (int s = 0; x->to.is_in && s < P * Q; s++) {
        int from = (s + x->to.p * x->to.cols.parts + x->to.q + 1) % (P * Q);
        if (!arrive(x, n, from / Q, from % Q, x->scratch[which], &next)) continue;
        TULLE_CALL(unpack(x, n, &last));
        last = next;
        which = !which;
    }
    return unpack(x, n, &last);
}

/* ---- the call ---- */

/* The runs of rows and columns that this PE needs. Local. */
static tulle_status list_runs(struct redistribution *x)
{
    const tulle_cyclic_part *from = x->from.part, *to = x->to.part;
    TULLE__SCOPED_BY(tulle__spans_fini) tulle__spans all = {.span = NULL};
    int P = x->from.rows.parts, Q = x->from.cols.parts, p = x->to.rows.parts, q = x->to.cols.parts;
    TULLE_CALL(tulle__alloc_zero((size_t)p, sizeof *x->out, "runs of rows", &x->out));
    TULLE_CALL(tulle__alloc_zero((size_t)P, sizeof *x->in, "runs of rows", &x->in));
    TULLE_CALL(tulle__alloc_zero((size_t)P, sizeof *x->above, "runs of rows", &x->above));
    TULLE_CALL(tulle__alloc_zero((size_t)Q, sizeof *x->columns, "runs of columns", &x->columns));
    TULLE_CALL(tulle__alloc_zero((size_t)Q, sizeof *x->next, "runs of columns", &x->next));
    TULLE_CALL(tulle__alloc_zero((size_t)q, sizeof *x->count, "runs of columns", &x->count));
    TULLE_CALL(tulle__alloc((size_t)x->width, sizeof *x->column, "columns of a round", &x->column));
    for (int t = 0; x->from.is_in && t < p; t++)
        TULLE_CALL(
            tulle__spans_of_pair(&x->from.rows, x->from.p, from->row, &x->to.rows, t, to->row, from->m, &x->out[t]));
    for (int s = 0; x->to.is_in && s < P; s++) {
        TULLE_CALL(tulle__spans_of_pair(&x->from.rows, s, from->row, &x->to.rows, -1, to->row, from->m, &all));
        for (int64_t r = 0; r < all.count; r++)
            if (all.span[r].tile < x->to.p) x->above[s] += all.span[r].count;
        tulle__spans_fini(&all);
        TULLE_CALL(
            tulle__spans_of_pair(&x->from.rows, s, from->row, &x->to.rows, x->to.p, to->row, from->m, &x->in[s]));
    }
    for (int s = 0; s < Q; s++)
        TULLE_CALL(
            tulle__spans_of_pair(&x->from.cols, s, from->col, &x->to.cols, -1, to->col, from->n, &x->columns[s]));
    return TULLE_OK;
}

/* The width of a round, and how many there are: the same on all PEs. */
static void size_rounds(struct redistribution *x)
{
    int64_t rows = 1, cols = 1;
    for (int p = 0; p < x->from.rows.parts; p++)
        if (own_rows(&x->from, p) > rows) rows = own_rows(&x->from, p);
    for (int q = 0; q < x->from.cols.parts; q++)
        if (own_cols(&x->from, q) > cols) cols = own_cols(&x->from, q);
    int64_t fits = HALF / (rows * (int64_t)x->size);
    x->width = fits < 1 ? 1 : fits < cols ? fits : cols;
    x->rounds = (cols + x->width - 1) / x->width;
    x->half = ((size_t)(rows * x->width) * x->size + 63) / 64 * 64;
}

static tulle_status make_own_window(struct redistribution *x, tulle__place *own)
{
    TULLE_CALL(list_runs(x));
    TULLE_CALL(tulle__alloc((size_t)x->comm->size, sizeof *x->window, "windows of a redistribution", &x->window));
    return tulle__heap_take(x->comm->pe->data, 2 * x->half, "the window of a redistribution", own);
}

/* Windows of all PEs, and scratch where one is not mapped. Collective, agreed. */
static tulle_status make_windows(struct redistribution *x)
{
    tulle_comm *comm = x->comm;
    tulle__place own = {.length = 0};
    int is_away = 0;
    tulle_status status = make_own_window(x, &own);
    x->taken = status == TULLE_OK;
    TULLE_TRY(tulle_comm_agree(comm, status));
    TULLE_TRY(tulle_comm_allgather(comm, &own, sizeof own, x->window));
    for (int r = 0; r < comm->size; r++) is_away |= !tulle__mapped(comm, &x->window[r]);
    for (int h = 0; h < 2 && is_away; h++)
        TULLE_TRY(tulle__alloc(x->half, 1, "blocks of a redistribution", &x->scratch[h]));
out:
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK && x->taken) tulle__heap_give(comm->pe->data, &own);
    if (status != TULLE_OK) x->taken = 0;
    return status;
}

static void fini(struct redistribution *x)
{
    if (x->taken) tulle__heap_give(x->comm->pe->data, &x->window[x->comm->rank]);
    for (int p = 0; x->out && p < x->to.rows.parts; p++) tulle__spans_fini(&x->out[p]);
    for (int p = 0; x->in && p < x->from.rows.parts; p++) tulle__spans_fini(&x->in[p]);
    for (int q = 0; x->columns && q < x->from.cols.parts; q++) tulle__spans_fini(&x->columns[q]);
    tulle__free(x->out);
    tulle__free(x->in);
    tulle__free(x->above);
    tulle__free(x->columns);
    tulle__free(x->next);
    tulle__free(x->count);
    tulle__free(x->column);
    tulle__free(x->window);
    tulle__free(x->scratch[0]);
    tulle__free(x->scratch[1]);
}

static tulle_status check(const char *function, const struct redistribution *x)
{
    const tulle_cyclic_part *from = x->from.part, *to = x->to.part;
    const tulle_cyclic_part *const parts[] = {from, to};
    int rank = x->comm->rank, npes = x->comm->size;
    tulle_status status;
    TULLE_TRY(tulle__wants_values(x->comm, "the copy of a block-cyclic matrix"));
    TULLE_TRY(tulle__cyclic_check(function, from, "source", npes, rank, x->source));
    TULLE_TRY(tulle__cyclic_check(function, to, "target", npes, rank, x->target));
    if (from->m != to->m || from->n != to->n)
        TULLE_TRY(
            tulle__fail(TULLE_ERR_ARG, "a part of %" PRId64 " x %" PRId64 " does not fit one of %" PRId64 " x %" PRId64,
                from->m, from->n, to->m, to->n));
    tulle__window a = tulle__window_of(from, x->source, x->size, rank),
                  b = tulle__window_of(to, x->target, x->size, rank);
    if (tulle__windows_overlap(&a, &b))
        TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "source and target have elements in common on PE %d", rank));
    TULLE_TRY(tulle__cyclic_same(x->comm, 2, parts));
out:
    return tulle_comm_agree(x->comm, status);
}

static tulle_status run_rounds(struct redistribution *x)
{
    copy_own(x);
    for (int64_t n = 0; n < x->rounds && x->comm->size > 1; n++) TULLE_CALL(round_of(x, n));
    return TULLE_OK;
}

/* Collective, agreed. */
static tulle_status copy_all(struct redistribution *x)
{
    tulle__context *context = NULL;
    size_rounds(x);
    TULLE_CALL(tulle_comm_agree(x->comm, tulle__context_get(x->comm, &context)));
    x->pool = context->pool;
    TULLE_CALL(make_windows(x));
    return tulle_comm_agree(x->comm, run_rounds(x));
}

tulle_status tulle_cyclic_redistribute(tulle_comm *comm, tulle_type type, const tulle_cyclic_part *from,
    const void *source, const tulle_cyclic_part *to, void *target)
{
    if (TULLE__NULL(comm) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1) || TULLE__NULL(from) ||
        TULLE__NULL_AS(from->cyclic, "from") || TULLE__NULL(to) || TULLE__NULL_AS(to->cyclic, "to"))
        return tulle__refuse(comm);
    struct redistribution x = {.comm = comm, .size = tulle_type_size(type), .from = {.part = from}, .to = {.part = to}};
    x.source = source;
    x.target = target;
    TULLE_CALL(check(__func__, &x));
    if (!from->m || !from->n) return TULLE_OK;
    tulle__set_up_begin(comm);
    x.from = side_of(from, comm->rank);
    x.to = side_of(to, comm->rank);
    const tulle_status status = copy_all(&x);
    tulle__set_up_end(comm);
    fini(&x);
    return status;
}
