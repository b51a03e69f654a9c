/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of sparse times dense tiles into a dense one: sparse_chains SPEC [bits]. 1 to 512 columns, rows and columns of
 * B next to each other, views of a larger B, rows of A from none to thousands of entries, alpha and beta. The
 * reference's values; with `bits` its bits, but in rows of more than 128 entries, and all of its own bits again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "tap.h"

enum { PAIRS = 3, ROWS = 37, INNER = 2500, LONG = 128 };

struct there {
    tulle__device *d;
    tulle__device_queue *q;
    tulle__device_buffer *buffer[4 * PAIRS + 2];
    int nbuffers;
};

static tulle__device_place put(struct there *t, const void *from, size_t bytes)
{
    tulle__device_buffer *buffer = NULL;
    if (tulle__device_buffer_new(t->d, bytes, "an array", &buffer) != TULLE_OK) abort();
    t->buffer[t->nbuffers++] = buffer;
    if (bytes) t->d->ops->upload(t->q, &(tulle__device_place){buffer, 0}, from, bytes);
    (void)t->d->ops->queue_wait(t->q);
    return (tulle__device_place){buffer, 0};
}

static void set(tulle_type type, void *val, int64_t at, double x)
{
    if (type == TULLE_F32)
        ((float *)val)[at] = (float)x;
    else
        ((double *)val)[at] = x;
}

static double get(tulle_type type, const void *val, int64_t at)
{
    return type == TULLE_F32 ? (double)((const float *)val)[at] : ((const double *)val)[at];
}

static double number(uint64_t seed, uint64_t at)
{
    return (double)(tulle__random_at(seed, 9, at) % 2000) / 7 - 140;
}

/* Row 5 of the first pair, and row 11 of each, are long. */
static int64_t entries_of(int p, int64_t r)
{
    if (r == 11) return 700;
    if (r == 5 && p == 0) return 2300;
    return r % 4 == 3 ? 0 : (int64_t)(tulle__random_at(3, (uint64_t)p, (uint64_t)r) % 90);
}

/* A view of a larger B: values before it, and beyond the end of each of its rows or columns. */
struct view {
    int64_t before, beyond;
};

