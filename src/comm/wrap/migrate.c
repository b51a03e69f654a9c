/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `migrate` stands for unified memory: a page of a segment belongs to one PE at a time, at first to the one
 * in whose memory it lies, and a get, put or atomic of another moves it there at the cost of a fault and of the page's
 * bytes over a link. One move of a page after another: who faults while it is under way waits for that, too, has the
 * page for at least one access, and may lose it again before the next. On the sum of all this the paper's methods with
 * unified memory spend their time (Xie et al., section III-B).
 *
 * Bytes stay where they are; what moves is a word for each page, with whose it is and from when on, behind the control
 * heap of the PE where the page lies. Where the engine reaches other PEs' memory by load and store, an access after its
 * faults is that and takes no further time; else it is also a transfer of the engine's (so, simulated: say direct=on).
 * Other PEs are not direct, as what goes through pointers cannot be seen; for the same reason a PE's own loads and
 * stores of its own memory bring no page back. Words at fixed places, which collectives use, are not managed.
 */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "comm/wrap/wrap.h"

struct migrate_link {
    tulle__link link;
    uint64_t page; /* bytes */
    int64_t cost;  /* nanoseconds */
    uint64_t table, pages[TULLE__SEGMENTS];
    int64_t faults;
};

/* A page's word: 1 + whose it is, 0: where it lies; and above when it came, or will. */
enum { OWNER_BITS = 16, TICK = 64 };

static uint64_t *word_of(struct migrate_link *m, const tulle__place *word, uint64_t at)
{
    char *control = m->link.inner->ops->direct(m->link.inner, word->rank, TULLE__CONTROL);
    return control ? (uint64_t *)(void *)(control + word->offset + at) : NULL;
}

static void let_pass(struct migrate_link *m, int64_t until)
{
    const tulle__link *link = &m->link;
    int64_t now = tulle__link_now(link);
    if (link->virtual_time) {
        if (until > now) link->virtual_time->pass(link->clock, until - now);
        return;
    }
    while ((now = tulle__clock_ns()) < until)
        if (until - now > 20000) sched_yield();
}

/* Makes the page this PE's, from when on is returned. */
static int64_t fetch_page(struct migrate_link *m, int home, uint64_t index)
{
    tulle__link *inner = m->link.inner;
    const tulle__place place = {.offset = m->table,
        .length = (m->pages[0] + m->pages[1]) * sizeof(uint64_t),
        .rank = home,
        .segment = TULLE__CONTROL};
    uint64_t at = index * sizeof(uint64_t), *word = word_of(m, &place, at), me = (uint64_t)m->link.rank + 1, was;
    was = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : inner->ops->load(inner, &place, at);
    for (;;) {
        uint64_t owner = was & ((1u << OWNER_BITS) - 1), is = was;
        if (owner == me || (!owner && home == m->link.rank)) return 0;
        int64_t now = tulle__link_now(&m->link), from = (int64_t)(was >> OWNER_BITS) * TICK;
        /* clocks of several machines do not agree */
        if (from < now || from > now + m->cost * m->link.npes) from = now;
        uint64_t want = (uint64_t)((from + m->cost) / TICK) << OWNER_BITS | me;
        if (word)
            (void)__atomic_compare_exchange_n(word, &is, want, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        else
            is = inner->ops->compare_swap(inner, &place, at, was, want);
        if (is == was) {
            m->faults++;
            return from + m->cost;
        }
        was = is;
    }
}

/* Faults on what is accessed; when it is there. */
static int64_t fault_on(struct migrate_link *m, const tulle__place *place, uint64_t at, size_t bytes)
{
    int64_t last_date = 0;
    if (!place->generation || !bytes) return 0;
    uint64_t first = (place->offset + at) / m->page, last = (place->offset + at + bytes - 1) / m->page;
    for (uint64_t page = first; page <= last && page < m->pages[place->segment]; page++) {
        int64_t date =
            fetch_page(m, place->rank, page + (place->segment == TULLE__DATA ? m->pages[TULLE__CONTROL] : 0));
        if (date > last_date) last_date = date;
    }
    return last_date;
}

/* Where it lies if loads and stores reach it, and pages are managed there. */
static char *reached(tulle__link *link, const tulle__place *place, uint64_t at)
{
    char *base = link->inner->ops->direct(link->inner, place->rank, place->segment);
    return base && place->generation ? base + place->offset + at : NULL;
}

static char *access_to(tulle__link *link, const tulle__place *place, uint64_t at, size_t bytes)
{
    struct migrate_link *m = (struct migrate_link *)link;
    let_pass(m, fault_on(m, place, at, bytes));
    return bytes ? reached(link, place, at) : NULL;
}

/* The same of a list: the faults of many threads are served together. */
static char *access_list(tulle__link *link, const tulle__place *place, int n, const tulle__range *range)
{
    struct migrate_link *m = (struct migrate_link *)link;
    int64_t last_date = 0;
    for (int i = 0; i < n; i++) {
        int64_t date = fault_on(m, place, range[i].at, range[i].bytes);
        if (date > last_date) last_date = date;
    }
    let_pass(m, last_date);
    return reached(link, place, 0);
}

/* Another PE may be waiting for it. */
static void written(tulle__link *link, const tulle__place *place)
{
    if (link->virtual_time) link->virtual_time->written(link->clock, place->rank);
}

static void get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    const char *there = access_to(link, place, at, bytes);
    if (there && local)
        memcpy(local, there, bytes);
    else
        tulle__forward_get(link, group, place, at, local, bytes);
}

