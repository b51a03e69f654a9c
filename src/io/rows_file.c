/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Binsparse file read by rows, for streams. A few threads read parts of some megabytes at their
 * offsets, in the order in which reads were started. They bypass the page cache (O_DIRECT) where
 * the file system allows it; offsets and lengths are then multiples of a sector, so an array begins
 * anywhere in the first sector of its room. Column indices are checked on arrival: kernels rely on
 * them, and the file may have changed since it was opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/host/start_thread.h"
#include "base/memory.h"
#include "io/binsparse/binsparse.h"
#include "io/rows_converted.h"
#include "mat/blocks/blocks.h"
#include "mat/rows.h"

enum { SECTOR = 4096, PART = 4 << 20, READERS = 3, READS = 16 };
enum { COLIND, VALUES, ARRAYS };

/* An array of the file and how it is read. */
struct array {
    int64_t offset;
    int number; /* bytes */
    int size;   /* of an entry */
    int direct; /* 1: O_DIRECT */
};

struct rows_file {
    tulle_rows rows;
    tulle__binsparse *file;
    char *path;
    struct stat opened;
    struct array array[ARRAYS]; /* converted: as if they lay at 0 */
    bool converted;
    tulle__rows_converter converter;
    int fd, direct_fd; /* -1: not open */
    tulle__account *account;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    pthread_t thread[READERS];
    int threads, leaving;
    tulle__rows_read *queue[READS]; /* reads with parts not yet claimed, oldest first */
    int queued;
};

static size_t rounded(size_t bytes)
{
    return (bytes + SECTOR - 1) / SECTOR * SECTOR;
}

/* ---- parts ---- */

/* Bytes of an array: where they are in the file, and where they go in the room. */
struct extent {
    int64_t offset, end; /* of what is read */
    size_t capacity;     /* where `offset` goes */
    size_t at;           /* where the array begins in the room */
};

static struct extent extent_of(const struct rows_file *f, const tulle__rows_read *read, int which)
{
    const struct array *a = &f->array[which];
    struct extent e = {.offset = a->offset + read->first * a->size};
    e.end = e.offset + read->count * a->size;
    if (which == VALUES) e.capacity = rounded((size_t)(read->count * f->array[COLIND].size)) + 2 * SECTOR;
    e.at = e.capacity;
    if (!a->direct) return e;
    e.at += (size_t)(e.offset % SECTOR);
    e.offset -= e.offset % SECTOR;
    e.end = (e.end + SECTOR - 1) / SECTOR * SECTOR;
    return e;
}

static int64_t parts_of(const struct extent *e)
{
    return (e->end - e->offset + PART - 1) / PART;
}

/*
 * Reads one part. At the end of the file, bytes beyond the array in its last sector may be absent.
 */
static tulle_status read_bytes(
    const struct rows_file *f, int direct, char *to, int64_t offset, int64_t end, int64_t need)
{
    while (offset < need) {
        ssize_t n = pread(direct ? f->direct_fd : f->fd, to, (size_t)(end - offset), (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", f->path, strerror(errno));
        if (n == 0)
            return tulle__fail(
                TULLE_ERR_IO, "%s: ends early, at byte %" PRId64 ": it has been shortened", f->path, offset);
        to += n;
        offset += n;
        /* a direct read resumes at a sector: after a short one, the end of the file or a retry */
        if (direct && offset < need && offset % SECTOR) {
            to -= offset % SECTOR;
            offset -= offset % SECTOR;
            if (n < SECTOR)
                return tulle__fail(
                    TULLE_ERR_IO, "%s: ends early, at byte %" PRId64 ": it has been shortened", f->path, offset);
        }
    }
    return TULLE_OK;
}

/* Subtracts the shift from columns and checks their range. */
static tulle_status take_columns(const struct rows_file *f, const tulle__rows_read *read, char *data, int64_t count)
{
    uint32_t *column = (uint32_t *)(void *)data, largest = 0, shift = (uint32_t)read->first_col;
    for (int64_t i = 0; i < count; i++) {
        column[i] -= shift; /* too small ones wrap around to large ones */
        largest = column[i] > largest ? column[i] : largest;
    }
    if (!count || (int64_t)largest < read->limit) return TULLE_OK;
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s: a column index is %" PRIu32 ", but those of these rows are from %" PRId64 " to %" PRId64, f->path,
        largest + shift, read->first_col, read->first_col + read->limit - 1);
}

/* The row of a value, by a binary search over the row pointers. */
static tulle_status row_of(const struct rows_file *f, int64_t value, int64_t *row)
{
    const int b = f->rows.block;
    int64_t low = 0, high = tulle__blocks_over(f->rows.m, b), entry = value / (b * b), pointer;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        TULLE_CALL(tulle__binsparse_read_pointers(f->file, middle, 1, &pointer));
        if (pointer <= entry)
            low = middle;
        else
            high = middle;
    }
    *row = low * b + value % (b * b) / b;
    return TULLE_OK;
}

