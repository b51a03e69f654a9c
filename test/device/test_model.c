/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device `model` on a clock of the test's: dates of copies and kernels to the nanosecond, what runs beside what,
 * results of the device below, and refusals.
 */
#include <stdio.h>
#include <string.h>

#include "devices.h"

struct test_clock {
    int64_t now;
};

static int64_t now(void *arg)
{
    return ((struct test_clock *)arg)->now;
}

static void until(void *arg, int64_t then)
{
    struct test_clock *clock = arg;
    if (then > clock->now) clock->now = then;
}

static tulle_status open_model(const char *spec, struct test_clock *time, int shapes, tulle__device **device)
{
    const tulle__device_clock clock = {now, until, time, shapes};
    const tulle__device_setting setting = {.threads = 1, .clock = &clock};
    return tulle__device_open(spec, &setting, device);
}

/* 1 GB/s up and down, 2 GB/s between devices, 1 Gflop/s, 8 GB/s of memory: 1 ns a byte, half a one, an operation, ...
 */
#define RATES "mem=4M,link=1G,peer=2G,latency=1us,flops=1G,memory=8G,launch=2us"

enum { N = 8, BYTES = N * N * 8, COPY = 1000 + BYTES, KERNEL = 2000 + 2 * N * N * N, PEER_COPY = 1000 + BYTES / 2 };

static void multiply(const tulle__device *device, tulle__device_queue *queue, tulle__device_buffer *b, double beta)
{
    tulle__device_tile tile = {
        .kind = TULLE_DENSE, .type = TULLE_F64, .order = TULLE_ROW_MAJOR, .m = N, .n = N, .ld = N};
    tulle__device_chain task = {.type = TULLE_F64, .m = N, .n = N, .npairs = 1, .c_row = N, .c_col = 1, .alpha = 1};
    task.A[0] = task.B[0] = tile;
    task.A[0].val = (tulle__device_place){b, 0};
    task.B[0].val = (tulle__device_place){b, BYTES};
    task.C = (tulle__device_place){b, (size_t)2 * BYTES};
    task.beta = beta;
    tulle__start_chain(device, queue, &task);
}

