/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunk suits a doacross: the rows in the middle of the triangle are put in small blocks, the dependencies
 * between blocks are found once, and the pipeline is played through for one chunk after the other. A block takes the
 * time of its entries, and begins when its worker is free and what it needs of others has been seen.
 */
#include "algo/trisolve/chunked.h"
#include "base/error.h"

enum { ROWS_MOST = 1 << 16, BLOCK_MOST = 16, CHUNK_LEAST = 32 };

/* Nanoseconds, about: of an entry, of a row, and until a word that was written has been seen by another core. */
static const double entry_ns = 0.7, row_ns = 3, sight_ns = 300;

struct window {
    int64_t first, rows; /* steps */
    int64_t line;        /* rows between those that do not need the one before them; 0: they come irregularly */
    int block, blocks;   /* rows of a block */
    double *work;        /* [blocks] */
    int64_t *from;       /* [blocks + 1] of need */
    int32_t *need;       /* blocks before that a block needs */
    double *end, *now;   /* [blocks], [workers] */
};

static void fini(struct window *w)
{
    tulle__free(w->work);
    tulle__free(w->from);
    tulle__free(w->need);
    tulle__free(w->end);
    tulle__free(w->now);
}

static int64_t step_of(const tulle__triangle *t, int32_t col)
{
    return t->upper ? t->n - 1 - col : col;
}

/* mark[b]: the block that was last seen to need b. */
static tulle_status find_needs(const tulle__triangle *t, struct window *w, int32_t *mark)
{
    int64_t count = 0, room = 0;
    int cursor = 0;
    for (int b = 0; b < w->blocks; b++) mark[b] = -1;
    for (int b = 0; b < w->blocks; b++) {
        w->from[b] = count;
        for (int64_t s = (int64_t)b * w->block; s < (int64_t)(b + 1) * w->block && s < w->rows; s++) {
            tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, w->first + s), &cursor);
            w->work[b] += row_ns + entry_ns * (double)(span.to - span.from);
            if (count + span.to - span.from > room) {
                room = 2 * (count + span.to - span.from) + 1024;
                tulle_status status = tulle__realloc((size_t)room, sizeof *w->need, "a window of rows", &w->need);
                if (status != TULLE_OK) return status;
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

/* Whether a step needs the one before it. */
static int needs_last(const tulle__triangle *t, int64_t step, int *cursor)
{
    tulle__triangle_span span = tulle__triangle_at(t, tulle__triangle_row(t, step), cursor);
    return span.from < span.to && step_of(t, span.tile->colind[t->upper ? span.from : span.to - 1]) == step - 1;
}

/* The lines of a grid: nine tenths of the rows lie between breaks of one distance, and breaks are at its multiples. */
static int64_t find_line(const tulle__triangle *t, const struct window *w)
{
    int64_t last = -1, line = 0, covered = 0;
    int cursor = 0;
    for (int64_t step = w->first; step < w->first + w->rows; step++) {
        if (needs_last(t, step, &cursor)) continue;
        if (last >= 0 && line == 0) line = step - last;
        if (last >= 0 && step - last == line && step % line == 0) covered += line;
        last = step;
    }
    return line >= BLOCK_MOST && covered * 10 >= w->rows * 9 - 20 * line ? line : 0;
}

static tulle_status init(const tulle__triangle *t, int workers, struct window *w)
{
    tulle_status status;
    int32_t *mark = NULL;
    w->rows = t->n < ROWS_MOST ? t->n : ROWS_MOST;
    w->first = (t->n - w->rows) / 2;
    w->line = find_line(t, w);
    w->block = BLOCK_MOST;
    while (w->line && w->line % w->block) w->block--;
    if (w->line) w->first -= w->first % w->line; /* chunks begin where they will */
    w->blocks = (int)((w->rows + w->block - 1) / w->block);
    TULLE_TRY(tulle__alloc_zero((size_t)w->blocks, sizeof *w->work, "a window of rows", &w->work));
    TULLE_TRY(tulle__alloc((size_t)w->blocks + 1, sizeof *w->from, "a window of rows", &w->from));
    TULLE_TRY(tulle__alloc((size_t)w->blocks, sizeof *w->end, "a window of rows", &w->end));
    TULLE_TRY(tulle__alloc((size_t)workers, sizeof *w->now, "workers", &w->now));
    TULLE_TRY(tulle__alloc((size_t)w->blocks, sizeof *mark, "a window of rows", &mark));
    status = find_needs(t, w, mark);
out:
    tulle__free(mark);
    return status;
}

/* Nanoseconds until all blocks are done, chunks of so many blocks. */
static double play(struct window *w, int workers, int64_t chunk)
{
    double last = 0;
    for (int p = 0; p < workers; p++) w->now[p] = 0;
    for (int b = 0; b < w->blocks; b++) {
        int64_t worker = b / chunk % workers;
        double start = w->now[worker];
        for (int64_t d = w->from[b]; d < w->from[b + 1]; d++) {
            int other = w->need[d];
            if (other / chunk % workers != worker && w->end[other] + sight_ns > start) start = w->end[other] + sight_ns;
        }
        w->end[b] = w->now[worker] = start + w->work[b];
        if (w->end[b] > last) last = w->end[b];
    }
    return last;
}

tulle_status tulle__chunked_choose(const tulle__triangle *t, int workers, int64_t *chunk, double *gain)
{
    struct window w = {.rows = 0};
    double alone = 0, best = 0;
    tulle_status status = init(t, workers, &w);
    if (status == TULLE_OK) {
        int64_t least = w.line ? w.line : CHUNK_LEAST;
        *chunk = least;
        for (int b = 0; b < w.blocks; b++) alone += w.work[b];
        best = alone * 2;
        for (int64_t rows = least; rows * workers <= w.rows; rows *= 2) {
            double time = play(&w, workers, rows / w.block);
            if (time >= best) continue;
            best = time;
            *chunk = rows;
        }
        *gain = best > 0 ? alone / best : 1;
    }
    fini(&w);
    return status;
}
