/* SPDX-License-Identifier: Apache-2.0 */
#include "io/binsparse/binsparse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "io/binsparse/binsparse_file.h"
#include "io/binsparse/hdf5_file.h"

enum { PIECE = TULLE__BINSPARSE_PIECE };

const tulle__binsparse_header *tulle__binsparse_head(const tulle__binsparse *file)
{
    return &file->header;
}

static tulle_status copy_text(const char *text, char **copy)
{
    TULLE_CALL(tulle__alloc(strlen(text) + 1, 1, "a path", copy));
    memcpy(*copy, text, strlen(text) + 1);
    return TULLE_OK;
}

/* Checks that contiguous data sets lie inside the file. */
static tulle_status check_extents(tulle__binsparse *file)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0)
        return tulle__fail(TULLE_ERR_IO, "%s: cannot be examined: %s", file->path, strerror(errno));
    file->bytes = (int64_t)info.st_size;
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++) {
        const tulle__binsparse_array *array = &file->header.array[w];
        __int128 end = (__int128)array->offset + (__int128)array->count * array->size;
        if (array->present && array->offset >= 0 && end > info.st_size)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' reaches beyond the end of the file", file->path,
                file->header.names[w]);
    }
    return TULLE_OK;
}

/* Describes compressed rows or columns without JSON, from their data sets. */
static tulle_status describe_foreign(const char *path, const tulle__hdf5_found *found, tulle__binsparse_header *head)
{
    const tulle__binsparse_array *pointers = &head->array[TULLE__BINSPARSE_POINTERS],
                                 *indices = &head->array[TULLE__BINSPARSE_INDICES1],
                                 *values = &head->array[TULLE__BINSPARSE_VALUES];
    static const int needed[] = {TULLE__BINSPARSE_POINTERS, TULLE__BINSPARSE_INDICES1, TULLE__BINSPARSE_VALUES};
    head->rows = found->rows;
    head->cols = found->cols;
    head->format = found->by_columns ? TULLE__BINSPARSE_CSC : TULLE__BINSPARSE_CSR;
    head->block = 1;
    head->nnz = head->span = -1;
    head->stored = head->count = values->count;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!head->array[needed[i]].present)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: has no data set '%s'", path, head->names[needed[i]]);
    if (pointers->kind == 'f' || indices->kind == 'f')
        return tulle__fail(TULLE_ERR_FORMAT, "%s: the data set '%s' holds floats instead of integers", path,
            head->names[pointers->kind == 'f' ? TULLE__BINSPARSE_POINTERS : TULLE__BINSPARSE_INDICES1]);
    if (head->rows < 0 || head->cols < 0)
        return tulle__fail(TULLE_ERR_FORMAT, "%s: a shape of %" PRId64 " x %" PRId64, path, head->rows, head->cols);
    const int64_t lines = found->by_columns ? head->cols : head->rows;
    if (pointers->count != lines + 1 || indices->count != values->count)
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: %" PRId64 " x %" PRId64 ", but '%s' has %" PRId64 " numbers, '%s' %" PRId64 " and '%s' %" PRId64, path,
            head->rows, head->cols, head->names[TULLE__BINSPARSE_POINTERS], pointers->count,
            head->names[TULLE__BINSPARSE_INDICES1], indices->count, head->names[TULLE__BINSPARSE_VALUES],
            values->count);
    return TULLE_OK;
}

size_t tulle__binsparse_path(const char *operand)
{
    static const char *const endings[] = {".h5ad:", ".h5:", ".hdf5:"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *at = strstr(operand, endings[i]);
        if (at) return (size_t)(at - operand) + strlen(endings[i]) - 1;
    }
    return 0;
}

/* The path, and the group where the operand or the caller names one. */
static tulle_status name_file(const char *operand, const char *group, tulle__binsparse *file)
{
    const size_t length = tulle__binsparse_path(operand);
    TULLE_CALL(copy_text(operand, &file->path));
    if (length) {
        file->path[length] = '\0';
        if (!group) group = operand + length + 1;
    }
    return group ? copy_text(group, &file->group) : TULLE_OK;
}

/* True if a data set is read through HDF5. */
static bool any_in_pieces(const tulle__binsparse_header *head)
{
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++)
        if (head->array[w].present && head->array[w].offset < 0) return true;
    return false;
}

tulle_status tulle__binsparse_open(const char *operand, const char *group, tulle__binsparse **file)
{
    tulle__binsparse *made;
    tulle__hdf5_found found = {.json = NULL};
    tulle_status status = TULLE_OK;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *made, "a Binsparse file", &made));
    made->fd = -1;
    TULLE_TRY(name_file(operand, group, made));
    made->fd = open(strcmp(made->path, "-") == 0 ? "/dev/stdin" : made->path, O_RDONLY | O_CLOEXEC);
    if (made->fd < 0) TULLE_TRY(tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", made->path, strerror(errno)));
    TULLE_TRY(tulle__hdf5_examine(made->path, made->group, &found));
    made->header.names = found.names;
    memcpy(made->header.array, found.array, sizeof found.array);
    TULLE_TRY(found.json ? tulle__binsparse_describe(made->path, found.json, &made->header)
                         : describe_foreign(made->path, &found, &made->header));
    if (found.group) {
        tulle__free(made->group);
        made->group = found.group;
        found.group = NULL;
    }
    TULLE_TRY(check_extents(made));
    if (any_in_pieces(&made->header)) TULLE_TRY(tulle__hdf5_sets_new(&made->sets));
    tulle__free(found.json);
    *file = made;
    return TULLE_OK;
out:
    tulle__free(found.json);
    tulle__free(found.group);
    tulle__binsparse_close(made);
    return status;
}

