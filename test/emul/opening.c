/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that is opened: nothing is started for who only asks what there is; what is left free beside its capacity, and
 * that libraries find their memory there; how many PEs may wait for each other.
 *
 *   opening probe          what a probe makes, and a first queue
 *   opening kept BYTES     the capacity of a card of EMUL_MEMORY bytes
 *   opening full           products in a card whose capacity is taken; memory that another PE's arena has, or uses
 *   opening queues
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/device.h>

#include "base/error.h"
#include "device/device.h"
#include "emulation.h"
#include "tap.h"

static emulation emul;

static int64_t started(void)
{
    return emul.count("cublasCreate") + emul.count("cusparseCreate") + emul.count("a launch") +
           emul.count("a product of cuSPARSE") + emul.count("a product of cuBLAS") + emul.count("cudaMalloc");
}

static void test_probe(void)
{
    tulle_device_facts facts;
    tulle__device *device = NULL;
    tulle__device_queue *queue[2] = {NULL, NULL};
    tulle__device_setting setting = {.threads = 1};
    ok(tulle_device_probe("cuda", &facts) == TULLE_OK && facts.memory > 0, "a probe: %s", facts.text);
    ok(started() == 0, "it starts nothing: %" PRId64, started());
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "a device");
    ok(started() == 0, "nor does opening: %" PRId64, started());
    ok(device->ops->queue_new(device, &queue[0]) == TULLE_OK, "a queue");
    int64_t once = started();
    ok(emul.count("cublasCreate") == 1 && emul.count("cusparseCreate") == 1 && emul.count("a product of cuBLAS") > 0,
        "starts libraries and makes first products: %" PRId64, once);
    ok(device->ops->queue_new(device, &queue[1]) == TULLE_OK && started() == once, "the next one does not");
    ok(device->counts.kernels == 0 && device->used == 0, "they do not count");
    for (int q = 0; q < 2; q++) device->ops->queue_free(device, queue[q]);
    tulle__device_close(device);
    ok(emul.held() == 0, "nothing is left");
}

/* A start that fails is tried again. */
static void test_failures(void)
{
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_setting setting = {.threads = 1};
    int refused = 0;
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "a device");
    for (int64_t n = 0; n < 4000; n += n < 200 ? 1 : 7) {
        emul.fail_at(n);
        if (device->ops->queue_new(device, &queue) == TULLE_OK) break;
        refused++;
    }
    emul.fail_at(-1);
    ok(queue != NULL && refused > 50, "a queue, after %d starts that failed", refused);
    device->ops->queue_free(device, queue);
    tulle__device_close(device);
    ok(emul.held() == 0, "nothing is left");
}

/* Parts are rounded. */
static int is_near(size_t x, size_t y)
{
    return (x > y ? x - y : y - x) < 64;
}

static void test_kept(size_t want)
{
    tulle_device_facts facts = {.memory = 0};
    tulle_status status = tulle_device_probe("cuda", &facts);
    ok(status == TULLE_OK && facts.memory == want, "of %s %zu bytes are there, want %zu", facts.text, facts.memory,
        want);
    status = tulle_device_probe("cuda:mem=67108864", &facts);
    ok(status == TULLE_OK && facts.memory == 67108864, "a limit is the user's: %zu", facts.memory);
    tulle__device_setting setting = {.threads = 1, .near_size = 4};
    tulle__device *device = NULL;
    size_t capacity[2] = {0, 0};
    for (int processes = 0; processes < 2; processes++) {
        setting.near_processes = processes ? 4 : 1;
        ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "one of four PEs");
        capacity[processes] = device->capacity;
        tulle__device_close(device);
    }
    size_t whole = strtoull(getenv("EMUL_MEMORY"), NULL, 10);
    ok(is_near(capacity[0], want / 4), "threads keep free what one process does: %zu bytes each", capacity[0]);
    ok(is_near(capacity[1], whole / 4 - (whole - want)), "processes each for themselves: %zu bytes each", capacity[1]);
}

static void multiply(tulle__device *device, tulle__device_queue *queue, tulle__device_buffer *all, tulle_kind kind)
{
    enum { N = 64, ROWPTR = 0, COLIND = 4096, VAL = 8192, B = 1 << 17, C = 1 << 18 };
    int32_t zeros[N + 1] = {0};
    for (int i = 0; i <= N; i++) zeros[i] = i;
    tulle__device_chain chain = {.type = TULLE_F64, .m = N, .n = N, .npairs = 1, .c_row = N, .c_col = 1, .alpha = 1};
    chain.A[0] = (tulle__device_tile){.kind = kind, .type = TULLE_F64, .order = TULLE_ROW_MAJOR, .m = N, .n = N};
    chain.A[0].ld = chain.A[0].nnz = N;
    chain.A[0].rowptr = (tulle__device_place){all, ROWPTR};
    chain.A[0].colind = (tulle__device_place){all, COLIND};
    chain.A[0].val = (tulle__device_place){all, VAL};
    chain.B[0] = (tulle__device_tile){.kind = TULLE_DENSE, .type = TULLE_F64, .order = TULLE_ROW_MAJOR, .m = N, .n = N};
    chain.B[0].ld = N;
    chain.B[0].val = (tulle__device_place){all, B};
    chain.C = (tulle__device_place){all, C};
    device->ops->upload(queue, &chain.A[0].rowptr, zeros, sizeof zeros);
    device->ops->upload(queue, &chain.A[0].colind, zeros, N * sizeof *zeros);
    tulle__start_chain(device, queue, &chain);
}

