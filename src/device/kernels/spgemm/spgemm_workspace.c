/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's workspace in a sparse product. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "device/kernels/spgemm/spgemm.h"

void tulle__spgemm_workspace_init(tulle__spgemm_workspace *space, const tulle__spgemm_plan *plan)
{
    *space = (tulle__spgemm_workspace){.plan = plan};
}

void tulle__spgemm_workspace_fini(tulle__spgemm_workspace *space)
{
    tulle__free(space->segment);
    tulle__free(space->dense);
    tulle__free(space->bits);
    tulle__free(space->word);
    tulle__free(space->summary);
    tulle__free(space->seen);
    tulle__free(space->list);
    tulle__free(space->key);
    tulle__free(space->slot);
    tulle__free(space->order);
    tulle__free(space->order2);
    tulle__free(space->run);
    tulle__free(space->offset_terms);
    tulle__free(space->factor);
    tulle__free(space->product);
    tulle__free(space->row.place);
    tulle__free(space->panels.term);
    tulle__free(space->panels.factor);
    tulle__free(space->panels.sums);
    tulle__free(space->panels.bits);
    tulle__spgemm_drop_chunk(&space->made);
}

/* Replaces a block whose contents need not be kept; doubling keeps the number of replacements small. */
static tulle_status replace(void *block, int64_t count, size_t size, const char *what)
{
    void *old;
    memcpy(&old, block, sizeof old);
    tulle__free(old);
    memset(block, 0, sizeof old);
    return tulle__alloc((size_t)count, size, what, block);
}

static int64_t grown(int64_t capacity, int64_t count)
{
    return count > 2 * capacity ? count : 2 * capacity;
}

