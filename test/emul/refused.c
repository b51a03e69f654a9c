/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that cuSPARSE does not support: our kernels make them, at once and without asking again, and counts say so.
 * All kinds, types and times of the refusal: when its workspace is asked for, or only when the product is made.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "emulation.h"
#include "tap.h"

enum { ROWS = 5, BLOCK = 3, COLS = 4, ENTRIES = 7, WIDTH = ROWS * BLOCK, ARRAY = 4096 };
enum { ROWPTR, COLIND, VAL, X, Y, ARRAYS };

static emulation emul;
static const int32_t rowptr[ROWS + 1] = {0, 2, 2, 4, 5, 7}, colind[ENTRIES] = {0, 3, 1, 2, 4, 0, 4};

struct kind {
    const char *word;
    int refused;
    int block, cols, tile, transposed;
};
static const struct kind kinds[] = {
    {"csr-vector", TULLE_REFUSED_CSR, 1, 1, 0, 0},
    {"csr", TULLE_REFUSED_CSR, 1, COLS, 0, 0},
    {"bsr-vector", TULLE_REFUSED_BSR, BLOCK, 1, 0, 0},
    {"bsr", TULLE_REFUSED_BSR, BLOCK, COLS, 0, 0},
    {"csr", TULLE_REFUSED_TILE, 1, COLS, 1, 0},
    {"transposed", TULLE_REFUSED_TRANSPOSED, 1, COLS, 1, 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct fixture {
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__device_buffer *buffer;
    tulle_type type;
    double val[ENTRIES * BLOCK * BLOCK], x[WIDTH * COLS], y[WIDTH * COLS];
};

static tulle__device_place array(const struct fixture *f, int which)
{
    return (tulle__device_place){f->buffer, (size_t)which * ARRAY};
}

/* Sends numbers in the type, and brings them. */
static void send(const struct fixture *f, int which, const double *from, int count)
{
    float narrow[ENTRIES * BLOCK * BLOCK];
    const tulle__device_place to = array(f, which);
    for (int i = 0; i < count; i++) narrow[i] = (float)from[i];
    if (f->type == TULLE_F64)
        f->device->ops->upload(f->queue, &to, from, (size_t)count * sizeof *from);
    else
        f->device->ops->upload(f->queue, &to, narrow, (size_t)count * sizeof *narrow);
    (void)f->device->ops->queue_wait(f->queue);
}

static tulle_status bring(struct fixture *f, int count)
{
    float narrow[WIDTH * COLS];
    const tulle__device_place from = array(f, Y);
    if (f->type == TULLE_F64)
        f->device->ops->download(f->queue, f->y, &from, (size_t)count * sizeof *f->y);
    else
        f->device->ops->download(f->queue, narrow, &from, (size_t)count * sizeof *narrow);
    tulle_status status = f->device->ops->queue_wait(f->queue);
    for (int i = 0; i < count && f->type == TULLE_F32; i++) f->y[i] = narrow[i];
    return status;
}

static int open_one(struct fixture *f, const char *spec, tulle_type type)
{
    tulle__device_setting setting = {.threads = 1};
    *f = (struct fixture){.type = type};
    for (int i = 0; i < ENTRIES * BLOCK * BLOCK; i++) f->val[i] = 1 + i % 7;
    for (int i = 0; i < WIDTH * COLS; i++) f->x[i] = i % 11 - 5;
    tulle_status status = tulle__device_open(spec, &setting, &f->device);
    if (status == TULLE_OK) status = f->device->ops->queue_new(f->device, &f->queue);
    if (status == TULLE_OK) status = tulle__device_buffer_new(f->device, ARRAYS * ARRAY, "arrays", &f->buffer);
    if (!ok(status == TULLE_OK, "%s opens: %s", spec, tulle_error_message())) return 0;
    const tulle__device_place at[] = {array(f, ROWPTR), array(f, COLIND)};
    f->device->ops->upload(f->queue, &at[0], rowptr, sizeof rowptr);
    f->device->ops->upload(f->queue, &at[1], colind, sizeof colind);
    (void)f->device->ops->queue_wait(f->queue);
    return 1;
}

static void close_one(struct fixture *f)
{
    f->device->ops->queue_free(f->device, f->queue);
    tulle__device_buffer_free(f->device, f->buffer);
    tulle__device_close(f->device);
}

static void start(struct fixture *f, const struct kind *k)
{
    if (k->tile) {
        const tulle_order order = k->transposed ? TULLE_COL_MAJOR : TULLE_ROW_MAJOR;
        tulle__device_chain chain = {.type = f->type,
            .m = ROWS,
            .n = k->cols,
            .npairs = 2, /* A B + A B: the second one is added */
            .C = array(f, Y),
            .c_row = k->cols,
            .c_col = 1,
            .alpha = .5};
        chain.A[0] = (tulle__device_tile){.kind = TULLE_CSR,
            .type = f->type,
            .m = ROWS,
            .n = ROWS,
            .nnz = ENTRIES,
            .rowptr = array(f, ROWPTR),
            .colind = array(f, COLIND),
            .val = array(f, VAL)};
        chain.B[0] = (tulle__device_tile){.kind = TULLE_DENSE,
            .type = f->type,
            .order = order,
            .m = ROWS,
            .n = k->cols,
            .ld = k->transposed ? ROWS : k->cols,
            .val = array(f, X)};
        chain.A[1] = chain.A[0];
        chain.B[1] = chain.B[0];
        tulle__start_chain(f->device, f->queue, &chain);
        return;
    }
    const tulle__slab_task task = {.A = {.type = f->type,
                                       .block = k->block,
                                       .index_bytes = 4,
                                       .m = ROWS,
                                       .n = ROWS,
                                       .blocks = ENTRIES,
                                       .rowptr = array(f, ROWPTR),
                                       .colind = array(f, COLIND),
                                       .val = array(f, VAL)},
        .vectors = f->type,
        .X = {array(f, X), k->cols},
        .Y = {array(f, Y), k->cols},
        .cols = k->cols};
    size_t bytes = 0;
    (void)f->device->ops->workspace(f->device, &task, &bytes);
    tulle__start_multiply(f->device, f->queue, &task);
}

/* The largest error; all numbers are small integers, so there is none. */
static double error_of(const struct fixture *f, const struct kind *k)
{
    double worst = 0;
    const int b = k->block;
    for (int row = 0; row < ROWS * b; row++)
        for (int c = 0; c < k->cols; c++) {
            double sum = 0;
            for (int e = rowptr[row / b]; e < rowptr[row / b + 1]; e++)
                for (int j = 0; j < b; j++) {
                    const int from = colind[e] * b + j;
                    sum += f->val[(e * b + row % b) * b + j] *
                           (k->transposed ? f->x[c * ROWS + from] : f->x[from * k->cols + c]);
                }
            double error = fabs(f->y[row * k->cols + c] - sum);
            if (!(error <= worst)) worst = error;
        }
    return worst;
}

static void test_one(const char *spec, const struct kind *k, tulle_type type, int late)
{
    struct fixture f;
    double worst = 0;
    tulle_status status = TULLE_OK;
    emul.refuse("", 0);
    if (!open_one(&f, spec, type)) return;
    send(&f, VAL, f.val, ENTRIES * k->block * k->block);
    send(&f, X, f.x, ROWS * k->block * k->cols);
    emul.refuse(k->word, late);
    int64_t before = emul.count("cuSPARSE refuses"), once = 0;
    for (int time = 0; time < 3 && status == TULLE_OK; time++) {
        start(&f, k);
        status = bring(&f, ROWS * k->block * k->cols);
        double error = status == TULLE_OK ? error_of(&f, k) : NAN;
        if (!(error <= worst)) worst = error;
        if (!time) once = emul.count("cuSPARSE refuses") - before;
    }
    ok(status == TULLE_OK && worst == 0, "%s, %s, %s without %s%s: products are right (%g) %s", spec,
        tulle_type_name(type), k->tile ? "a tile" : "a slab", k->word, late ? ", which products say" : "", worst,
        status ? tulle_error_message() : "");
    ok(once > 0 && emul.count("cuSPARSE refuses") - before == once, "it is refused in the first product alone: %d",
        (int)once);
    ok(f.device->counts.refused == k->refused, "and the report has it: %d", f.device->counts.refused);
    emul.refuse("", 0);
    close_one(&f);
}

/* Nothing is refused, and nothing is reported; nor where nobody asks cuSPARSE. */
static void test_none(const char *spec, const char *refused)
{
    int bad = 0, asked = 0;
    for (int k = 0; k < KINDS; k++) {
        struct fixture f;
        emul.refuse(refused, 0);
        if (!open_one(&f, spec, TULLE_F64)) return;
        int64_t before = emul.count("cuSPARSE refuses");
        send(&f, VAL, f.val, ENTRIES * kinds[k].block * kinds[k].block);
        send(&f, X, f.x, ROWS * kinds[k].block * kinds[k].cols);
        start(&f, &kinds[k]);
        bad += bring(&f, ROWS * kinds[k].block * kinds[k].cols) != TULLE_OK || error_of(&f, &kinds[k]) != 0 ||
               f.device->counts.refused;
        asked += emul.count("cuSPARSE refuses") != before;
        close_one(&f);
    }
    emul.refuse("", 0);
    ok(!bad && !asked, "%s, refused '%s': nothing is reported (%d bad, %d asked)", spec, refused, bad, asked);
}

int main(void)
{
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    for (int k = 0; k < KINDS; k++)
        for (int late = 0; late < 2; late++) {
            test_one("cuda", &kinds[k], TULLE_F64, late);
            test_one("cuda", &kinds[k], TULLE_F32, late);
            test_one("cuda:kernels=measured", &kinds[k], TULLE_F64, late);
        }
    test_none("cuda", "");
    test_none("cuda:kernels=own", "csr,csr-vector,bsr,bsr-vector,transposed");
    return tap_done();
}
