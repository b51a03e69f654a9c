/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device `openacc`: memory, copies and asynchronous queues of OpenACC, kernels as its loops (openacc_kernels.c). It
 * runs on an NVIDIA GPU if the module was built for one and one is here, else on the host, where OpenACC of GCC does
 * everything on the calling thread before a call returns.
 *
 * A queue is an asynchronous queue of OpenACC's, named by a number. An event has one of its own, in which there is
 * never anything but waiting: recording an event lets that queue wait for what is in the recorded one by then, and
 * a join or a wait for the event waits for the event's queue. So what is started in the recorded queue later
 * is not waited for. (An event that is recorded again also waits for what it stood for before, which was started
 * before, too.)
 *
 * Only what the device lacks a kernel for sticks to a queue: OpenACC has no errors, and its library ends the process,
 * with a message, when a GPU fails.
 */
#include <dlfcn.h>
#include <openacc.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/module/module.h"
#include "device/openacc/openacc_kernels.h"
#include "device/page_block.h"

static const tulle__module_host *house;

typedef struct openacc {
    tulle__device device;
    acc_device_t type;
    int ordinal;
    void *driver;                                             /* CUDA's, to pin memory; NULL: of the host, or none */
    int (*pin)(void *memory, size_t bytes, unsigned options); /* cuMemHostRegister */
    int (*unpin)(void *memory);
    tulle__timeline *kernels_line, *copies_line;
} openacc;

struct tulle__device_queue {
    openacc *acc;
    int number;
    tulle_status status;
    char message[TULLE_MESSAGE_MAX];
};

struct tulle__device_event {
    const openacc *acc;
    int number;
};

/* OpenACC's device is chosen for each thread. */
static void choose(const openacc *acc)
{
    acc_set_device_num(acc->ordinal, acc->type);
}

static int on_host(const openacc *acc)
{
    return acc->type == acc_device_host;
}

/* ---- numbers of queues: one set for all devices of the process, since OpenACC's queues are a GPU's ---- */

enum { WORDS = 16, WORD = 64 };
static uint64_t taken[WORDS];

