/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PEs of a host and its GPUs, two in the emulation: which one a PE takes, what of its memory is its own, whose context
 * the caller's thread has afterwards, what kernels take beside their operands, and what is known of a GPU that is lost.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "device/device.h"
#include "emulation.h"
#include "tap.h"

static emulation emul;

/* The text of what a PE gets, and its capacity. */
static size_t open_one(const char *spec, int near_rank, int near_size, const char *name)
{
    tulle__device *device = NULL;
    tulle__device_setting setting = {.threads = 1, .rank = 17, .near_rank = near_rank, .near_size = near_size};
    size_t capacity = 0;
    if (!ok(tulle__device_open(spec, &setting, &device) == TULLE_OK, "PE %d of %d opens %s", near_rank, near_size,
            spec))
        return 0;
    ok(strstr(device->text, name) != NULL, "it has %s: %s", name, device->text);
    capacity = device->capacity;
    tulle__device_close(device);
    return capacity;
}

static void test_choice(void)
{
    size_t alone = open_one("cuda", 0, 1, "GPU 0"), first = open_one("cuda", 0, 3, "GPU 0"),
           second = open_one("cuda", 1, 3, "GPU 1"), third = open_one("cuda", 2, 3, "GPU 0"),
           all = open_one("cuda:1", 2, 4, "GPU 1"), unknown = open_one("cuda", 0, 0, "GPU 0");
    ok(second == alone && unknown == alone, "a GPU of one PE is all its: %zu bytes", alone);
    ok(first == alone / 2 && third == alone / 2, "two PEs divide one: %zu bytes each", first);
    ok(all == alone / 4, "those that name one divide it: %zu bytes each", all);
}

/* caller: the GPU whose context this thread has before; -1: none. The device is GPU 1. */
static void test_context(int caller)
{
    tulle__device *device = NULL;
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_event *event = NULL;
    tulle__device_setting setting = {.threads = 1, .near_rank = 1, .near_size = 2};
    double x = 1, y = 0;
    int bad = 0;
    emul.choose(caller);
    tulle_status status = tulle__device_open("cuda", &setting, &device);
    if (!ok(status == TULLE_OK && strstr(device->text, "GPU 1"), "a thread with GPU %d opens GPU 1", caller)) return;
    const tulle__device_ops *ops = device->ops;
    bad += emul.context() != caller;
    bad += tulle__device_buffer_new(device, 64, "a buffer", &buffer) != TULLE_OK || emul.context() != caller;
    bad += ops->queue_new(device, &queue) != TULLE_OK || ops->event_new(device, &event) != TULLE_OK;
    ops->upload(queue, &(tulle__device_place){buffer, 0}, &x, sizeof x);
    ops->record(queue, event);
    ops->join(queue, event);
    bad += emul.context() != caller;
    ops->event_wait(event);
    bad += !ops->event_done(event) || emul.context() != caller;
    ops->download(queue, &y, &(tulle__device_place){buffer, 0}, sizeof y);
    bad += emul.context() != caller;
    bad += ops->queue_wait(queue) != TULLE_OK || y != 1 || emul.context() != caller;
    ops->event_free(device, event);
    bad += emul.context() != caller;
    ops->queue_free(device, queue);
    bad += emul.context() != caller;
    tulle__device_buffer_free(device, buffer);
    bad += emul.context() != caller;
    tulle__device_close(device);
    ok(bad == 0 && emul.context() == caller, "it has GPU %d after any call (%d bad)", caller, bad);
    emul.choose(-1);
}

/* A GPU for which nothing was compiled, as any of the kernels tells. */
static void test_code(void)
{
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_setting setting = {.threads = 1, .near_size = 1};
    int refused = 0, bad = 0;
    for (int64_t n = 0;; n++) {
        emul.fail_at(n);
        tulle_status status = tulle__device_open("cuda", &setting, &device);
        if (status == TULLE_OK) {
            status = device->ops->queue_new(device, &queue);
            if (status == TULLE_OK) break;
            tulle__device_close(device); /* keeps the message */
            device = NULL;
        }
        if (!strstr(tulle_error_message(), "this build has no kernels for GPU 0")) continue;
        refused++;
        bad += status != TULLE_ERR_UNSUPPORTED || !strstr(tulle_error_message(), "whose compute capability is 9.0");
    }
    emul.fail_at(-1);
    device->ops->queue_free(device, queue);
    tulle__device_close(device);
    ok(refused > 50 && !bad, "without code for the GPU it is refused, with its capability (%d kernels, %d bad)",
        refused, bad);
}