static void test_full(void)
{
    tulle__device *device = NULL;
    tulle__device_queue *queue = NULL;
    tulle__device_buffer *all = NULL;
    tulle__device_setting setting = {.threads = 1};
    ok(tulle__device_open("cuda", &setting, &device) == TULLE_OK, "a device");
    ok(tulle__device_buffer_new(device, device->capacity, "everything", &all) == TULLE_OK, "all of its %zu bytes",
        device->capacity);
    ok(device->ops->queue_new(device, &queue) == TULLE_OK, "libraries start beside them: %s", tulle_error_message());
    multiply(device, queue, all, TULLE_CSR);
    multiply(device, queue, all, TULLE_DENSE);
    ok(device->ops->queue_wait(queue) == TULLE_OK, "and products of cuSPARSE and cuBLAS: %s", tulle_error_message());
    ok(emul.count("a product of cuBLAS") > 0 && emul.count("cuBLAS takes a workspace") == 0,
        "cuBLAS works in memory that is counted");
    ok(device->used == device->capacity, "that is within what is kept free for it");
    device->ops->queue_free(device, queue);
    tulle__device_buffer_free(device, all);
    tulle__device_close(device);
    ok(emul.held() == 0, "nothing is left");
}

/* Memory of a GPU that one PE has freed is another's; while it is in use, the refusal has figures. */
static void test_others(void)
{
    enum { PES = 2 };
    tulle__device *device[PES] = {NULL, NULL}, *again = NULL;
    tulle__device_buffer *buffer[PES] = {NULL, NULL};
    int pe[PES];
    for (int i = 0; i < PES; i++) {
        const tulle__device_setting setting = {.threads = 1, .owner = &pe[i]};
        ok(tulle__device_open("cuda:0", &setting, &device[i]) == TULLE_OK, "PE %d has all of the GPU", i);
    }
    const size_t bytes = device[0]->capacity / 4 * 3;
    ok(tulle__device_buffer_new(device[0], bytes, "a matrix", &buffer[0]) == TULLE_OK, "%zu bytes of PE 0", bytes);
    ok(tulle__device_buffer_new(device[1], bytes, "a result", &buffer[1]) == TULLE_ERR_MEMORY && !buffer[1] &&
            strstr(tulle_error_message(), "a result") && strstr(tulle_error_message(), "are in use"),
        "PE 1 gets none: %s", tulle_error_message());
    tulle__device_buffer_free(device[0], buffer[0]);
    const tulle__device_setting setting = {.threads = 1, .owner = &pe[1]};
    ok(tulle__device_open("cuda:0", &setting, &again) == TULLE_OK && again->capacity == device[0]->capacity,
        "what is free of PE 0's counts as free");
    const int64_t gave = emul.count("cudaFree");
    ok(tulle__device_buffer_new(again, bytes, "a result", &buffer[1]) == TULLE_OK && emul.count("cudaFree") == gave + 1,
        "and becomes PE 1's: %s", tulle_error_message());
    const int64_t took = emul.count("cudaMalloc");
    tulle__device_buffer_free(again, buffer[1]);
    tulle__device_close(again);
    ok(tulle__device_buffer_new(device[1], bytes, "a result", &buffer[1]) == TULLE_OK &&
            emul.count("cudaMalloc") == took,
        "which its devices share");
    tulle__device_buffer_free(device[1], buffer[1]);
    for (int i = 0; i < PES; i++) tulle__device_close(device[i]);
    ok(emul.held() == 0, "nothing is left");
}

/* pes PEs on one GPU, each with so many queues whose kernels wait. */
static void test_waits(const char *variable, int pes, int queues, int want, int most)
{
    tulle__device *device = NULL;
    tulle__device_setting setting = {.threads = 1, .near_size = pes};
    if (variable)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", variable, 1);
    else
        unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
    if (!ok(tulle__device_open("cuda:0", &setting, &device) == TULLE_OK, "a device of %d PEs", pes)) return;
    tulle_status status = device->ops->waits(device, queues);
    const char *message = status == TULLE_OK ? "" : tulle_error_message();
    ok(status == (want ? TULLE_OK : TULLE_ERR_UNSUPPORTED) && (want || strstr(message, "CUDA_DEVICE_MAX_CONNECTIONS=")),
        "%s: %d PEs, %d queues each: %s", variable ? variable : "unset", pes, queues, want ? "may wait" : message);
    ok((strstr(device->text, "hardware queues") != NULL) == (pes > most), "it is described so: %s", device->text);
    tulle__device_close(device);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!ok(emulation_find(&emul), "the emulated module: %s", tulle_error_message())) return tap_done();
    if (!strcmp(what, "probe")) {
        test_probe();
        test_failures();
    } else if (!strcmp(what, "kept") && argc == 3) {
        test_kept(strtoull(argv[2], NULL, 10));
    } else if (!strcmp(what, "full")) {
        test_full();
        test_others();
    } else if (!strcmp(what, "queues")) {
        test_waits(NULL, 8, 1, 1, 8);
        test_waits(NULL, 9, 1, 0, 8);
        test_waits(NULL, 4, 3, 0, 8);
        test_waits("16", 16, 1, 1, 16);
        test_waits("16", 16, 2, 0, 16);
        test_waits("32", 16, 2, 1, 32);
        test_waits("64", 33, 1, 0, 32);
        test_waits("", 9, 1, 0, 8);
        test_waits("x", 9, 1, 0, 8);
    } else {
        ok(0, "opening probe | kept BYTES | full | queues");
    }
    return tap_done();
}