static tulle_status take_number(int *number)
{
    for (int w = 0; w < WORDS; w++) {
        uint64_t seen = __atomic_load_n(&taken[w], __ATOMIC_RELAXED);
        while (~seen) {
            int bit = __builtin_ctzll(~seen);
            *number = w * WORD + bit;
            if (__atomic_compare_exchange_n(
                    &taken[w], &seen, seen | (uint64_t)1 << bit, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return TULLE_OK;
        }
    }
    return house->fail(TULLE_ERR_LIMIT, "openacc: all %d queues and events of this process are in use", WORDS * WORD);
}

static void give_number(int number)
{
    __atomic_fetch_and(&taken[number / WORD], ~((uint64_t)1 << number % WORD), __ATOMIC_RELEASE);
}

/* ---- memory: on the host it is charged to the PE's account ---- */

struct block {
    tulle__device_buffer buffer;
    void *memory;
};

void *tulle__openacc_at(const tulle__device_place *place)
{
    const struct block *block = (const struct block *)place->buffer;
    return block ? (char *)block->memory + place->at : NULL;
}

static tulle_status memory_new(const openacc *acc, size_t bytes, const char *what, void **memory)
{
    if (on_host(acc)) return house->alloc(bytes, 1, what, memory);
    choose(acc);
    *memory = acc_malloc(bytes ? bytes : 1);
    return *memory ? TULLE_OK : house->fail(TULLE_ERR_MEMORY, "%s: the GPU has no %zu bytes left", what, bytes);
}

static tulle_status buffer_new(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer)
{
    struct block *block = NULL;
    tulle_status status = house->alloc_zero(1, sizeof *block, what, &block);
    if (status == TULLE_OK) status = memory_new((const openacc *)device, bytes, what, &block->memory);
    if (status != TULLE_OK) {
        house->free(block);
        return status;
    }
    block->buffer.bytes = bytes;
    *buffer = &block->buffer;
    return TULLE_OK;
}

static void buffer_free(tulle__device *device, tulle__device_buffer *buffer)
{
    const openacc *acc = (const openacc *)device;
    struct block *block = (struct block *)buffer;
    choose(acc);
    if (on_host(acc))
        house->free(block->memory);
    else
        acc_free(block->memory);
    house->free(block);
}

/* Pinned, if the driver does so: copies are slower else. */
static tulle_status host_new(tulle__device *device, size_t bytes, const char *what, void *out)
{
    const openacc *acc = (const openacc *)device;
    void *memory;
    TULLE_CALL(house->alloc(bytes + TULLE__PAGE_BLOCK_EXTRA, 1, what, &memory));
    void *block = tulle__page_block(memory);
    if (acc->pin && bytes) {
        choose(acc);
        (void)acc->pin(block, bytes, 0);
    }
    memcpy(out, &block, sizeof block);
    return TULLE_OK;
}

static void host_free(tulle__device *device, void *block)
{
    const openacc *acc = (const openacc *)device;
    if (!block) return;
    if (acc->unpin) {
        choose(acc);
        (void)acc->unpin(block); /* refused if it was not pinned */
    }
    house->free(tulle__page_block_memory(block));
}

static tulle_status host_register(tulle__device *device, void *memory, size_t bytes)
{
    (void)device, (void)memory, (void)bytes;
    return house->fail(TULLE_ERR_UNSUPPORTED, "openacc pins no memory but its own");
}

static void host_unregister(tulle__device *device, void *memory)
{
    (void)device, (void)memory;
}

/* OpenACC's library ends the process when a GPU fails. */
static tulle_status state(tulle__device *device)
{
    (void)device;
    return TULLE_OK;
}

static int peer(const tulle__device *device, const tulle__device *other)
{
    (void)device, (void)other;
    return 0;
}

/* ---- queues and events ---- */

static tulle_status queue_new(tulle__device *device, tulle__device_queue **out)
{
    tulle__device_queue *queue = NULL;
    tulle_status status = house->alloc_zero(1, sizeof *queue, "a queue", &queue);
    if (status == TULLE_OK) status = take_number(&queue->number);
    if (status != TULLE_OK) {
        house->free(queue);
        return status;
    }
    queue->acc = (openacc *)device;
    *out = queue;
    return TULLE_OK;
}

static void stick(tulle__device_queue *queue, tulle_status status)
{
    queue->status = status;
    snprintf(queue->message, sizeof queue->message, "%s", house->error_message());
}

static tulle_status queue_wait(tulle__device_queue *queue)
{
    tulle_status status = queue->status;
    choose(queue->acc);
    acc_wait(queue->number);
    queue->status = TULLE_OK;
    if (status != TULLE_OK) house->error_set(queue->message);
    return status;
}

static void queue_free(tulle__device *device, tulle__device_queue *queue)
{
    (void)device;
    if (!queue) return;
    (void)queue_wait(queue);
    give_number(queue->number);
    house->free(queue);
}

static tulle_status event_new(tulle__device *device, tulle__device_event **out)
{
    tulle__device_event *event = NULL;
    tulle_status status = house->alloc_zero(1, sizeof *event, "an event", &event);
    if (status == TULLE_OK) status = take_number(&event->number);
    if (status != TULLE_OK) {
        house->free(event);
        return status;
    }
    event->acc = (const openacc *)device;
    *out = event;
    return TULLE_OK;
}

static void event_wait(tulle__device_event *event)
{
    choose(event->acc);
    acc_wait(event->number);
}

static int event_done(tulle__device_event *event)
{
    choose(event->acc);
    return acc_async_test(event->number) != 0;
}

static void event_free(tulle__device *device, tulle__device_event *event)
{
    (void)device;
    if (!event) return;
    event_wait(event); /* the next queue of its number begins empty */
    give_number(event->number);
    house->free(event);
}

static void record(tulle__device_queue *queue, tulle__device_event *event)
{
    choose(queue->acc);
    acc_wait_async(queue->number, event->number);
}

static void join(tulle__device_queue *queue, tulle__device_event *event)
{
    choose(queue->acc);
    acc_wait_async(event->number, queue->number);
}

/* ---- work: what it took is known where it is done when the call returns; OpenACC times nothing ---- */

/* Counts of copies are added to by several threads. */
static void report(openacc *acc, tulle__timeline *line, const char *name, int64_t start, int64_t bytes, int64_t *ns)
{
    int64_t end = tulle__clock_ns();
    if (!on_host(acc)) return;
    __atomic_fetch_add(ns, end - start, __ATOMIC_RELAXED);
    house->timeline_span(line, name, start, end, bytes, -1);
}

static void count_copy(tulle__device_queue *queue, int down, int64_t start, size_t bytes)
{
    tulle__device_counts *counts = &queue->acc->device.counts;
    __atomic_fetch_add(&counts->copies[down], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->bytes[down], (int64_t)bytes, __ATOMIC_RELAXED);
    report(queue->acc, queue->acc->copies_line, down ? "download" : "upload", start, (int64_t)bytes,
        &counts->copy_ns[down]);
}

static void upload(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK) return;
    choose(queue->acc);
    if (bytes) acc_memcpy_to_device_async(tulle__openacc_at(to), (void *)(uintptr_t)from, bytes, queue->number);
    count_copy(queue, 0, start, bytes);
}

static void download(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK) return;
    choose(queue->acc);
    if (bytes) acc_memcpy_from_device_async(to, tulle__openacc_at(from), bytes, queue->number);
    count_copy(queue, 1, start, bytes);
}