static void put(tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    char *there = access_to(link, place, at, bytes);
    if (!there || !local) {
        tulle__forward_put(link, group, place, at, local, bytes);
        return;
    }
    memcpy(there, local, bytes);
    written(link, place);
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    char *there = access_to(link, place, at, sizeof value);
    if (!there) return tulle__forward_fetch_add(link, place, at, value);
    uint64_t before = __atomic_fetch_add((uint64_t *)(void *)there, value, __ATOMIC_ACQ_REL);
    written(link, place);
    return before;
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    char *there = access_to(link, place, at, sizeof expected);
    if (!there) return tulle__forward_compare_swap(link, place, at, expected, desired);
    __atomic_compare_exchange_n((uint64_t *)(void *)there, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    written(link, place);
    return expected;
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    char *there = access_to(link, place, at, sizeof value);
    if (!there) {
        tulle__forward_store(link, place, at, value);
        return;
    }
    __atomic_store_n((uint64_t *)(void *)there, value, __ATOMIC_RELEASE);
    written(link, place);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    const char *there = access_to(link, place, at, sizeof(uint64_t));
    if (!there) return tulle__forward_load(link, place, at);
    return __atomic_load_n((const uint64_t *)(const void *)there, __ATOMIC_ACQUIRE);
}

static void getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    const char *there = access_list(link, place, n, range);
    if (!there) {
        tulle__link_getv(link->inner, group, place, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        if (range[i].local) memcpy(range[i].local, there + range[i].at, range[i].bytes);
}

static void getw(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    const char *there = access_list(link, place, n, range);
    if (!there) {
        tulle__link_getw(link->inner, group, place, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            uint64_t word =
                __atomic_load_n((const uint64_t *)(const void *)(there + range[i].at + at), __ATOMIC_ACQUIRE);
            memcpy((char *)range[i].local + at, &word, sizeof word);
        }
}

static void add_there(uint64_t *word, tulle__word_kind kind, uint64_t value)
{
    uint64_t was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(
        word, &was, tulle__word_sum(kind, was, value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

static void addw(
    tulle__link *link, int group, const tulle__place *place, tulle__word_kind kind, int n, const tulle__range *range)
{
    char *there = access_list(link, place, n, range);
    if (!there) {
        tulle__link_addw(link->inner, group, place, kind, n, range);
        return;
    }
    for (int i = 0; i < n; i++)
        for (size_t at = 0; at < range[i].bytes; at += sizeof(uint64_t)) {
            uint64_t value;
            memcpy(&value, (const char *)range[i].local + at, sizeof value);
            add_there((uint64_t *)(void *)(there + range[i].at + at), kind, value);
        }
    written(link, place);
}

static const tulle__link_ops migrate_ops = {
    .get = get,
    .put = put,
    .wait = tulle__forward_wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .direct = tulle__direct_own,
    .progress = tulle__forward_progress,
    .fini = tulle__forward_fini,
    .run_end = tulle__forward_run_end,
    .getv = getv,
    .getw = getw,
    .addw = addw,
};

/* Where the words of pages are: the end of the control segment is no longer the heap's. */
static tulle_status lay_table(struct migrate_link *m)
{
    tulle__link *link = &m->link;
    for (int s = 0; s < TULLE__SEGMENTS; s++) m->pages[s] = (link->segment_bytes[s] + m->page - 1) / m->page;
    uint64_t bytes = (m->pages[0] + m->pages[1]) * sizeof(uint64_t), room = link->segment_bytes[TULLE__CONTROL];
    if (bytes > room / 4)
        return tulle__fail(TULLE_ERR_LIMIT,
            "migrate: %zu pages of %zu bytes a PE need %zu bytes of control memory, of which there are %zu: say a "
            "larger page= or less memory",
            (size_t)(bytes / sizeof(uint64_t)), (size_t)m->page, (size_t)bytes, (size_t)room);
    m->table = (room - bytes) / 4096 * 4096;
    link->segment_bytes[TULLE__CONTROL] = m->table;
    memset((char *)link->inner->ops->direct(link->inner, link->rank, TULLE__CONTROL) + m->table, 0, bytes);
    return TULLE_OK;
}

/*
 * 64 KB is what Pascal and Volta move at least (N. Sakharnykh, "Beyond GPU memory limits with unified memory on
 * Pascal", NVIDIA, 2016: the paper's reference 35); a fault is put at 20 us, the low end of the 20 to 50 us that are
 * reported of those; a page comes over one NVLink brick.
 */
static const double default_page = 65536, default_fault = 20e-6, default_bandwidth = 25e9;

static tulle_status open_migrate(
    tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"page", "fault", "bw"};
    (void)timeline;
    tulle_status status;
    struct migrate_link *m = NULL;
    double page = default_page, fault = default_fault, bandwidth = default_bandwidth;
    TULLE_TRY(tulle__spec_bytes(part, "page", &page));
    TULLE_TRY(tulle__spec_seconds(part, "fault", &fault));
    TULLE_TRY(tulle__spec_bytes(part, "bw", &bandwidth));
    TULLE_TRY(tulle__spec_done(part, keys, 3));
    if (page < 64 || page > 1e12 || bandwidth < 1 || fault < 0) {
        status = tulle__fail(TULLE_ERR_ARG, "migrate: pages of %g bytes, at %g bytes a second", page, bandwidth);
        goto out;
    }
    TULLE_TRY(tulle__alloc_zero(1, sizeof *m, "migrate wrapper", &m));
    m->page = (uint64_t)page;
    m->cost = (int64_t)((fault + page / bandwidth) * 1e9);
    tulle__wrap(&m->link, &migrate_ops, inner);
    m->link.faults = &m->faults;
    TULLE_TRY(lay_table(m));
    *link = &m->link;
    return TULLE_OK;
out:
    tulle__free(m);
    return status;
}

const tulle__wrapper tulle__wrapper_migrate = {
    .name = "migrate",
    .summary = "unified memory: a page has one owner and moves at a fault's cost (page=64K, fault=20us, bw=25G)",
    .open = open_migrate,
};
