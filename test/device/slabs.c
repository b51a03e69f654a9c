/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slabs of all kinds times one column and many: slabs SPEC. Rows of more entries than are summed by one group of
 * threads, halves with a full column, blocks that have no kernel of their own, more columns than a group has. Products
 * of integers are exact; of others the bits are the same each time, and do not depend on how rows are cut into slabs.
 */
#include "devices.h"

static const struct problem shapes[] = {
    {.m = 3, .n = 1300, .cols = 1, .block = 1},
    {.m = 9, .n = 1300, .cols = 3, .block = 1, .narrow = 1},
    {.m = 20, .n = 1100, .cols = 1, .block = 2, .narrow = 1},
    {.m = 3, .n = 1300, .cols = 40, .block = 1},
    {.m = 2, .n = 1100, .cols = 2, .block = 3},
    {.m = 40, .n = 30, .cols = 70, .block = 2},
    {.m = 12, .n = 9, .cols = 512, .block = 1},
    {.m = 33, .n = 20, .cols = 5, .block = 4},
    {.m = 10, .n = 20, .cols = 2, .block = 7, .narrow = 1},
    {.m = 10, .n = 20, .cols = 17, .block = 6},
    {.m = 70, .n = 70, .cols = 1, .block = 3, .symmetric = 1},
    {.m = 150, .n = 150, .cols = 2, .block = 1, .symmetric = 1, .narrow = 1},
    {.m = 1100, .n = 1100, .cols = 1, .block = 1, .symmetric = 1},
    {.m = 60, .n = 60, .cols = 33, .block = 2, .symmetric = 1, .narrow = 1},
    {.m = 50, .n = 50, .cols = 8, .block = 6, .symmetric = 1},
    {.m = 50, .n = 50, .cols = 4, .block = 5, .symmetric = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void test_exact(tulle__device *d)
{
    int bad = 0, count = 0;
    for (int i = 0; i < SHAPES; i++)
        for (int kind = 0; kind < 3; kind++) {
            struct problem p = shapes[i];
            p.slabs = 1 + (i + kind) % 2;
            p.type = kind ? TULLE_F32 : TULLE_F64;
            p.vectors = kind == 2 ? TULLE_F32 : TULLE_F64;
            count++;
            if (!problem_runs(d, &p)) bad++;
        }
    ok(bad == 0, "%d products, exact (%d wrong)", count, bad);
}

/* For halves only the same cuts have the same bits. */
static void test_bits(tulle__device *d, int own)
{
    int same = 0, count = 0;
    for (int i = 0; i < SHAPES; i++) {
        struct problem p = shapes[i];
        uint64_t bits = 0;
        if (!own && !p.narrow && !p.symmetric) continue; /* a library's, which promises nothing */
        p.type = p.vectors = TULLE_F64;
        p.unit = 1 / 3.;
        for (int turn = 0; turn < 3; turn++, count++) {
            p.slabs = p.symmetric ? 2 : 1 + turn;
            tulle_status status = problem_run(d, &p);
            if (turn == 0) bits = p.bits;
            same += status == TULLE_OK && p.bits == bits;
        }
    }
    ok(same == count, "%d of %d products have the bits of the first", same, count);
}

/* The half of a matrix that stays, as it is and prepared, with other vectors each time; the same bits. */
static void test_prepared_half(tulle__device *d)
{
    enum { N = 90, COLS = 2, TURNS = 3 };
    struct problem p = {.m = N, .n = N, .cols = COLS, .block = 1, .symmetric = 1, .unit = 1 / 3.};
    struct engines e = {.X = NULL};
    tulle__slab_task task = {.vectors = TULLE_F64, .cols = COLS};
    tulle__device_buffer *workspace = NULL;
    tulle__device_prepared *prepared = NULL;
    double X[N * COLS], Y[2][N * COLS];
    size_t bytes = 0;
    int same = 0;
    p.type = p.vectors = TULLE_F64;
    tulle_status status = open_engines(d, &p, &e);
    char *data = pack_slab(d, &p, 0, p.m, &task.A);
    task.A.rowptr.buffer = task.A.base.buffer = task.A.colind.buffer = task.A.val.buffer = e.ring[0];
    task.X = (tulle__vectors){{e.X, 0}, COLS};
    task.Y = (tulle__vectors){{e.Y, 0}, COLS};
    if (status == TULLE_OK && d->ops->workspace) status = d->ops->workspace(d, &task, &bytes);
    if (status == TULLE_OK && bytes) status = tulle__device_buffer_new(d, bytes, "a workspace", &workspace);
    task.workspace.buffer = workspace;
    d->ops->upload(e.kernels, &(tulle__device_place){e.ring[0], 0}, data, slab_bytes(&p, &task.A));
    d->ops->upload(e.kernels, &(tulle__device_place){e.X, 0}, memset(X, 0, sizeof X), sizeof X);
    if (status == TULLE_OK && d->ops->prepare) status = d->ops->prepare(e.kernels, &task, &prepared);
    ok(status == TULLE_OK && (!bytes || prepared), "a half is prepared in %zu bytes", bytes);
    for (int turn = 0; turn < TURNS && status == TULLE_OK; turn++) {
        for (int i = 0; i < N * COLS; i++) X[i] = x_at(i / COLS, turn + i % COLS) / 7;
        d->ops->upload(e.kernels, &(tulle__device_place){e.X, 0}, X, sizeof X);
        for (int k = 0; k < 2; k++) {
            task.prepared = k ? prepared : NULL;
            if (!k && prepared) task.workspace.buffer = NULL; /* it is the prepared one's */
            tulle__start_scale(d, e.kernels, &(tulle__device_scale){TULLE_F64, N, COLS, task.Y, 0});
            tulle__start_multiply(d, e.kernels, &task);
            d->ops->download(e.kernels, Y[k], &(tulle__device_place){e.Y, 0}, sizeof Y[k]);
            task.workspace.buffer = workspace;
        }
        status = d->ops->queue_wait(e.kernels);
        same += status == TULLE_OK && memcmp(Y[0], Y[1], sizeof Y[0]) == 0;
    }
    ok(same == TURNS, "it has the same bits prepared (%d of %d): %s", same, TURNS,
        status == TULLE_OK ? "ok" : tulle_error_message());
    if (prepared) d->ops->forget(d, prepared);
    tulle__device_buffer_free(d, workspace);
    close_engines(d, &e);
    free(data);
}

int main(int argc, char **argv)
{
    tulle__device *d = NULL;
    tulle__device_setting setting = {.threads = 2, .overlap = 1};
    if (argc < 2) return 2;
    tulle_status status = tulle__device_open(argv[1], &setting, &d);
    if (status == TULLE_ERR_UNSUPPORTED) {
        skip("%s: %s", argv[1], tulle_error_message());
        return tap_done();
    }
    if (!ok(status == TULLE_OK, "%s opens%s%s", argv[1], status ? ": " : "", status ? tulle_error_message() : ""))
        return tap_done();
    test_exact(d);
    test_bits(d, strstr(argv[1], "kernels=own") || !strstr(argv[1], "cuda"));
    test_prepared_half(d);
    ok(d->used == 0, "all buffers are gone");
    tulle__device_close(d);
    return tap_done();
}
