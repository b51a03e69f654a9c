/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of C of which entries are selected (task->select). A thread makes a chunk of rows in a buffer of its own,
 * selects from each row there, and copies what is left; C is placed when all chunks are made. So no more than a chunk a
 * thread exists of all of C, and each multiplication is done once, though nobody knows before how many entries there
 * will be.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"
#include "kernel/row_selection.h"

/* The selected entries of a chunk's rows. */
struct chunk {
    int64_t nnz, before; /* before: entries of the chunks before it */
    int32_t *col;
    char *val;
};

struct selected {
    tulle__pool *pool;
    const tulle__spgemm_plan *plan;
    const tulle__spgemm_rows *rows;
    size_t size; /* of a value */
    int32_t *count;
    struct chunk *chunk;
    tulle__csr_result C;
    atomic_int_fast64_t next;
    atomic_int failed;
};

/* A thread's buffer, of all of a chunk's entries. */
struct buffer {
    int64_t room;
    int32_t *col;
    char *val;
};

static void drop_buffer(struct buffer *b)
{
    tulle__free(b->col);
    tulle__free(b->val);
    *b = (struct buffer){.room = 0};
}

static tulle_status grow(struct buffer *b, int64_t room, size_t size)
{
    tulle_status status;
    if (room <= b->room) return TULLE_OK;
    drop_buffer(b);
    TULLE_TRY(tulle__alloc((size_t)room, sizeof *b->col, "the columns of a chunk of C", &b->col));
    TULLE_TRY(tulle__alloc((size_t)room, size, "the values of a chunk of C", &b->val));
    b->room = room;
out:
    return status;
}

static int64_t next_chunk(struct selected *s)
{
    if (atomic_load_explicit(&s->failed, memory_order_relaxed)) return s->plan->nchunks;
    return tulle__pool_take(s->pool, &s->next, s->plan->nchunks);
}

static tulle_status keep(struct selected *s, struct chunk *chunk, const struct buffer *b)
{
    tulle_status status;
    const size_t nnz = (size_t)chunk->nnz;
    TULLE_TRY(tulle__alloc(nnz, sizeof *chunk->col, "the selected columns of a chunk of C", &chunk->col));
    TULLE_TRY(tulle__alloc(nnz, s->size, "the selected values of a chunk of C", &chunk->val));
    if (nnz) memcpy(chunk->col, b->col, nnz * sizeof *chunk->col);
    if (nnz) memcpy(chunk->val, b->val, nnz * s->size);
out:
    return status;
}

static tulle_status make_chunk(struct selected *s, tulle__spgemm_workspace *space, int64_t c, struct buffer *b)
{
    tulle_status status;
    const tulle__spgemm_plan *plan = s->plan;
    const int64_t begin = plan->chunk_row[c], end = plan->chunk_row[c + 1];
    TULLE_TRY(grow(b, tulle__spgemm_chunk_bound(plan, c) + TULLE__PAD, s->size));
    TULLE_TRY(s->rows->write(space, begin, end, s->count, b->col, b->val, b->room));
    s->chunk[c].nnz =
        tulle__select_rows(plan->task->select, plan->task->type, begin, end - begin, s->count + begin, b->col, b->val);
    TULLE_TRY(keep(s, &s->chunk[c], b));
out:
    return status;
}

static tulle_status make_chunks(void *arg, int thread, int nthreads)
{
    struct selected *s = arg;
    struct buffer buffer = {.room = 0};
    tulle__spgemm_workspace space;
    tulle_status status = TULLE_OK;
    (void)thread;
    (void)nthreads;
    tulle__spgemm_workspace_init(&space, s->plan);
    for (int64_t c; status == TULLE_OK && (c = next_chunk(s)) < s->plan->nchunks;)
        status = make_chunk(s, &space, c, &buffer);
    drop_buffer(&buffer);
    tulle__spgemm_workspace_fini(&space);
    if (status != TULLE_OK) atomic_store_explicit(&s->failed, 1, memory_order_relaxed);
    return status;
}

static tulle_status copy_chunks(void *arg, int thread, int nthreads)
{
    struct selected *s = arg;
    (void)thread;
    (void)nthreads;
    for (int64_t c; (c = next_chunk(s)) < s->plan->nchunks;) {
        const struct chunk *chunk = &s->chunk[c];
        const size_t to = (size_t)chunk->before, nnz = (size_t)chunk->nnz;
        int64_t at = chunk->before;
        for (int64_t i = s->plan->chunk_row[c]; i < s->plan->chunk_row[c + 1]; i++)
            s->C.rowptr[i + 1] = at += s->count[i];
        if (!nnz) continue;
        memcpy(s->C.colind + to, chunk->col, nnz * sizeof *chunk->col);
        memcpy((char *)s->C.val + to * s->size, chunk->val, nnz * s->size);
    }
    return TULLE_OK;
}

static tulle_status run(struct selected *s, tulle__pool_body body)
{
    atomic_store_explicit(&s->next, 0, memory_order_relaxed);
    return tulle__pool_run(s->pool, body, s);
}

tulle_status tulle__spgemm_selected(const tulle__spgemm_plan *plan, const tulle__spgemm_rows *rows, tulle__pool *pool,
    tulle__csr_place place, void *context, tulle__csr_result *C)
{
    tulle_status status;
    const size_t chunks = (size_t)plan->nchunks;
    struct selected s = {.pool = pool, .plan = plan, .rows = rows, .size = tulle_type_size(plan->task->type)};
    int64_t nnz = 0;
    TULLE_TRY(tulle__alloc((size_t)plan->task->m, sizeof *s.count, "the entries of the rows of C", &s.count));
    TULLE_TRY(tulle__alloc_zero(chunks, sizeof *s.chunk, "chunks of rows", &s.chunk));
    TULLE_TRY(run(&s, make_chunks));
    for (size_t c = 0; c < chunks; c++) {
        s.chunk[c].before = nnz;
        nnz += s.chunk[c].nnz;
    }
    TULLE_TRY(place(context, plan->task->m, nnz, &s.C));
    s.C.nnz = nnz;
    s.C.rowptr[0] = 0;
    TULLE_TRY(run(&s, copy_chunks));
    *C = s.C;
out:
    for (size_t c = 0; s.chunk && c < chunks; c++) {
        tulle__free(s.chunk[c].col);
        tulle__free(s.chunk[c].val);
    }
    tulle__free(s.chunk);
    tulle__free(s.count);
    return status;
}
