/* SPDX-License-Identifier: Apache-2.0 */
#include "io/rows_converted.h"

#include "base/memory.h"
#include "tile/element.h"

enum { PIECE = 1 << 15 };

bool tulle__rows_to_convert(const tulle__binsparse_header *head, tulle_type *type)
{
    const tulle__binsparse_array *columns = &head->array[TULLE__BINSPARSE_INDICES1];
    const tulle__binsparse_array *values = &head->array[TULLE__BINSPARSE_VALUES];
    *type = values->kind == 'f' && values->size == 4 ? TULLE_F32 : TULLE_F64;
    return columns->size != 4 || columns->swapped || values->kind != 'f' || values->size < 4 || values->swapped ||
           (head->stored && (columns->offset < 0 || values->offset < 0));
}

tulle_status tulle__rows_convert_columns(
    tulle__rows_converter *c, int64_t first, int64_t count, int64_t limit, int32_t *to)
{
    int64_t *piece = NULL;
    tulle_status status = tulle__alloc(PIECE, sizeof *piece, "a piece of a file", &piece);
    for (int64_t at = 0, n; at < count && status == TULLE_OK; at += n) {
        n = count - at < PIECE ? count - at : PIECE;
        pthread_mutex_lock(&c->lock);
        status = tulle__binsparse_read_indices(c->file, TULLE__BINSPARSE_INDICES1, first + at, n, limit, piece);
        pthread_mutex_unlock(&c->lock);
        for (int64_t i = 0; i < n && status == TULLE_OK; i++) to[at + i] = (int32_t)piece[i];
    }
    tulle__free(piece);
    return status;
}

tulle_status tulle__rows_convert_values(tulle__rows_converter *c, int64_t first, int64_t count, void *to)
{
    double *piece = NULL;
    tulle__gate gate = {.type = c->values}; /* a stream counts and refuses by itself */
    tulle_status status = tulle__alloc(PIECE, sizeof *piece, "a piece of a file", &piece);
    for (int64_t at = 0, n; at < count && status == TULLE_OK; at += n) {
        n = count - at < PIECE ? count - at : PIECE;
        pthread_mutex_lock(&c->lock);
        status = tulle__binsparse_read_values(c->file, &gate, first + at, n, piece);
        pthread_mutex_unlock(&c->lock);
        for (int64_t i = 0; i < n && status == TULLE_OK; i++) tulle__element_set(c->values, to, at + i, piece[i]);
    }
    tulle__free(piece);
    return status;
}
