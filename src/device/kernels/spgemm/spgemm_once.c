/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of C computed once, without a count before: a thread makes a chunk in a buffer of its own, which stays
 * in its cache, and copies it to its place as soon as the entries of all chunks before are known. Chunks are taken in
 * their order, and one whose place is not known yet waits in one of a few buffers while the next is made; so threads
 * wait for each other only where one is several chunks behind. The first chunk without a place is always being
 * made.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/spin.h"
#include "device/kernels/spgemm/spgemm.h"

enum { BUFFERS = 4 };

struct once {
    tulle__pool *pool;
    const tulle__spgemm_plan *plan;
    const tulle__spgemm_rows *rows;
    size_t size; /* of a value */
    int64_t capacity;
    int32_t *count;
    atomic_int_fast64_t *before; /* [nchunks + 1]: entries before each chunk; -1: not known yet */
    tulle__csr_result *C;
    atomic_int_fast64_t next;
    atomic_int stopped; /* by a failure, or for want of room */
    atomic_int full;
};

/* Buffers first .. first + n - 1, by turns, hold what is made. */
struct ring {
    tulle__made_chunk made[BUFFERS];
    int first, n;
};

/* Entries of C's rows in a chunk are at most that many. */
static int64_t chunk_bound(const tulle__spgemm_plan *plan, int64_t c)
{
    int64_t flops = plan->chunk_flops[c + 1] - plan->chunk_flops[c];
    int64_t rows = plan->chunk_row[c + 1] - plan->chunk_row[c], all;
    if (__builtin_mul_overflow(rows, plan->task->n, &all)) return flops;
    return flops < all ? flops : all;
}

int64_t tulle__spgemm_bound(const tulle__spgemm_plan *plan)
{
    int64_t sum = 0;
    for (int64_t c = 0; c < plan->nchunks; c++) sum += chunk_bound(plan, c);
    return sum;
}

void tulle__spgemm_drop_chunk(tulle__made_chunk *made)
{
    tulle__free(made->colind);
    tulle__free(made->val);
    *made = (tulle__made_chunk){.nnz = 0};
}

static tulle_status grow(tulle__made_chunk *made, int64_t capacity, size_t size)
{
    if (capacity <= made->capacity) return TULLE_OK;
    tulle__spgemm_drop_chunk(made);
    TULLE_CALL(tulle__alloc((size_t)capacity, sizeof *made->colind, "the columns of a chunk of C", &made->colind));
    TULLE_CALL(tulle__alloc((size_t)capacity, size, "the values of a chunk of C", &made->val));
    made->capacity = capacity;
    return TULLE_OK;
}

tulle_status tulle__spgemm_make_chunk(
    tulle__spgemm_workspace *space, const tulle__spgemm_rows *rows, int64_t c, int32_t *count, tulle__made_chunk *made)
{
    const tulle__spgemm_plan *plan = space->plan;
    const int64_t begin = plan->chunk_row[c], end = plan->chunk_row[c + 1];
    TULLE_CALL(grow(made, chunk_bound(plan, c) + TULLE__PAD, tulle_type_size(plan->task->type)));
    TULLE_CALL(rows->write(space, begin, end, count, made->colind, made->val, made->capacity));
    made->chunk = c;
    made->nnz = 0;
    for (int64_t i = begin; i < end; i++) made->nnz += count[i];
    return TULLE_OK;
}

static tulle_status stop(struct once *o, tulle_status status)
{
    if (status != TULLE_OK) atomic_store_explicit(&o->stopped, 1, memory_order_relaxed);
    return status;
}

/* Places the oldest chunk if what is before it is known. */
static int place_oldest(struct once *o, struct ring *ring)
{
    const tulle__made_chunk *made = &ring->made[ring->first];
    int64_t at = atomic_load_explicit(&o->before[made->chunk], memory_order_acquire);
    if (at < 0) return 0;
    if (at + made->nnz > o->capacity) {
        atomic_store_explicit(&o->full, 1, memory_order_relaxed);
        atomic_store_explicit(&o->stopped, 1, memory_order_relaxed);
        return 0;
    }
    atomic_store_explicit(&o->before[made->chunk + 1], at + made->nnz, memory_order_release);
    memcpy(o->C->colind + at, made->colind, (size_t)made->nnz * sizeof *made->colind);
    memcpy((char *)o->C->val + (size_t)at * o->size, made->val, (size_t)made->nnz * o->size);
    ring->first = (ring->first + 1) % BUFFERS;
    ring->n--;
    return 1;
}

/* Places what can be placed; waits until no more than `most` are left, or others have stopped. */
static void place_made(struct once *o, struct ring *ring, int most)
{
    for (int turn = 0; ring->n; turn++) {
        if (place_oldest(o, ring)) {
            turn = 0;
            continue;
        }
        if (ring->n <= most || atomic_load_explicit(&o->stopped, memory_order_relaxed)) return;
        tulle__spin(turn);
    }
}

static tulle_status make_chunks(void *arg, int thread, int nthreads)
{
    struct once *o = arg;
    struct ring ring = {.n = 0};
    tulle__spgemm_workspace space;
    tulle_status status = TULLE_OK;
    (void)thread;
    (void)nthreads;
    tulle__spgemm_workspace_init(&space, o->plan);
    while (!atomic_load_explicit(&o->stopped, memory_order_relaxed)) {
        const int64_t c = tulle__pool_take(o->pool, &o->next, o->plan->nchunks);
        if (c >= o->plan->nchunks) break;
        TULLE_TRY(tulle__spgemm_make_chunk(&space, o->rows, c, o->count, &ring.made[(ring.first + ring.n) % BUFFERS]));
        ring.n++;
        place_made(o, &ring, BUFFERS - 1);
    }
    place_made(o, &ring, 0);
out:
    for (int b = 0; b < BUFFERS; b++) tulle__spgemm_drop_chunk(&ring.made[b]);
    tulle__spgemm_workspace_fini(&space);
    return stop(o, status);
}

tulle_status tulle__spgemm_once(const tulle__spgemm_plan *plan, const tulle__spgemm_rows *rows, tulle__pool *pool,
    int64_t capacity, int32_t *count, int64_t *before, tulle__csr_result *C, int *fits)
{
    tulle_status status;
    struct once o = {.pool = pool,
        .plan = plan,
        .rows = rows,
        .size = tulle_type_size(plan->task->type),
        .capacity = capacity,
        .count = count,
        .C = C};
    TULLE_TRY(tulle__alloc((size_t)plan->nchunks + 1, sizeof *o.before, "chunks of rows", &o.before));
    for (int64_t c = 0; c <= plan->nchunks; c++) atomic_init(&o.before[c], c ? -1 : 0);
    TULLE_TRY(tulle__pool_run(pool, make_chunks, &o));
    *fits = !atomic_load_explicit(&o.full, memory_order_relaxed);
    for (int64_t c = 0; *fits && c <= plan->nchunks; c++)
        before[c] = atomic_load_explicit(&o.before[c], memory_order_relaxed);
out:
    tulle__free(o.before);
    return status;
}
