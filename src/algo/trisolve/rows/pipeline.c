/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chunk size of a doacross, by a model: rows in the middle of the triangle are combined to
 * small blocks, the dependencies between blocks are determined once, and the pipeline is simulated
 * for one chunk size after the other. A block takes the time of its entries, and starts when its
 * worker is free and has observed what it requires.
 */
#include "algo/trisolve/rows/chunked.h"
#include "base/error.h"

enum { ROWS_LEAST = 1 << 12, ROWS_MOST = 1 << 16, BLOCK_MOST = 16, CHUNK_LEAST = 32 };

/* Simulating all chunk sizes takes as long as this many solves of the window. */
#define PLAYS 40.0
/* The fraction of all solves that it may take. */
#define PLAYS_SHARE 0.02

/*
 * Approximate nanoseconds: of an entry, of a row, until another core can observe a word that was
 * written, and of a read.
 */
static const double entry_ns = 0.7, row_ns = 3, sight_ns = 300, look_ns = 100;

struct window {
    int64_t first, rows; /* steps */
    int64_t line, plane; /* of a grid, in rows; 0: there is none */
    int block, blocks;   /* rows of a block */
    double *work;        /* [blocks] */
    int64_t *from;       /* [blocks + 1] of need */
    int32_t *need;       /* earlier blocks that a block requires */
    double *end, *now;   /* [blocks], [workers] */
    /* [workers^2]: the last block of the second worker that the first has observed to be solved */
    int32_t *seen;
};

static void fini(struct window *w)
{
    tulle__free(w->work);
    tulle__free(w->from);
    tulle__free(w->need);
    tulle__free(w->end);
    tulle__free(w->now);
    tulle__free(w->seen);
}

static int64_t step_of(const tulle__triangle *t, int32_t col)
{
    return t->upper ? t->n - 1 - col : col;
}

/* mark[b]: the block last found to require b. */
static tulle_status find_needs(const tulle__triangle *t, struct window *w, int32_t *mark)
{
    int64_t count = 0, capacity = 0;
    int cursor = 0;
    for (int b = 0; b < w->blocks; b++) mark[b] = -1;
    for (int b = 0; b < w->blocks; b++) {
        w->from[b] = count;
        for (int64_t s = (int64_t)b * w->block; s < (int64_t)(b + 1) * w->block && s < w->rows; s++) {
            tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, w->first + s), &cursor);
            w->work[b] += row_ns + entry_ns * (double)(span.to - span.from);
            if (count + span.to - span.from > capacity) {
                capacity = 2 * (count + span.to - span.from) + 1024;
                TULLE_CALL(tulle__realloc((size_t)capacity, sizeof *w->need, "a window of rows", &w->need));
            }
            for (int64_t e = span.from; e < span.to; e++) {
                int64_t other = step_of(t, span.tile->colind[e]) - w->first;
                if (other < 0) continue;
                int32_t block = (int32_t)other / w->block;
                if (block == b || mark[block] == b) continue;
                mark[block] = b;
                w->need[count++] = block;
            }
        }
    }
    w->from[w->blocks] = count;
    return TULLE_OK;
}

/* The distance to the nearest step that a step requires; very large if it requires none. */
static int64_t reach_of(const tulle__triangle *t, int64_t step, int *cursor)
{
    tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, step), cursor);
    return span.from < span.to ? step - step_of(t, span.tile->colind[t->upper ? span.from : span.to - 1]) : INT64_MAX;
}

/*
 * The length of a grid's lines, whose first rows do not require the row before them: breaks at
 * multiples of one distance, with most rows in between. The length of its planes likewise: their
 * first rows reach further back than a line. 0: there are none.
 */
static int64_t find_period(const tulle__triangle *t, const struct window *w, int64_t reach)
{
    int64_t last = -1, period = 0, covered = 0;
    int cursor = 0;
    for (int64_t step = w->first; step < w->first + w->rows; step++) {
        if (reach_of(t, step, &cursor) <= reach) continue;
        if (last >= 0 && period == 0) period = step - last;
        if (last >= 0 && step - last == period && step % period == 0) covered += period;
        last = step;
    }
    return period >= BLOCK_MOST && covered * 10 >= (w->rows - 2 * period) * 9 ? period : 0;
}