struct result {
    tulle__device *device;
    tulle__device_buffer *buffer;
};

static tulle_status place(void *context, int64_t m, int64_t nnz, tulle__device_tile *C)
{
    struct result *r = context;
    (void)nnz;
    tulle_status status =
        tulle__device_buffer_new(r->device, (size_t)(m + 1) * sizeof(int32_t), "a result", &r->buffer);
    C->rowptr = C->colind = C->val = (tulle__device_place){r->buffer, 0};
    return status;
}

/* A product of so many empty rows wants more room of its own than is kept for that: it counts, or is refused. */
static void test_workspaces(const char *spec, tulle_status want)
{
    enum { ROWS = 3500000 };
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_setting setting = {.threads = 1};
    tulle__device_buffer *buffer = NULL;
    tulle__device_product_counts counts;
    struct result r = {.buffer = NULL};
    int32_t *rowptr = calloc(ROWS + 1, sizeof *rowptr);
    tulle_status status = tulle__device_open(spec, &setting, &device);
    if (status == TULLE_OK) status = device->ops->queue_new(device, &queue);
    if (status == TULLE_OK) status = tulle__device_buffer_new(device, (ROWS + 1) * sizeof *rowptr, "rows", &buffer);
    if (!ok(status == TULLE_OK, "%s opens", spec)) return free(rowptr);
    r.device = device;
    device->ops->upload(queue, &(tulle__device_place){buffer, 0}, rowptr, (ROWS + 1) * sizeof *rowptr);
    tulle__device_product task = {.type = TULLE_F64, .m = ROWS, .n = 1, .npairs = 1, .scale = {1}};
    task.A[0] = (tulle__device_tile){.kind = TULLE_CSR, .type = TULLE_F64, .m = ROWS, .n = ROWS};
    task.A[0].rowptr = task.A[0].colind = task.A[0].val = (tulle__device_place){buffer, 0};
    task.B[0] = task.A[0];
    status = device->ops->product(queue, &task, place, &r, &counts);
    ok(status == want && (status == TULLE_OK || strstr(tulle_error_message(), "room for a kernel")),
        "%s: a product is %s%s", spec, status ? "refused: " : "made", status ? tulle_error_message() : "");
    size_t buffers = buffer->bytes + (r.buffer ? r.buffer->bytes : 0);
    ok(status != TULLE_OK || device->used > buffers, "%zu bytes are used, of them %zu in buffers", device->used,
        buffers);
    device->ops->queue_free(device, queue);
    tulle__device_buffer_free(device, r.buffer);
    tulle__device_buffer_free(device, buffer);
    ok(device->used == 0, "none is left");
    tulle__device_close(device);
    free(rowptr);
}

/* The first cause stays, and everything is refused with it. */
static void test_loss(void)
{
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_buffer *buffer = NULL;
    tulle__device_setting setting = {.threads = 1};
    char cause[TULLE_MESSAGE_MAX];
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "a GPU");
    ok(device->ops->queue_new(device, &queue) == TULLE_OK, "a queue");
    emul.break_at(0);
    ok(device->ops->queue_wait(queue) == TULLE_ERR_COMM, "it is lost");
    snprintf(cause, sizeof cause, "%s", tulle_error_message());
    ok(strstr(cause, "GPU 0 cannot be used any more in this process: CUDA, ") && strstr(cause, "ECC"), "%s", cause);
    ok(tulle__device_buffer_new(device, 64, "a buffer", &buffer) == TULLE_ERR_COMM &&
            !strcmp(tulle_error_message(), cause),
        "memory is refused with that cause");
    ok(device->ops->queue_wait(queue) == TULLE_ERR_COMM && !strcmp(tulle_error_message(), cause), "and a queue");
    device->ops->queue_free(device, queue);
    tulle__device_close(device);
    device = NULL;
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_ERR_COMM && !device &&
            strstr(tulle_error_message(), "GPU 0 cannot be used any more"),
        "nor can it be opened again: %s", tulle_error_message());
    emul.repair();
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "one that works can");
    tulle__device_close(device);
    ok(emul.held() == 0, "nothing is left on the devices");
}

int main(void)
{
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    test_context(-1);
    test_context(0);
    test_code();
    test_choice();
    test_workspaces("cuda:mem=32M", TULLE_OK);
    test_workspaces("cuda:mem=16M", TULLE_ERR_LIMIT);
    test_loss();
    return tap_done();
}
