/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/rows/leveled.h"

#include "algo/trisolve/levels.h"
#include "base/bisect.h"
#include "base/error.h"

/* A level with less work than this, in entries and rows, is not worth sharing. */
enum { NARROW = 768 };

static int32_t work_of(const tulle__triangle *t, tulle_gidx row, int *cursor)
{
    tulle__triangle_span span = tulle__triangle_at(t, row, cursor);
    return (int32_t)(span.to - span.from + 1);
}

/* PE 0's scratch. */
struct sorting {
    int32_t *level;  /* [n], by row; for sorted rows, later their work */
    int32_t *sorted; /* [n]: rows by level, and within a level by steps */
    int64_t *first;  /* [levels + 1], into sorted */
    int32_t *count;  /* [levels * workers]: rows of a level that a worker has */
    int64_t levels;
};

/*
 * Divides the rows of each level into parts of about equal work, one a worker, in order; or assigns
 * all to the worker of the previous level.
 */
static void divide(const tulle__triangle *t, int workers, int barriers, struct sorting *s)
{
    int cursor = 0, last = 0;
    for (int64_t l = 0; l < s->levels; l++) {
        int64_t total = 0, done = 0;
        int32_t *count = s->count + l * workers;
        for (int64_t p = s->first[l]; p < s->first[l + 1]; p++)
            total += s->level[p] = work_of(t, s->sorted[p], &cursor);
        if (!barriers && total < NARROW) {
            count[last] = (int32_t)(s->first[l + 1] - s->first[l]);
            continue;
        }
        for (int64_t p = s->first[l]; p < s->first[l + 1]; p++) {
            int64_t work = s->level[p];
            last = (int)((2 * done + work) * workers / (2 * total)); /* by the position of its middle */
            count[last]++;
            done += work;
        }
    }
}

/* Positions worker by worker, and level by level within a worker. */
static void place_rows(const struct sorting *s, int workers, int32_t *row, int32_t *place, int32_t *start)
{
    int32_t position = 0;
    for (int w = 0; w < workers; w++) {
        for (int64_t l = 0; l < s->levels; l++) {
            start[l * workers + w] = position;
            position += s->count[l * workers + w];
        }
        start[s->levels * workers + w] = position;
    }
    for (int64_t l = 0, p = 0; l < s->levels; l++)
        for (int w = 0; w < workers; w++)
            for (int32_t to = start[l * workers + w]; to < start[(l + 1) * workers + w]; to++) {
                row[to] = s->sorted[p];
                place[s->sorted[p++]] = to;
            }
}

static size_t block_bytes(int64_t n, int64_t levels, int workers)
{
    return (size_t)(2 * n + (levels + 1) * workers) * sizeof(int32_t);
}

static void look_into(tulle__order *order, const void *block)
{
    order->row = block;
    order->place = order->row + order->n;
    order->start = order->place + order->n;
}

/* Rows by level, and the workers' parts of levels. */
static tulle_status sort_levels(const tulle__triangle *t, int workers, int barriers, struct sorting *s)
{
    tulle__levels levels = {.level = NULL};
    tulle_status status = tulle__levels_find(t, &levels);
    s->level = levels.level;
    s->levels = levels.count;
    if (status == TULLE_OK) status = tulle__alloc((size_t)t->n, sizeof *s->sorted, "rows by level", &s->sorted);
    if (status == TULLE_OK) status = tulle__alloc((size_t)s->levels + 1, sizeof *s->first, "levels", &s->first);
    if (status == TULLE_OK)
        status = tulle__alloc_zero((size_t)(s->levels * workers), sizeof *s->count, "parts of levels", &s->count);
    if (status == TULLE_OK) {
        tulle__levels_sort(t, &levels, s->first, s->sorted);
        divide(t, workers, barriers, s);
    }
    tulle__levels_fini(&levels);
    return status;
}

/* On PE 0. */
static tulle_status make(const tulle__triangle *t, tulle__order_kind kind, tulle__order *order)
{
    tulle_status status;
    struct sorting s = {.levels = 0};
    if (kind == TULLE__ORDER_GROWLOCAL)
        TULLE_TRY(tulle__growlocal_sort(t, order->workers, &s.sorted, &s.count, &s.levels));
    else
        TULLE_TRY(sort_levels(t, order->workers, kind == TULLE__ORDER_BARRIERS, &s));
    order->levels = s.levels;
    TULLE_TRY(tulle__heap_take(
        order->comm->pe->data, block_bytes(t->n, s.levels, order->workers), "an order of rows", &order->block));
    look_into(order, tulle__mapped(order->comm, &order->block));
    place_rows(&s, order->workers, (int32_t *)(uintptr_t)order->row, (int32_t *)(uintptr_t)order->place,
        (int32_t *)(uintptr_t)order->start);
out:
    tulle__free(s.count);
    tulle__free(s.first);
    tulle__free(s.sorted);
    return status;
}

tulle_status tulle__order_init(const tulle__triangle *t, int workers, tulle__order_kind kind, tulle__order *order)
{
    tulle_comm *comm = t->T->comm;
    struct {
        tulle__place block;
        int64_t levels;
    } made;
    *order = (tulle__order){.comm = comm, .workers = workers, .n = t->n};
    TULLE_CALL(tulle_comm_agree(comm, comm->rank == 0 ? make(t, kind, order) : TULLE_OK));
    made.block = order->block;
    made.levels = order->levels;
    TULLE_CALL(tulle_comm_broadcast(comm, 0, &made, sizeof made));
    order->block = made.block;
    order->levels = made.levels;
    if (t->reach == TULLE__ROWS_ALL || comm->rank == 0) look_into(order, tulle__mapped(comm, &order->block));
    return TULLE_OK;
}