/* Slabs need no other copies than the two above. */
static void copy(tulle__device_queue *queue, const tulle__device_copy *copy)
{
    (void)copy;
    if (queue->status != TULLE_OK) return;
    stick(queue, house->fail(TULLE_ERR_UNSUPPORTED, "openacc has no copies of lines, or between devices"));
}

static void count_kernel(tulle__device_queue *queue, const char *name, int64_t start)
{
    tulle__device_counts *counts = &queue->acc->device.counts;
    counts->kernels++;
    report(queue->acc, queue->acc->kernels_line, name, start, -1, &counts->kernel_ns);
}

static void multiply(tulle__device_queue *queue, const tulle__slab_task *task)
{
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK || task->A.m == 0 || task->cols == 0) return;
    if (task->A.type == TULLE_F64 && task->vectors == TULLE_F32) {
        stick(queue, house->fail(TULLE_ERR_UNSUPPORTED, "openacc has no product of f64 values with f32 vectors"));
        return;
    }
    choose(queue->acc);
    tulle__openacc_multiply(queue->number, task);
    count_kernel(queue, "multiply", start);
}

static void scale(tulle__device_queue *queue, const tulle__device_scale *task)
{
    int64_t start = tulle__clock_ns();
    if (queue->status != TULLE_OK || task->lines == 0 || task->width == 0) return;
    choose(queue->acc);
    tulle__openacc_scale(queue->number, task->type, task->lines, task->width, &task->Y, task->beta);
    count_kernel(queue, "scale", start);
}

#define KERNELS(X)                                                                                                     \
    X(MULTIPLY, multiply, tulle__slab_task)                                                                            \
    X(SCALE, scale, tulle__device_scale)

static void start(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task)
{
    switch (kernel) {
        KERNELS(TULLE__KERNEL_CASE)
    default:
        break;
    }
}

/* ---- opening and closing ---- */

static void close_openacc(tulle__device *device)
{
    openacc *acc = (openacc *)device;
    if (acc->driver) dlclose(acc->driver);
    house->free(acc);
}

static const tulle__device_ops ops = {
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .host_new = host_new,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .state = state,
    .peer = peer,
    .queue_new = queue_new,
    .queue_free = queue_free,
    .queue_wait = queue_wait,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .join = join,
    .event_wait = event_wait,
    .event_done = event_done,
    .upload = upload,
    .download = download,
    .copy = copy,
    .start = start,
    .close = close_openacc,
};