void tulle__binsparse_close(tulle__binsparse *file)
{
    if (!file) return;
    tulle__hdf5_sets_free(file->sets);
    if (file->fd >= 0) close(file->fd);
    tulle__free(file->path);
    tulle__free(file->group);
    tulle__free(file);
}

void tulle__binsparse_watch(tulle__binsparse *file, tulle__progress_meter *meter, int64_t values)
{
    file->meter = meter;
    file->wanted = values;
    file->done = 0;
    tulle__progress_meter_start(meter, "reading", "B", file->bytes);
}

static tulle_status read_bytes(const tulle__binsparse *file, void *to, size_t bytes, int64_t offset)
{
    char *p = to;
    while (bytes) {
        ssize_t n = pread(file->fd, p, bytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", file->path, strerror(errno));
        if (n == 0) return tulle__fail(TULLE_ERR_IO, "%s: ends early, at byte %" PRId64, file->path, offset);
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

static tulle__stored stored_of(const tulle__binsparse_array *array)
{
    return (tulle__stored){array->kind, array->size, array->swapped};
}

/* Numbers first .. first + count - 1, at most a piece, as they lie in the file. */
static tulle_status read_raw(const tulle__binsparse *file, int which, int64_t first, int64_t count, char *raw)
{
    const tulle__binsparse_array *array = &file->header.array[which];
    return read_bytes(file, raw, (size_t)(count * array->size), array->offset + first * array->size);
}

tulle_status tulle__binsparse_piece(
    const tulle__binsparse *file, int which, int64_t first, int64_t count, char *raw, int64_t *to)
{
    const tulle__binsparse_array *array = &file->header.array[which];
    if (count == 0) return TULLE_OK;
    if (array->offset < 0)
        return tulle__hdf5_read(file->sets, file->path, file->group, file->header.names, which, first, count, 'i', to);
    TULLE_CALL(read_raw(file, which, first, count, raw));
    for (int64_t i = 0; i < count; i++) to[i] = tulle__stored_integer(stored_of(array), raw + i * array->size);
    return TULLE_OK;
}

static tulle_status check_range(const tulle__binsparse *file, int which, int64_t first, int64_t count)
{
    const tulle__binsparse_array *array = &file->header.array[which];
    if (array->present && first >= 0 && count >= 0 && count <= array->count - first) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG, "%s: numbers %" PRId64 " + %" PRId64 " are outside the data set '%s'", file->path,
        first, count, file->header.names[which]);
}

static tulle_status check_pointers(const tulle__binsparse *file, int64_t first, int64_t count, const int64_t *p)
{
    const tulle__binsparse_header *head = &file->header;
    int64_t last = head->array[TULLE__BINSPARSE_POINTERS].count - 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t k = first + i;
        int fine = p[i] >= (i ? p[i - 1] : 0) && p[i] <= head->count && (k > 0 || p[i] == 0) &&
                   (k < last || p[i] == head->count);
        if (!fine)
            return tulle__fail(TULLE_ERR_FORMAT,
                "%s: number %" PRId64 " of the data set '%s' is %" PRId64 ": pointers must grow from 0 to %" PRId64,
                file->path, k, head->names[TULLE__BINSPARSE_POINTERS], p[i], head->count);
    }
    return TULLE_OK;
}

static tulle_status check_indices(
    const tulle__binsparse *file, int which, int64_t first, int64_t count, int64_t limit, const int64_t *index)
{
    for (int64_t i = 0; i < count; i++)
        if ((uint64_t)index[i] >= (uint64_t)limit)
            return tulle__fail(TULLE_ERR_FORMAT,
                "%s: number %" PRId64 " of the data set '%s' is %" PRId64 ", but indices must be below %" PRId64,
                file->path, first + i, file->header.names[which], index[i], limit);
    return TULLE_OK;
}

tulle_status tulle__binsparse_read_pointers(tulle__binsparse *file, int64_t first, int64_t count, int64_t *to)
{
    TULLE__SCOPED char *raw = NULL;
    TULLE_CALL(check_range(file, TULLE__BINSPARSE_POINTERS, first, count));
    TULLE_CALL(tulle__alloc(PIECE, 8, "a piece of a Binsparse file", &raw));
    for (int64_t i = 0, n; i < count; i += n) {
        n = count - i < PIECE ? count - i : PIECE;
        TULLE_CALL(tulle__binsparse_piece(file, TULLE__BINSPARSE_POINTERS, first + i, n, raw, to + i));
    }
    return check_pointers(file, first, count, to);
}

tulle_status tulle__binsparse_read_indices(
    tulle__binsparse *file, tulle__binsparse_which which, int64_t first, int64_t count, int64_t limit, int64_t *to)
{
    TULLE__SCOPED char *raw = NULL;
    int set = (int)which;
    TULLE_CALL(check_range(file, set, first, count));
    TULLE_CALL(tulle__alloc(PIECE, 8, "a piece of a Binsparse file", &raw));
    for (int64_t i = 0, n; i < count; i += n) {
        n = count - i < PIECE ? count - i : PIECE;
        TULLE_CALL(tulle__binsparse_piece(file, set, first + i, n, raw, to + i));
        TULLE_CALL(check_indices(file, set, first + i, n, limit, to + i));
    }
    return TULLE_OK;
}

/* Values first .. first + count - 1, count <= PIECE; raw as in tulle__binsparse_piece. */
static tulle_status read_reals(
    tulle__binsparse *file, tulle__gate *gate, int64_t first, int64_t count, char *raw, double *real)
{
    const tulle__binsparse_array *array = &file->header.array[TULLE__BINSPARSE_VALUES];
    const int iso = file->header.iso, which = TULLE__BINSPARSE_VALUES;
    const int64_t from = iso ? 0 : first, n = iso ? 1 : count;
    tulle__stored as = array->offset < 0 ? (tulle__stored){array->kind, 8, 0} : stored_of(array);
    if (count == 0) return TULLE_OK;
    TULLE_CALL(array->offset < 0 ? tulle__hdf5_read(file->sets, file->path, file->group, file->header.names, which,
                                       from, n, array->kind, raw)
                                 : read_raw(file, which, from, n, raw));
    tulle__gate_numbers(gate, as, raw, n, real);
    for (int64_t i = 1; iso && i < count; i++) real[i] = real[0];
    file->done += count;
    tulle__progress_meter_set(file->meter, file->done, file->wanted);
    return TULLE_OK;
}

tulle_status tulle__binsparse_read_values(
    tulle__binsparse *file, tulle__gate *gate, int64_t first, int64_t count, double *to)
{
    TULLE__SCOPED char *raw = NULL;
    if (first < 0 || count < 0 || count > file->header.stored - first)
        return tulle__fail(TULLE_ERR_ARG, "%s: values %" PRId64 " + %" PRId64 " are outside", file->path, first, count);
    TULLE_CALL(tulle__alloc(PIECE, 8, "a piece of a Binsparse file", &raw));
    for (int64_t i = 0, n; i < count; i += n) {
        n = count - i < PIECE ? count - i : PIECE;
        TULLE_CALL(read_reals(file, gate, first + i, n, raw, to + i));
    }
    return TULLE_OK;
}

tulle_status tulle__binsparse_read_block(tulle__binsparse *file, tulle__gate *gate, int64_t row, int64_t rows,
    int64_t col, int64_t cols, tulle_order order, int64_t ld, void *to)
{
    const tulle__binsparse_header *head = &file->header;
    if (head->format < TULLE__BINSPARSE_DMATR || row < 0 || rows < 0 || col < 0 || cols < 0 ||
        rows > head->rows - row || cols > head->cols - col)
        return tulle__fail(TULLE_ERR_ARG, "%s: no such block of a dense matrix", file->path);
    if (!rows || !cols) return TULLE_OK;
    /* the file consists of `outer` lines of `inner` values */
    int by_rows = head->format == TULLE__BINSPARSE_DMATR, same = by_rows == (order == TULLE_ROW_MAJOR);
    int64_t inner = by_rows ? head->cols : head->rows;
    int64_t outer0 = by_rows ? row : col, outers = by_rows ? rows : cols;
    int64_t inner0 = by_rows ? col : row, inners = by_rows ? cols : rows;
    int64_t outer_step = same ? ld : 1, inner_step = same ? 1 : ld;
    int64_t lines = inners == inner ? outers : 1; /* contiguous lines */
    TULLE__SCOPED char *raw = NULL;
    TULLE__SCOPED double *real = NULL;
    TULLE_CALL(tulle__alloc(PIECE, 8, "a piece of a Binsparse file", &raw));
    TULLE_CALL(tulle__alloc(PIECE, sizeof *real, "a piece of a Binsparse file", &real));
    for (int64_t o = 0; o < outers; o += lines) {
        int64_t line = o, place = 0;
        for (int64_t v = 0, n; v < lines * inners; v += n) {
            n = lines * inners - v < PIECE ? lines * inners - v : PIECE;
            TULLE_CALL(read_reals(file, gate, (outer0 + o) * inner + inner0 + v, n, raw, real));
            for (int64_t k = 0, some; k < n; k += some) { /* up to the end of a line */
                some = inners - place < n - k ? inners - place : n - k;
                int64_t r = row + (by_rows ? line : place), c = col + (by_rows ? place : line);
                TULLE_CALL(tulle__gate_store(
                    gate, r, c, !by_rows, real + k, some, to, line * outer_step + place * inner_step, inner_step));
                place += some;
                if (place == inners) place = 0, line++;
            }
        }
    }
    return TULLE_OK;
}