/* Refuses or counts values that are not finite; the first is number `first` of the file. */
static tulle_status take_values(struct rows_file *f, const char *data, int64_t first, int64_t count)
{
    const int wide = f->array[VALUES].number == 8;
    int64_t row;
    if (!f->rows.finite && !f->rows.counting) return TULLE_OK;
    for (int64_t i = 0; i < count; i++) {
        double x = wide ? ((const double *)(const void *)data)[i] : (double)((const float *)(const void *)data)[i];
        if (isfinite(x)) continue;
        if (!f->rows.finite) {
            atomic_fetch_add_explicit(isnan(x) ? &f->rows.nans : &f->rows.infs, 1, memory_order_relaxed);
            continue;
        }
        TULLE_CALL(row_of(f, first + i, &row));
        return tulle__fail(TULLE_ERR_FORMAT,
            "%s: an entry of row " TULLE__AT " is %s, which is not finite" TULLE__COUNTED, f->path, row,
            isnan(x) ? "nan"
            : x > 0  ? "inf"
                     : "-inf");
    }
    return TULLE_OK;
}

/* Bytes offset .. end - 1 of an array, of which `to` has room from the first on. */
static tulle_status convert_part(struct rows_file *f, int which, char *to, int64_t offset, int64_t end)
{
    const int number = f->array[which].number;
    const int64_t first = offset / number, count = (end - offset) / number;
    return which == COLIND ? tulle__rows_convert_columns(&f->converter, first, count,
                                 tulle__blocks_over(f->rows.n, f->rows.block), (int32_t *)(void *)to)
                           : tulle__rows_convert_values(&f->converter, first, count, to);
}

static tulle_status read_part(struct rows_file *f, const tulle__rows_read *read, int64_t part, int64_t *bytes)
{
    struct extent e = extent_of(f, read, COLIND);
    int which = COLIND;
    if (part >= parts_of(&e)) {
        part -= parts_of(&e);
        e = extent_of(f, read, VALUES);
        which = VALUES;
    }
    const struct array *a = &f->array[which];
    int64_t offset = e.offset + part * PART, end = offset + PART < e.end ? offset + PART : e.end;
    int64_t first = a->offset + read->first * a->size, last = first + read->count * a->size;
    int64_t need = end < last ? end : last;
    char *to = read->workspace + e.capacity + (size_t)(offset - e.offset);
    tulle_status status =
        f->converted ? convert_part(f, which, to, offset, need) : read_bytes(f, a->direct, to, offset, end, need);
    *bytes = end - offset;
    if (status != TULLE_OK) return status;
    int64_t from = offset > first ? offset : first;
    if (which == COLIND) return take_columns(f, read, to + (from - offset), (need - from) / a->size);
    return take_values(f, to + (from - offset), (from - a->offset) / a->number, (need - from) / a->number);
}

/* ---- readers ---- */

