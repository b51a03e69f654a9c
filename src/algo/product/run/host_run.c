/* SPDX-License-Identifier: Apache-2.0 */
/* The host as a device whose queue runs at once: a start is a call. */
#include "algo/product/run/runner.h"

#include "base/memory.h"

struct host_run {
    tulle__runner runner;
    const tulle__context *context;
};

static tulle_status chain(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__chain_task *task)
{
    const tulle__context *context = ((struct host_run *)runner)->context;
    (void)tiles;
    return runner->format->multiply(context->kernels, context->pool, task);
}

static tulle_status product(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task,
    tulle__csr_place place, void *place_context, tulle__csr_result *C)
{
    const tulle__context *context = ((struct host_run *)runner)->context;
    (void)tiles;
    return runner->format->product(context->kernels, context->pool, task, place, place_context, C);
}

static tulle_status finish(tulle__runner *runner)
{
    (void)runner;
    return TULLE_OK;
}

static void end(tulle__runner *runner)
{
    (void)runner;
}

static tulle_device_work work(const tulle__runner *runner)
{
    (void)runner;
    return (tulle_device_work){.devices = 0};
}

static void free_run(tulle__runner *runner)
{
    tulle__free(runner);
}

static const tulle__runner_ops ops = {
    .chain = chain, .product = product, .finish = finish, .end = end, .work = work, .free = free_run};

tulle_status tulle__host_run_new(const tulle__context *context, const tulle__tile_format *format, tulle__runner **out)
{
    struct host_run *run = NULL;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *run, "a plan", &run));
    run->runner = (tulle__runner){.ops = &ops, .format = format, .keeps_structure = true};
    run->context = context;
    *out = &run->runner;
    return TULLE_OK;
}