static void use_host(openacc *acc, double memory)
{
    acc->type = acc_device_host;
    acc->device.capacity =
        memory > 0 ? (size_t)memory : house->memory_left() / 10 * 9; /* not all of it is a device's */
    snprintf(acc->device.text, sizeof acc->device.text, "OpenACC on the host, one thread");
}

/* OpenACC has no pinned memory: the driver has, which libgomp has loaded for the GPU. */
static void find_pinning(openacc *acc)
{
    void *pin, *unpin;
    acc->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!acc->driver) return;
    pin = dlsym(acc->driver, "cuMemHostRegister_v2");
    unpin = dlsym(acc->driver, "cuMemHostUnregister");
    if (!pin || !unpin) return;
    memcpy(&acc->pin, &pin, sizeof pin);
    memcpy(&acc->unpin, &unpin, sizeof unpin);
}

/* PEs of a host take its GPUs in turn, and divide the memory of one that several have. */
static tulle_status use_gpu(openacc *acc, int count, const tulle__device_setting *setting, double memory)
{
    enum { KEPT = 64 << 20 }; /* for what the driver takes */
    acc->type = acc_device_nvidia;
    acc->ordinal = setting->near_rank % count;
    choose(acc);
    const char *name = acc_get_property_string(acc->ordinal, acc->type, acc_property_name);
    size_t whole = acc_get_property(acc->ordinal, acc->type, acc_property_memory);
    size_t left = acc_get_property(acc->ordinal, acc->type, acc_property_free_memory);
    if (memory > (double)left)
        return house->fail(TULLE_ERR_LIMIT, "%.0f bytes were asked for of %s, which has %zu left", memory, name, left);
    left = left > KEPT ? (left - KEPT) / (size_t)tulle__device_sharers(setting, count) : 0;
    acc->device.capacity = memory > 0 ? (size_t)memory : left;
    acc->device.pinned = 1;
    acc->device.real_time = 1;
    const unsigned tenths = (unsigned)((double)whole * 10 / (1 << 30) + .5); /* whatever point the locale has */
    snprintf(acc->device.text, sizeof acc->device.text, "OpenACC on %.80s, %u.%u GiB", name, tenths / 10, tenths % 10);
    find_pinning(acc);
    return TULLE_OK;
}

static tulle_status open_openacc(tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device)
{
    static const char *const keys[] = {"host", "mem"};
    openacc *acc = NULL;
    double memory = 0;
    int host = 0, gpus = 0;
    tulle_status status = TULLE_OK;
    TULLE_CALL(house->spec_flag(part, "host", &host));
    TULLE_CALL(house->spec_bytes(part, "mem", &memory));
    TULLE_CALL(house->spec_done(part, keys, 2));
    TULLE_CALL(house->alloc_zero(1, sizeof *acc, "a device", &acc));
    if (TULLE_OPENACC_GPU && !host) gpus = acc_get_num_devices(acc_device_nvidia);
    if (gpus > 0)
        status = use_gpu(acc, gpus, setting, memory);
    else
        use_host(acc, memory);
    if (status != TULLE_OK) {
        house->free(acc);
        return status;
    }
    acc->device.ops = &ops;
    acc->device.name = "openacc";
    acc->device.kernels = 0 KERNELS(TULLE__KERNEL_BIT);
    acc->device.rowptr_bytes = 4;
    acc->device.most_blocks = INT32_MAX;
    acc->device.counting = &acc->device;
    acc->kernels_line = setting->timeline;
    acc->copies_line = setting->copied ? NULL : setting->timeline;
    *device = &acc->device;
    return TULLE_OK;
}

static const tulle__device_driver driver = {.name = "openacc",
    .summary = "a GPU, or else the host, by OpenACC's asynchronous queues and loops (host, mem=)",
    .open = open_openacc};

static const tulle__module module = {.version = TULLE__MODULE_VERSION, .device = &driver};

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
    if (host->version != TULLE__MODULE_VERSION) return NULL;
    /* each PE loads the module, all with the same table */
    if (__atomic_load_n(&house, __ATOMIC_ACQUIRE) != host) __atomic_store_n(&house, host, __ATOMIC_RELEASE);
    return &module;
}