/* The lock is held. */
static void finish_part(tulle__rows_read *read, tulle_status status, int64_t bytes)
{
    read->bytes += bytes;
    read->left--;
    if (status == TULLE_OK || read->status != TULLE_OK) return;
    read->status = status;
    snprintf(read->message, sizeof read->message, "%s", tulle__error_marked());
}

static void *work(void *arg)
{
    struct rows_file *f = arg;
    tulle__account_enter(f->account);
    pthread_mutex_lock(&f->lock);
    for (;;) {
        while (!f->queued && !f->leaving) pthread_cond_wait(&f->work, &f->lock);
        if (!f->queued) break;
        tulle__rows_read *read = f->queue[0];
        int64_t part = read->next++, bytes = 0;
        if (read->next == read->parts) {
            f->queued--;
            memmove(f->queue, f->queue + 1, (size_t)f->queued * sizeof *f->queue);
        }
        pthread_mutex_unlock(&f->lock);
        tulle_status status = read_part(f, read, part, &bytes);
        pthread_mutex_lock(&f->lock);
        finish_part(read, status, bytes);
        if (!read->left) pthread_cond_broadcast(&f->done);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static size_t buffer_bytes(const tulle_rows *rows, int64_t count)
{
    const struct rows_file *f = (const struct rows_file *)rows;
    return rounded((size_t)count * (size_t)f->array[COLIND].size) +
           rounded((size_t)count * (size_t)f->array[VALUES].size) + 4 * SECTOR;
}

static void start(tulle_rows *rows, tulle__rows_read *read)
{
    struct rows_file *f = (struct rows_file *)rows;
    struct extent columns = extent_of(f, read, COLIND), values = extent_of(f, read, VALUES);
    read->colind_at = columns.at;
    read->val_at = values.at;
    read->status = TULLE_OK;
    read->next = read->bytes = 0;
    read->parts = read->left = read->count ? parts_of(&columns) + parts_of(&values) : 0;
    if (!read->parts) return;
    pthread_mutex_lock(&f->lock);
    f->queue[f->queued++] = read;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
}

static int ready(tulle_rows *rows, tulle__rows_read *read)
{
    struct rows_file *f = (struct rows_file *)rows;
    pthread_mutex_lock(&f->lock);
    int there = read->left == 0;
    pthread_mutex_unlock(&f->lock);
    return there;
}

static tulle_status wait(tulle_rows *rows, tulle__rows_read *read)
{
    struct rows_file *f = (struct rows_file *)rows;
    pthread_mutex_lock(&f->lock);
    while (read->left) pthread_cond_wait(&f->done, &f->lock);
    pthread_mutex_unlock(&f->lock);
    if (read->status != TULLE_OK) tulle__error_set(read->message);
    return read->status;
}

static tulle_status check(tulle_rows *rows)
{
    const struct rows_file *f = (const struct rows_file *)rows;
    const struct stat *then = &f->opened;
    struct stat now;
    if (stat(f->path, &now) != 0)
        return tulle__fail(TULLE_ERR_IO, "%s: is not there any more (%s): it was removed while it was being streamed",
            f->path, strerror(errno));
    if (now.st_dev != then->st_dev || now.st_ino != then->st_ino)
        return tulle__fail(TULLE_ERR_IO, "%s: was replaced by another file while it was being streamed", f->path);
    if (now.st_size != then->st_size)
        return tulle__fail(TULLE_ERR_IO, "%s: had %lld bytes when it was opened, and has %lld now", f->path,
            (long long)then->st_size, (long long)now.st_size);
    if (now.st_mtim.tv_sec != then->st_mtim.tv_sec || now.st_mtim.tv_nsec != then->st_mtim.tv_nsec)
        return tulle__fail(TULLE_ERR_IO, "%s: was written to while it was being streamed", f->path);
    return TULLE_OK;
}

static tulle_status pointers(tulle_rows *rows, int64_t first, int64_t count, int64_t *to)
{
    return tulle__binsparse_read_pointers(((struct rows_file *)rows)->file, first, count, to);
}

/* ---- opening ---- */

static void close_file(tulle_rows *rows)
{
    struct rows_file *f = (struct rows_file *)rows;
    pthread_mutex_lock(&f->lock);
    f->leaving = 1;
    pthread_cond_broadcast(&f->work);
    pthread_mutex_unlock(&f->lock);
    for (int t = 0; t < f->threads; t++) pthread_join(f->thread[t], NULL);
    pthread_cond_destroy(&f->work);
    pthread_cond_destroy(&f->done);
    pthread_mutex_destroy(&f->converter.lock);
    pthread_mutex_destroy(&f->lock);
    if (f->fd >= 0) close(f->fd);
    if (f->direct_fd >= 0) close(f->direct_fd);
    tulle__binsparse_close(f->file);
    tulle__free(f->path);
    tulle__free(f);
}

static const tulle__rows_ops ops = {.pointers = pointers,
    .workspace_bytes = buffer_bytes,
    .start = start,
    .ready = ready,
    .wait = wait,
    .check = check,
    .free = close_file};

static tulle_status unsuited(const struct rows_file *f, const char *why)
{
    return tulle__fail(TULLE_ERR_UNSUPPORTED,
        "%s: %s; a stream reads Binsparse files of CSR or blocks, of all entries or the upper half, as `tulle convert` "
        "and `tulle gen` write them (NAME.bsp.h5), and compressed rows of AnnData and 10x Genomics",
        f->path, why);
}

/* HDF5 itself fails badly on other files. */
static tulle_status check_signature(const struct rows_file *f)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char head[sizeof signature - 1];
    struct stat info;
    if (!fstat(f->fd, &info) && S_ISDIR(info.st_mode))
        return tulle__fail(TULLE_ERR_IO, "%s: is a directory", f->path);
    if (pread(f->fd, head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head, signature, sizeof head) != 0)
        return unsuited(f, "it is no HDF5 file");
    return TULLE_OK;
}

static tulle_status describe(struct rows_file *f)
{
    const tulle__binsparse_header *h = tulle__binsparse_head(f->file);
    const tulle__binsparse_array *columns = &h->array[TULLE__BINSPARSE_INDICES1];
    const tulle__binsparse_array *values = &h->array[TULLE__BINSPARSE_VALUES];
    if (h->format != TULLE__BINSPARSE_CSR && h->format != TULLE__BINSPARSE_BSR)
        return unsuited(f, "it is neither CSR nor in blocks");
    if (h->structure != TULLE__BINSPARSE_GENERAL && h->structure != TULLE__BINSPARSE_SYMMETRIC_UPPER)
        return unsuited(f, "it holds a lower half, or a skew-symmetric matrix");
    if (h->iso) return unsuited(f, "it has one value for all entries");
    if (columns->kind == 'f') return unsuited(f, "its column indices are no integers");
    tulle_type type;
    f->converted = tulle__rows_to_convert(h, &type);
    const int64_t lines = tulle__blocks_over(h->rows, h->block), block_columns = tulle__blocks_over(h->cols, h->block);
    if (block_columns > INT32_MAX) return unsuited(f, "it has too many columns");
    tulle_rows *rows = &f->rows;
    rows->m = h->rows;
    rows->n = h->cols;
    rows->block = h->block;
    rows->half = h->structure != TULLE__BINSPARSE_GENERAL;
    rows->stored = h->count;
    /* a half without this number: assumes a full diagonal and rows of maximal length */
    const int64_t diagonal = lines * h->block * h->block;
    int64_t mirrored = rows->half && h->stored > diagonal ? h->stored - diagonal : 0;
    rows->nnz = h->nnz >= 0 ? h->nnz : h->stored + mirrored;
    rows->span = h->span >= 0 ? h->span : block_columns;
    rows->type = rows->values = type;
    const int size = (int)tulle_type_size(type);
    f->array[COLIND] = (struct array){f->converted ? 0 : columns->offset, sizeof(int32_t), sizeof(int32_t), 0};
    f->array[VALUES] = (struct array){f->converted ? 0 : values->offset, size, size * h->block * h->block, 0};
    f->converter.file = f->file;
    f->converter.values = type;
    return TULLE_OK;
}

/* Opens with O_DIRECT if a first sector can be read that way. */
static tulle_status open_direct(struct rows_file *f)
{
    char *memory = NULL;
    TULLE_CALL(tulle__alloc(2 * SECTOR, 1, "a sector", &memory));
    char *sector = (char *)(((uintptr_t)memory + SECTOR - 1) / SECTOR * SECTOR);
    f->direct_fd = open(f->path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    int works = f->direct_fd >= 0 && pread(f->direct_fd, sector, SECTOR, 0) > 0;
    if (!works)
        snprintf(f->rows.mode, sizeof f->rows.mode, "through the page cache, as O_DIRECT is refused here (%s)",
            strerror(errno));
    else
        snprintf(f->rows.mode, sizeof f->rows.mode, "by O_DIRECT");
    /* values must not straddle the alignment: arrays in foreign files may begin anywhere */
    for (int a = 0; a < ARRAYS && works; a++) {
        f->array[a].direct = f->array[a].offset % f->array[a].number == 0;
        if (!f->array[a].direct)
            snprintf(f->rows.mode, sizeof f->rows.mode, "in part through the page cache, as an array is not aligned");
    }
    tulle__free(memory);
    return TULLE_OK;
}

static tulle_status open_file(struct rows_file *f, const char *path)
{
    TULLE_CALL(tulle__alloc(strlen(path) + 1, 1, "a path", &f->path));
    strcpy(f->path, path);
    if (tulle__binsparse_path(path)) f->path[tulle__binsparse_path(path)] = '\0';
    f->rows.name = f->path;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0 || fstat(f->fd, &f->opened) != 0)
        return tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    TULLE_CALL(check_signature(f));
    TULLE_CALL(tulle__binsparse_open(path, NULL, &f->file));
    TULLE_CALL(describe(f));
    if (f->converted)
        snprintf(f->rows.mode, sizeof f->rows.mode,
            "by HDF5, as its arrays lie in chunks, or are not 32-bit indices and real values");
    else
        TULLE_CALL(open_direct(f));
    for (; f->threads < READERS; f->threads++)
        if (tulle__start_thread(&f->thread[f->threads], work, f))
            return tulle__fail(TULLE_ERR_MEMORY, "%s: the system refused a thread for reading", path);
    return TULLE_OK;
}

static void drop(tulle__owned *object)
{
    close_file((tulle_rows *)object);
}

tulle_status tulle_rows_open(tulle_comm *comm, const char *path, tulle_rows **rows)
{
    if (TULLE__NULL(comm) || TULLE__NULL(path) || TULLE__NULL(rows)) return tulle__refuse(comm);
    struct rows_file *f = NULL;
    tulle_status status = tulle__alloc_zero(1, sizeof *f, "a file of rows", &f);
    if (status == TULLE_OK) {
        f->rows.ops = &ops;
        f->rows.comm = comm;
        f->fd = f->direct_fd = -1;
        f->account = tulle__account_current();
        pthread_mutex_init(&f->lock, NULL);
        pthread_mutex_init(&f->converter.lock, NULL);
        pthread_cond_init(&f->work, NULL);
        pthread_cond_init(&f->done, NULL);
        status = open_file(f, strcmp(path, "-") == 0 ? "/dev/stdin" : path);
    }
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK) {
        if (f) close_file(&f->rows);
        return status;
    }
    tulle__pe_own(comm->pe, &f->rows.owned, drop);
    *rows = &f->rows;
    return TULLE_OK;
}

void tulle_rows_free(tulle_rows *rows)
{
    if (!rows) return;
    tulle__pe_disown(&rows->owned);
    rows->ops->free(rows);
}