/* A and B come, are multiplied twice, and C leaves while A comes again; from a sister in half of the time. */
static void dates(const char *spec, int shapes)
{
    static double host[3 * N * N], back[N * N];
    struct test_clock time = {.now = 5000};
    tulle__device *device = NULL, *sister = NULL;
    tulle__device_buffer *b = NULL, *s = NULL;
    tulle__device_queue *in = NULL, *work = NULL, *out = NULL, *theirs = NULL;
    tulle__device_event *arrived = NULL, *made = NULL;
    for (int e = 0; e < 2 * N * N; e++) host[e] = e % 7 - 3;
    if (!ok(open_model(spec, &time, shapes, &device) == TULLE_OK &&
                open_model(spec, &time, shapes, &sister) == TULLE_OK &&
                tulle__device_buffer_new(device, sizeof host, "a", &b) == TULLE_OK &&
                tulle__device_buffer_new(sister, sizeof host, "a", &s) == TULLE_OK,
            "%s: %s", spec, tulle_error_message()))
        return;
    const tulle__device_ops *ops = device->ops;
    ok(ops->queue_new(device, &in) == TULLE_OK && ops->queue_new(device, &work) == TULLE_OK &&
            ops->queue_new(device, &out) == TULLE_OK && ops->event_new(device, &arrived) == TULLE_OK &&
            ops->event_new(device, &made) == TULLE_OK,
        "%s: queues", spec);
    ops->upload(in, &(tulle__device_place){b, 0}, host, BYTES);
    ops->upload(in, &(tulle__device_place){b, BYTES}, host + N * N, BYTES);
    ops->record(in, arrived);
    ops->join(work, arrived);
    multiply(device, work, b, 0);
    multiply(device, work, b, 1);
    ops->record(work, made);
    ops->join(out, made);
    ops->download(out, back, &(tulle__device_place){b, (size_t)2 * BYTES}, BYTES);
    ok(time.now == 5000, "%s: starts take no time", spec);
    ok(!ops->event_done(arrived), "%s: what is under way has not happened", spec);
    ops->event_wait(arrived);
    ok(time.now == 5000 + 2 * COPY, "%s: two copies: %lld ns", spec, (long long)(time.now - 5000));
    ops->upload(in, &(tulle__device_place){b, 0}, host, BYTES); /* beside the kernels */
    ok(ops->queue_wait(in) == TULLE_OK && time.now == 5000 + 3 * COPY, "%s: a third beside kernels: %lld ns", spec,
        (long long)(time.now - 5000));
    ok(ops->queue_wait(out) == TULLE_OK && time.now == 5000 + 2 * COPY + 2 * KERNEL + COPY,
        "%s: copies, kernels and a copy back: %lld ns", spec, (long long)(time.now - 5000));
    ok(ops->event_done(made) == 1, "%s: what has happened is done", spec);
    int64_t before = time.now;
    const tulle__device_copy peer = {.to = {s, 0},
        .from = {b, 0},
        .source = device,
        .lines = N,
        .width = N * 8,
        .to_pitch = N * 8,
        .from_pitch = N * 8};
    ok(ops->peer(sister, device) && sister->ops->queue_new(sister, &theirs) == TULLE_OK, "%s: peers", spec);
    sister->ops->copy(theirs, &peer);
    ok(sister->ops->queue_wait(theirs) == TULLE_OK && time.now == before + PEER_COPY, "%s: a peer copy: %lld ns", spec,
        (long long)(time.now - before));
    const tulle__device_counts *n = &device->counting->counts;
    ok(n->copies[TULLE__COPY_UP] == 3 && n->bytes[TULLE__COPY_UP] == 3 * BYTES && n->copies[TULLE__COPY_DOWN] == 1 &&
            n->kernels == 2 && n->kernel_ns == 2 * KERNEL && n->copy_ns[TULLE__COPY_UP] == 3 * COPY &&
            sister->counting->counts.bytes[TULLE__COPY_PEER] == BYTES,
        "%s: counts", spec);
    double sum = 0;
    for (int k = 0; k < N; k++) sum += 2 * host[k] * host[N * N + k * N];
    ok(shapes ? back[0] == 0 : back[0] == sum, "%s: element (0, 0) is %g of %g", spec, back[0], sum);
    sister->ops->queue_free(sister, theirs);
    ops->event_free(device, arrived);
    ops->event_free(device, made);
    ops->queue_free(device, in);
    ops->queue_free(device, work);
    ops->queue_free(device, out);
    tulle__device_buffer_free(device, b);
    tulle__device_buffer_free(sister, s);
    tulle__device_close(device);
    tulle__device_close(sister);
}

static void refused(const char *spec, struct test_clock *time, int shapes, tulle_status want, const char *words)
{
    const tulle__device_setting real = {.threads = 1};
    tulle__device *device = NULL;
    tulle_status status = time ? open_model(spec, time, shapes, &device) : tulle__device_open(spec, &real, &device);
    ok(status == want && strstr(tulle_error_message(), words), "%s: %s", spec, tulle_error_message());
    tulle__device_close(device);
}

int main(void)
{
    struct test_clock time = {.now = 0};
    tulle__device *device = NULL;
    tulle__device_buffer *b = NULL;
    dates("model:" RATES, 1);
    dates("model:" RATES "+cpu", 0);
    dates("model:" RATES "+ref", 0);
    refused("model:mem=1M", NULL, 0, TULLE_ERR_UNSUPPORTED, "virtual time");
    refused("model:mem=1M", &time, 0, TULLE_ERR_ARG, "+cpu");
    refused("model:mem=1M+cpu", &time, 1, TULLE_ERR_ARG, "data=none");
    refused("model:flops=0", &time, 1, TULLE_ERR_ARG, "flops=0");
    refused("model:flop=1T", &time, 1, TULLE_ERR_ARG, "flop");
    ok(open_model("model:mem=1M", &time, 1, &device) == TULLE_OK, "a device of shapes");
    ok(tulle__device_buffer_new(device, 1000001, "a tile", &b) == TULLE_ERR_LIMIT, "its memory is held: %s",
        tulle_error_message());
    ok(!device->ops->peer(device, device), "without peer= nothing comes from others");
    ok(tulle__device_has(device, TULLE__DEVICE_CHAIN) && tulle__device_has_product(device),
        "it multiplies into tiles of all kinds");
    tulle__device_close(device);
    return tap_done();
}