void tulle__order_fini(tulle__order *order)
{
    if (order->comm && order->comm->rank == 0 && order->block.length)
        tulle__heap_give(order->comm->pe->data, &order->block);
    *order = (tulle__order){.n = 0};
}

/*
 * The rows of positions from .. to - 1: their entries as lines of x, in the order in which these
 * are solved.
 */
static tulle_status copy_rows(
    const tulle__triangle *t, const tulle__order *order, int32_t from, int32_t to, tulle__worker_schedule *schedule)
{
    size_t rows = (size_t)(to - from);
    int cursor = 0;
    TULLE_CALL(tulle__alloc(rows + 1, sizeof *schedule->rowptr, "row pointers", &schedule->rowptr));
    schedule->rowptr[0] = 0;
    for (int32_t p = from; p < to; p++) {
        tulle__triangle_span span = tulle__triangle_at(t, order->row[p], &cursor);
        schedule->nnz += span.to - span.from;
        schedule->rowptr[p - from + 1] = schedule->nnz;
    }
    TULLE_CALL(tulle__alloc((size_t)schedule->nnz, sizeof *schedule->colind, "column indices", &schedule->colind));
    TULLE_CALL(tulle__alloc((size_t)schedule->nnz, tulle_type_size(t->T->type), "values", &schedule->val));
    for (int32_t p = from; p < to; p++) {
        tulle__triangle_span span = tulle__triangle_at(t, order->row[p], &cursor);
        int32_t *colind = schedule->colind + schedule->rowptr[p - from];
        for (int64_t k = 0; k < span.to - span.from; k++)
            colind[k] = order->place[span.tile->colind[t->upper ? span.to - 1 - k : span.from + k]];
    }
    return TULLE_OK;
}

/* The worker that has a position. */
static int worker_at(const tulle__order *order, int32_t position)
{
    int worker = 0;
    TULLE__LAST_WHERE(worker, order->workers, middle, order->start[middle] <= position);
    return worker;
}

/* Requirements of rows at positions from .. to - 1 from other workers. */
static void note_needs(const tulle__order *order, int32_t from, int32_t to, tulle__worker_schedule *schedule)
{
    int32_t own = order->start[schedule->worker], end = order->start[order->levels * order->workers + schedule->worker];
    for (int64_t e = schedule->rowptr[from - own]; e < schedule->rowptr[to - own]; e++) {
        int32_t position = schedule->colind[e];
        if (position >= own && position < end) continue;
        int worker = worker_at(order, position);
        tulle__worker_schedule_needs(schedule, worker, position - order->start[worker] + 1);
    }
}

static void note_barrier(const tulle__order *order, int64_t level, tulle__worker_schedule *schedule)
{
    for (int w = 0; w < order->workers; w++)
        if (w != schedule->worker)
            tulle__worker_schedule_needs(schedule, w, order->start[level * order->workers + w] - order->start[w]);
}

/* True if positions from .. to - 1 are few enough for a block. */
static int is_block(const tulle__order *order, const tulle__worker_schedule *schedule, int32_t from, int32_t to)
{
    int32_t own = order->start[schedule->worker];
    return to - from <= TULLE__BLOCK_ROWS &&
           schedule->rowptr[to - own] - schedule->rowptr[from - own] <= TULLE__BLOCK_ENTRIES;
}

static tulle_status add_block(const tulle__order *order, int32_t from, int32_t to, tulle__worker_schedule *schedule)
{
    tulle__row_block block = {.rowptr = schedule->rowptr + (from - order->start[schedule->worker]),
        .colind = schedule->colind,
        .val = schedule->val,
        .at = from,
        .count = to - from};
    return to > from ? tulle__worker_schedule_add(schedule, &block) : TULLE_OK;
}

/*
 * Rows that wait for something new begin a block, as other workers may wait for the rows before
 * them. Within a level blocks are as large as possible.
 */
static tulle_status cut_groups(const tulle__order *order, int barriers, tulle__worker_schedule *schedule)
{
    int32_t begin = order->start[schedule->worker], end = begin; /* the block being extended */
    for (int64_t l = 0; l < order->levels; l++) {
        int32_t stop = order->start[(l + 1) * order->workers + schedule->worker];
        while (end < stop) {
            int32_t from = end, to = from + 1;
            while (to < stop && is_block(order, schedule, from, to + 1)) to++;
            if (barriers)
                note_barrier(order, l, schedule);
            else
                note_needs(order, from, to, schedule);
            if (tulle__worker_schedule_must_wait(schedule) || !is_block(order, schedule, begin, to)) {
                TULLE_CALL(add_block(order, begin, from, schedule));
                begin = from;
            }
            TULLE_CALL(tulle__worker_schedule_wait(schedule));
            end = to;
        }
    }
    return add_block(order, begin, end, schedule);
}

tulle_status tulle__leveled_schedule(
    const tulle__triangle *t, const tulle__order *order, int barriers, int worker, tulle__worker_schedule *schedule)
{
    tulle_status status;
    int32_t from = order->start[worker], to = order->start[order->levels * order->workers + worker];
    TULLE_TRY(tulle__worker_schedule_begin(schedule, worker, order->workers));
    TULLE_TRY(copy_rows(t, order, from, to, schedule));
    schedule->row = order->row + from;
    TULLE_TRY(cut_groups(order, barriers, schedule));
    status = tulle__worker_schedule_fill(schedule, t);
out:
    tulle__worker_schedule_end(schedule);
    return status;
}