/* Distance of C from the reference's: 0 is the bits; in short rows and in all. */
static int runs(tulle__device *d, tulle_type type, int64_t n, int npairs, int by_row, struct view view, double alpha,
    double beta, int bits)
{
    const int64_t ld = (by_row ? n : INNER) + view.beyond, values = view.before + ld * (by_row ? INNER : n);
    struct there t = {.d = d};
    size_t size = tulle_type_size(type), cells = (size_t)(ROWS * n);
    tulle__device_chain work = {
        .type = type, .m = ROWS, .n = n, .npairs = npairs, .c_row = n, .c_col = 1, .alpha = alpha, .beta = beta};
    tulle__spmm_pair pair[PAIRS];
    int64_t *rowptr[PAIRS], total[ROWS] = {0};
    int32_t *colind[PAIRS];
    void *val[PAIRS], *B[PAIRS], *C = calloc(cells + 1, 8), *got = calloc(cells + 1, 8), *again = calloc(cells + 1, 8);
    int right = d->ops->queue_new(d, &t.q) == TULLE_OK;
    for (int p = 0; p < npairs; p++) {
        int32_t narrow[ROWS + 1] = {0};
        rowptr[p] = calloc(ROWS + 1, sizeof(int64_t));
        for (int64_t r = 0; r < ROWS; r++) {
            rowptr[p][r + 1] = rowptr[p][r] + entries_of(p, r);
            narrow[r + 1] = (int32_t)rowptr[p][r + 1];
            total[r] += entries_of(p, r);
        }
        int64_t nnz = rowptr[p][ROWS];
        colind[p] = calloc((size_t)nnz + 1, sizeof(int32_t));
        val[p] = calloc((size_t)nnz + 1, 8);
        B[p] = calloc((size_t)values, size);
        for (int64_t r = 0; r < ROWS; r++)
            for (int64_t e = 0, count = entries_of(p, r); e < count; e++) {
                colind[p][rowptr[p][r] + e] = (int32_t)(INNER * e / count);
                set(type, val[p], rowptr[p][r] + e, number((uint64_t)p + 1, (uint64_t)(r * 3000 + e)));
            }
        for (int64_t i = 0; i < values; i++) set(type, B[p], i, number((uint64_t)p + 20, (uint64_t)i));
        int64_t b_row = by_row ? ld : 1, b_col = by_row ? 1 : ld;
        pair[p] =
            (tulle__spmm_pair){.A = {.m = ROWS, .n = INNER, .rowptr = rowptr[p], .colind = colind[p], .val = val[p]},
                .B = (const char *)B[p] + (size_t)view.before * size,
                .b_row = b_row,
                .b_col = b_col};
        work.A[p] = (tulle__device_tile){.kind = TULLE_CSR, .type = type, .m = ROWS, .n = INNER, .nnz = nnz};
        work.A[p].rowptr =
            d->rowptr_bytes == 4 ? put(&t, narrow, sizeof narrow) : put(&t, rowptr[p], (ROWS + 1) * sizeof(int64_t));
        work.A[p].colind = put(&t, colind[p], (size_t)nnz * sizeof(int32_t));
        work.A[p].val = put(&t, val[p], (size_t)nnz * size);
        work.B[p] = (tulle__device_tile){.kind = TULLE_DENSE,
            .type = type,
            .order = by_row ? TULLE_ROW_MAJOR : TULLE_COL_MAJOR,
            .m = INNER,
            .n = n,
            .ld = ld};
        work.B[p].val = put(&t, B[p], (size_t)values * size);
        work.B[p].val.at += (size_t)view.before * size;
    }
    for (size_t i = 0; i < cells; i++) set(type, C, (int64_t)i, beta == 0 ? (double)NAN : number(50, i));
    const tulle__device_place second = put(&t, C, cells * size);
    work.C = put(&t, C, cells * size);
    const tulle__spmm_task task = {.type = type,
        .m = ROWS,
        .n = n,
        .npairs = npairs,
        .pair = pair,
        .C = C,
        .c_row = n,
        .c_col = 1,
        .alpha = alpha,
        .beta = beta};
    right = right && tulle__kernels_ref()->spmm(NULL, &task) == TULLE_OK;
    tulle__start_chain(d, t.q, &work);
    d->ops->download(t.q, got, &work.C, cells * size);
    work.C = second;
    tulle__start_chain(d, t.q, &work);
    d->ops->download(t.q, again, &work.C, cells * size);
    right = d->ops->queue_wait(t.q) == TULLE_OK && right;
    for (int64_t i = 0; right && i < ROWS * n; i++) {
        double x = get(type, C, i), y = get(type, got, i), bound = type == TULLE_F32 ? 4e3 : 1e-5;
        right = bits && total[i / n] <= LONG ? x == y : fabs(x - y) <= bound;
        if (!right) printf("# row %d, column %d: %.17g, not %.17g\n", (int)(i / n), (int)(i % n), y, x);
    }
    right = right && (!bits || memcmp(got, again, cells * size) == 0);
    d->ops->queue_free(d, t.q);
    for (int b = 0; b < t.nbuffers; b++) tulle__device_buffer_free(d, t.buffer[b]);
    for (int p = 0; p < npairs; p++) {
        free(rowptr[p]);
        free(colind[p]);
        free(val[p]);
        free(B[p]);
    }
    free(C);
    free(got);
    free(again);
    return right;
}

int main(int argc, char **argv)
{
    static const int64_t columns[] = {1, 2, 3, 8, 13, 32, 50, 129, 512};
    tulle__device *d = NULL;
    tulle__device_setting setting = {.threads = 2, .overlap = 1};
    if (argc < 2) return 2;
    int bits = argc > 2 && strcmp(argv[2], "bits") == 0;
    tulle_status status = tulle__device_open(argv[1], &setting, &d);
    if (status == TULLE_ERR_UNSUPPORTED) {
        skip("%s: %s", argv[1], tulle_error_message());
        return tap_done();
    }
    if (!ok(status == TULLE_OK && tulle__device_has(d, TULLE__DEVICE_CHAIN), "%s opens%s%s", argv[1],
            status ? ": " : "", status ? tulle_error_message() : ""))
        return tap_done();
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        int right = 1, wide = columns[c] > 100;
        for (int type = 0; type < 2; type++)
            for (int npairs = wide ? 2 : 1; npairs <= (wide ? 2 : PAIRS); npairs += 2)
                right &= runs(d, (tulle_type)type, columns[c], npairs, (type + npairs) % 2, (struct view){0, 0},
                    npairs == 1 ? 1 : -0.3, type ? 0 : 1.5, bits);
        ok(right, "%d columns: the reference's %s", (int)columns[c], bits ? "bits" : "values");
    }
    /* loads of 16 bytes: B begins where none may, its rows are no multiple of them, or both are in order */
    static const struct view views[] = {{1, 0}, {2, 3}, {4, 1}, {4, 4}, {0, 6}};
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        int right = 1;
        for (int type = 0; type < 2; type++)
            for (int64_t n = 4; n <= 68; n += 64) right &= runs(d, (tulle_type)type, n, 2, 1, views[v], 1, 0.5, bits);
        ok(right, "a view, %d values behind the beginning of B, in rows of %d more: the reference's %s",
            (int)views[v].before, (int)views[v].beyond, bits ? "bits" : "values");
    }
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    return tap_done();
}