tulle_status tulle__spgemm_workspace_segments(tulle__spgemm_workspace *space, int64_t count, size_t size)
{
    if (count <= space->segment_capacity) return TULLE_OK;
    count = grown(space->segment_capacity, count < 64 ? 64 : count);
    space->segment_capacity = 0;
    TULLE_CALL(replace(&space->segment, count, size, "the rows of B under a row of C"));
    space->segment_capacity = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_dense(tulle__spgemm_workspace *space, size_t size)
{
    if (space->summary) return TULLE_OK;
    size_t n = (size_t)space->plan->task->n, rows = space->plan->runs ? TULLE__RUN_ROWS : 1;
    if (!space->dense)
        TULLE_CALL(tulle__alloc_zero(rows * (n + TULLE__PAD), size, "dense rows of sums", &space->dense));
    if (!space->bits)
        TULLE_CALL(
            tulle__alloc_zero(n / 64 + 2 + TULLE__PAD, sizeof *space->bits, "the bits of a row of C", &space->bits));
    if (!space->word)
        TULLE_CALL(tulle__alloc(n / 64 + 2 + TULLE__PAD, sizeof *space->word, "the words of a row of C", &space->word));
    if (!space->seen) TULLE_CALL(tulle__alloc_zero(n + 64, 1, "the marks of a row of C", &space->seen));
    return tulle__alloc_zero(n / 4096 + 2, sizeof *space->summary, "the bits of a row of C", &space->summary);
}

tulle_status tulle__spgemm_workspace_slots(tulle__spgemm_workspace *space, int64_t count, size_t size)
{
    if (count <= space->hash_capacity) return TULLE_OK;
    count = grown(space->hash_capacity, count < 1024 ? 1024 : count);
    space->hash_capacity = 0;
    TULLE_CALL(replace(&space->key, count, sizeof *space->key, "the keys of a hash table"));
    TULLE_CALL(replace(&space->slot, count, size, "the sums of a hash table"));
    for (int64_t s = 0; s < count; s++) space->key[s] = TULLE__EMPTY;
    space->hash_capacity = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_list(tulle__spgemm_workspace *space, int64_t count)
{
    if (count <= space->list_capacity) return TULLE_OK;
    count = grown(space->list_capacity, count < 256 ? 256 : count);
    space->list_capacity = 0;
    TULLE_CALL(replace(&space->list, count, sizeof *space->list, "the columns of a row"));
    space->list_capacity = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_order(tulle__spgemm_workspace *space, int64_t count)
{
    if (count <= space->order_capacity) return TULLE_OK;
    count = grown(space->order_capacity, count < 256 ? 256 : count);
    space->order_capacity = 0;
    TULLE_CALL(replace(&space->order, count, sizeof *space->order, "the columns of a row to be sorted"));
    TULLE_CALL(replace(&space->order2, count, sizeof *space->order2, "the columns of a row to be sorted"));
    space->order_capacity = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_runs(tulle__spgemm_workspace *space, int64_t count)
{
    if (count <= space->run_capacity) return TULLE_OK;
    count = grown(space->run_capacity, count < 256 ? 256 : count);
    TULLE_CALL(tulle__realloc((size_t)count, sizeof *space->run, "the runs of rows of C", &space->run));
    space->run_capacity = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_offsets(tulle__spgemm_workspace *space, int64_t count, size_t size, size_t factor)
{
    tulle__offset_row *row = &space->row;
    if (count <= row->most) return TULLE_OK;
    count = grown(row->most, count < 64 ? 64 : count);
    row->most = row->nterms = row->nnz = 0;
    TULLE_CALL(replace(&space->offset_terms, 2 * count, size, "the rows of B under a stretch of C"));
    TULLE_CALL(replace(&space->factor, count, factor, "the values of A for a stretch of C"));
    row->most = count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_products(tulle__spgemm_workspace *space, int64_t count, size_t size)
{
    tulle__offset_row *row = &space->row;
    row->nterms = row->nnz = 0;
    if (count <= row->capacity) return TULLE_OK;
    count = grown(row->capacity, count < 256 ? 256 : count);
    row->capacity = 0;
    TULLE_CALL(replace(&space->product, count, size, "the products of a row of C"));
    TULLE_CALL(replace(&row->place, 4 * count, sizeof *row->place, "the places of products in a row of C"));
    row->capacity = count;
    row->col = row->place + count;
    row->first = row->col + count;
    row->last = row->first + count;
    return TULLE_OK;
}

tulle_status tulle__spgemm_workspace_panels(
    tulle__spgemm_workspace *space, int64_t count, size_t term_size, size_t size)
{
    tulle__panel_workspace *panels = &space->panels;
    const size_t words = (size_t)space->plan->npanels * TULLE__PANEL_WORDS * TULLE__PANEL_ROWS;
    if (!panels->bits) TULLE_CALL(tulle__alloc(words, sizeof *panels->bits, "the bits of rows of C", &panels->bits));
    if (!panels->sums)
        TULLE_CALL(tulle__alloc((size_t)TULLE__PANEL * TULLE__PANEL_ROWS, size, "the sums of a panel", &panels->sums));
    if (count <= panels->capacity) return TULLE_OK;
    count = grown(panels->capacity, count < 256 ? 256 : count);
    panels->capacity = 0;
    TULLE_CALL(replace(&panels->term, count, term_size, "the rows of B under rows of C"));
    TULLE_CALL(replace(&panels->factor, count * TULLE__PANEL_ROWS, size, "the values of A for rows of C"));
    panels->capacity = count;
    return TULLE_OK;
}

/* Insertion for few; else by bytes from the lowest up, as many as the greatest key has (LSD radix sort). */
void tulle__spgemm_sort(tulle__spgemm_workspace *space, int64_t count)
{
    uint64_t *x = space->order, *y = space->order2, all = 0;
    if (count <= 48) {
        for (int64_t i = 1; i < count; i++) {
            uint64_t item = x[i];
            int64_t j = i;
            for (; j > 0 && x[j - 1] > item; j--) x[j] = x[j - 1];
            x[j] = item;
        }
        return;
    }
    for (int64_t i = 0; i < count; i++) all |= x[i];
    for (int shift = 32; shift < 64 && all >> shift; shift += 8) {
        int64_t start[256] = {0}, at = 0;
        for (int64_t i = 0; i < count; i++) start[(x[i] >> shift) & 255]++;
        for (int d = 0; d < 256; d++) {
            int64_t here = start[d];
            start[d] = at;
            at += here;
        }
        for (int64_t i = 0; i < count; i++) y[start[(x[i] >> shift) & 255]++] = x[i];
        uint64_t *swap = x;
        x = y;
        y = swap;
    }
    space->order = x;
    space->order2 = y;
}
