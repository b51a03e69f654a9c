/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/entries.h"

#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "tile/element.h"

void tulle__entries_init(tulle__entries *entries, int wide, int pattern, tulle_type type)
{
    memset(entries, 0, sizeof *entries);
    entries->wide = wide;
    entries->pattern = pattern;
    entries->type = type;
}

void tulle__entries_release(tulle__entries *entries, int64_t c)
{
    tulle__free(entries->row[c]);
    entries->row[c] = entries->col[c] = entries->val[c] = NULL;
}

void tulle__entries_fini(tulle__entries *entries)
{
    for (int64_t c = 0; c < entries->nchunks; c++) tulle__entries_release(entries, c);
    tulle__free(entries->row);
    tulle__free(entries->col);
    tulle__free(entries->val);
    tulle__entries_init(entries, entries->wide, entries->pattern, entries->type);
}

/*
 * Maps a chunk's pages by one call instead of one fault a page, which took a fifth of a fast
 * reader's time.
 */
static void populate(void *chunk, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = 4096; /* a larger one makes this a no-op that fails */
    uintptr_t begin = ((uintptr_t)chunk + page - 1) & ~(page - 1), end = ((uintptr_t)chunk + bytes) & ~(page - 1);
    if (end > begin) (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)chunk;
    (void)bytes;
#endif
}

static tulle_status more_pointers(tulle__entries *entries)
{
    int64_t capacity = entries->capacity ? 2 * entries->capacity : 16;
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof(void *), "chunk list of entries", &entries->row));
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof(void *), "chunk list of entries", &entries->col));
    TULLE_CALL(tulle__realloc((size_t)capacity, sizeof(void *), "chunk list of entries", &entries->val));
    entries->capacity = capacity;
    return TULLE_OK;
}

tulle_status tulle__entries_grow(tulle__entries *entries)
{
    size_t index = entries->wide ? sizeof(int64_t) : sizeof(int32_t);
    size_t value = entries->pattern ? 0 : tulle_type_size(entries->type);
    char *chunk;
    if (entries->nchunks == entries->capacity) TULLE_CALL(more_pointers(entries));
    TULLE_CALL(tulle__alloc(TULLE__ENTRIES_CHUNK, 2 * index + value, "entries", &chunk));
    if (entries->nchunks) populate(chunk, TULLE__ENTRIES_CHUNK * (2 * index + value)); /* the first may stay empty */
    entries->row[entries->nchunks] = chunk;
    entries->col[entries->nchunks] = chunk + TULLE__ENTRIES_CHUNK * index;
    entries->val[entries->nchunks++] = value ? chunk + 2 * TULLE__ENTRIES_CHUNK * index : NULL;
    return TULLE_OK;
}

tulle_status tulle__entries_add(tulle__entries *entries, int64_t row, int64_t col, double value)
{
    int64_t c = entries->count / TULLE__ENTRIES_CHUNK, i = entries->count % TULLE__ENTRIES_CHUNK;
    if (c == entries->nchunks) {
        TULLE_CALL(tulle__entries_grow(entries));
    }
    if (entries->wide) {
        ((int64_t *)entries->row[c])[i] = row;
        ((int64_t *)entries->col[c])[i] = col;
    } else {
        ((int32_t *)entries->row[c])[i] = (int32_t)row;
        ((int32_t *)entries->col[c])[i] = (int32_t)col;
    }
    if (!entries->pattern) {
        tulle__element_set(entries->type, entries->val[c], i, value);
    }
    entries->count++;
    return TULLE_OK;
}

int64_t tulle__entries_row(const tulle__entries *entries, int64_t e)
{
    int64_t c = e / TULLE__ENTRIES_CHUNK, i = e % TULLE__ENTRIES_CHUNK;
    return entries->wide ? ((const int64_t *)entries->row[c])[i] : ((const int32_t *)entries->row[c])[i];
}

int64_t tulle__entries_col(const tulle__entries *entries, int64_t e)
{
    int64_t c = e / TULLE__ENTRIES_CHUNK, i = e % TULLE__ENTRIES_CHUNK;
    return entries->wide ? ((const int64_t *)entries->col[c])[i] : ((const int32_t *)entries->col[c])[i];
}

double tulle__entries_val(const tulle__entries *entries, int64_t e)
{
    if (entries->pattern) return 1;
    int64_t c = e / TULLE__ENTRIES_CHUNK, i = e % TULLE__ENTRIES_CHUNK;
    return tulle__element(entries->type, entries->val[c], i);
}