static int64_t rows_of(const tulle__triangle *t, double solves)
{
    double rows = (double)t->n * solves * PLAYS_SHARE / PLAYS;
    if (rows > ROWS_MOST) rows = ROWS_MOST;
    if (rows < ROWS_LEAST) rows = ROWS_LEAST;
    return rows < (double)t->n ? (int64_t)rows : t->n;
}

static tulle_status init(const tulle__triangle *t, int workers, double solves, struct window *w)
{
    TULLE__SCOPED int32_t *mark = NULL;
    w->rows = rows_of(t, solves);
    w->first = (t->n - w->rows) / 2;
    w->line = find_period(t, w, 1);
    if (w->line) w->plane = find_period(t, w, w->line);
    if (w->plane % (w->line ? w->line : 1)) w->plane = 0;
    w->block = BLOCK_MOST;
    while (w->line && w->line % w->block) w->block--;
    if (w->line) w->first -= w->first % (w->plane ? w->plane : w->line); /* where chunks will begin */
    w->blocks = (int)((w->rows + w->block - 1) / w->block);
    TULLE_CALL(tulle__alloc_zero((size_t)w->blocks, sizeof *w->work, "a window of rows", &w->work));
    TULLE_CALL(tulle__alloc((size_t)w->blocks + 1, sizeof *w->from, "a window of rows", &w->from));
    TULLE_CALL(tulle__alloc((size_t)w->blocks, sizeof *w->end, "a window of rows", &w->end));
    TULLE_CALL(tulle__alloc((size_t)workers, sizeof *w->now, "workers", &w->now));
    TULLE_CALL(tulle__alloc((size_t)workers * (size_t)workers, sizeof *w->seen, "workers", &w->seen));
    TULLE_CALL(tulle__alloc((size_t)w->blocks, sizeof *mark, "a window of rows", &mark));
    return find_needs(t, w, mark);
}

/*
 * The time when a worker that begins a block at `start` can continue, having read the progress of
 * another's block.
 */
static double read_progress(
    struct window *w, int workers, int64_t chunk, int64_t worker, int block, int other, double start)
{
    int64_t whose = other / chunk % workers;
    int32_t *seen = &w->seen[worker * workers + whose];
    if (other <= *seen) return start;
    if (w->end[other] + sight_ns > start) start = w->end[other] + sight_ns;
    for (int b = *seen = other; b < block; b++) /* it observes the other's latest progress */
        if (b / chunk % workers == whose) {
            if (w->end[b] + sight_ns > start) break;
            *seen = b;
        }
    return start + look_ns;
}

/* Nanoseconds until all blocks are done, for chunks of so many blocks. */
static double simulate(struct window *w, int workers, int64_t chunk)
{
    double last = 0;
    for (int p = 0; p < workers; p++) w->now[p] = 0;
    for (int p = 0; p < workers * workers; p++) w->seen[p] = -1;
    for (int b = 0; b < w->blocks; b++) {
        int64_t worker = b / chunk % workers;
        double start = w->now[worker];
        for (int64_t d = w->from[b]; d < w->from[b + 1]; d++)
            if (w->need[d] / chunk % workers != worker)
                start = read_progress(w, workers, chunk, worker, b, w->need[d], start);
        w->end[b] = w->now[worker] = start + w->work[b];
        if (w->end[b] > last) last = w->end[b];
    }
    return last;
}

/* Tries chunks of so many rows, of twice as many, ... */
static void try_from(struct window *w, int workers, int64_t rows, int64_t *chunk, double *best)
{
    for (; rows * workers <= w->rows; rows *= 2) {
        double time = simulate(w, workers, rows / w->block);
        if (time >= *best) continue;
        *best = time;
        *chunk = rows;
    }
}

tulle_status tulle__chunked_choose(const tulle__triangle *t, int workers, double solves, int64_t *chunk)
{
    struct window w = {.rows = 0};
    double alone = 0, best = 0;
    tulle_status status = init(t, workers, solves, &w);
    if (status == TULLE_OK) {
        *chunk = w.line ? w.line : CHUNK_LEAST;
        for (int b = 0; b < w.blocks; b++) alone += w.work[b];
        best = alone * 2;
        try_from(&w, workers, *chunk, chunk, &best);
        if (w.plane) try_from(&w, workers, w.plane, chunk, &best);
    }
    fini(&w);
    return status;
}
