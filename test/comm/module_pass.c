/* SPDX-License-Identifier: Apache-2.0 */
/* A module for the loader's test: the wrapper `pass`, which has a key of its own and forwards everything. */
#include "base/module/module.h"
#include "comm/link.h"

#ifndef VERSION
#define VERSION TULLE__MODULE_VERSION
#endif

__attribute__((visibility("default"))) const tulle__module *tulle_module_entry(const tulle__module_host *host);

struct pass_link {
    tulle__link link;
    const tulle__module_host *host;
};

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    return link->inner->ops->get(link->inner, group, place, at, local, bytes);
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    return link->inner->ops->put(link->inner, group, place, at, local, bytes);
}

static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return link->inner->ops->getv(link->inner, group, place, n, range);
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    return link->inner->ops->putv(link->inner, group, place, n, range);
}

static int ready(tulle__link *link, int group, uint64_t count)
{
    return link->inner->ops->ready(link->inner, group, count);
}

static tulle_status wait(tulle__link *link, int group, uint64_t count)
{
    return link->inner->ops->wait(link->inner, group, count);
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    return link->inner->ops->fetch_add(link->inner, place, at, value);
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    return link->inner->ops->compare_swap(link->inner, place, at, expected, desired);
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    link->inner->ops->store(link->inner, place, at, value);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    return link->inner->ops->load(link->inner, place, at);
}

static void *mapped(tulle__link *link, int rank, int segment)
{
    return link->inner->ops->mapped(link->inner, rank, segment);
}

static void progress(tulle__link *link)
{
    link->inner->ops->progress(link->inner);
}

static void fini(tulle__link *link)
{
    tulle__link *inner = link->inner;
    ((struct pass_link *)link)->host->free(link);
    inner->ops->fini(inner);
}

static const tulle__link_ops ops = {.get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = ready,
    .wait = wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = mapped,
    .progress = progress,
    .fini = fini};

/* Set once when the module is loaded, before any PE runs. */
static const tulle__module_host *lent;

static tulle_status open_pass(tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"depth"};
    int64_t depth = 0;
    struct pass_link *pass;
    (void)timeline;
    tulle_status status = lent->spec_int(part, "depth", 0, 9, &depth);
    if (status == TULLE_OK) status = lent->spec_done(part, keys, 1);
    if (status == TULLE_OK) status = lent->alloc_zero(1, sizeof *pass, "pass wrapper", &pass);
    if (status != TULLE_OK) return status;
    pass->link = *inner;
    pass->link.ops = &ops;
    pass->link.inner = inner;
    pass->host = lent;
    *link = &pass->link;
    return TULLE_OK;
}

static const tulle__wrapper wrapper = {.name = "pass", .summary = "forwards everything", .open = open_pass};
static const tulle__module module = {.version = VERSION, .wrapper = &wrapper};

const tulle__module *tulle_module_entry(const tulle__module_host *host)
{
#ifdef REFUSES
    host->fail(TULLE_ERR_UNSUPPORTED, "no such hardware");
    return NULL;
#endif
    lent = host;
    return &module;
}
