/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapper `migrate` models unified memory: blocks that are managed (`tulle__place`). All others
 * are memory for remote access, which no driver moves: the engine's, without faults. A page has one
 * owner, at first the PE in whose memory it lies. A get, put or atomic of another PE moves the page
 * there, at the cost of a fault and of the page's bytes over a link. A page moves once at a time: a PE that faults
 * meanwhile waits for the earlier move too, has the page for at least one access, and may lose it
 * before the next. The paper's methods with unified memory spend their time there (Xie et al.,
 * section III-B).
 *
 * With pin=N a page that has moved N times goes home and stays. Other PEs then reach it by the
 * engine's transfers, as a driver does that detects thrashing.
 *
 * Bytes never move. Each page has a word, behind the control heap of the PE where the page lies,
 * with its owner and the date from which it owns it. If the engine maps the other PE's memory, an
 * access after its faults is a load or store and takes no further time; else it is also a transfer
 * of the engine (in a simulation say direct=on). Other PEs' memory is not mapped above this
 * wrapper, as accesses through pointers are invisible. For the same reason a PE's loads and stores
 * of its own memory move no page back.
 */
#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "comm/wrap/wrap.h"

enum { LISTED = 256 }; /* pages of a list that are recorded; further ones fault again */

struct migrate_link {
    tulle__link link;
    uint64_t page; /* bytes */
    int64_t cost;  /* nanoseconds */
    int64_t pin;   /* moves after which a page stays home; 0: unlimited */
    uint64_t table, pages[TULLE__SEGMENTS];
    int64_t faults;
    tulle__range *left; /* ranges of a list that are not mapped */
    int left_capacity;
    /*
     * virtual time: the pages of the last list, and when they arrived; other PEs may have claimed
     * them since
     */
    int64_t instant;
    struct {
        int home;
        uint64_t index;
    } listed[LISTED];
    int nlisted;
};

/*
 * A page's word: 1 + its owner's rank (0: the PE where it lies), its number of moves up to 255, and
 * above the date of its arrival in ticks of 64 ns, unique within a minute.
 */
enum { OWNER_BITS = 16, MOVES_BITS = 8, DATE_SHIFT = OWNER_BITS + MOVES_BITS, TICK = 64 };
static const uint64_t date_mask = (UINT64_C(1) << (64 - DATE_SHIFT)) - 1;

static uint64_t moves_of(uint64_t word)
{
    return word >> OWNER_BITS & ((1u << MOVES_BITS) - 1);
}

static int has_settled(const struct migrate_link *m, uint64_t word)
{
    return m->pin && moves_of(word) >= (uint64_t)m->pin;
}

/*
 * The earliest date of the page's next move. Dates far away are ignored: clocks of several machines
 * disagree.
 */
static int64_t free_from(const struct migrate_link *m, uint64_t word, int64_t now)
{
    int64_t wait = (int64_t)(((word >> DATE_SHIFT) - (uint64_t)(now / TICK)) & date_mask) * TICK;
    return wait > m->cost * m->link.npes ? now : now / TICK * TICK + wait;
}

static uint64_t *word_of(struct migrate_link *m, const tulle__place *word, uint64_t at)
{
    char *control = m->link.inner->ops->mapped(m->link.inner, word->rank, TULLE__CONTROL);
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

/* The remote address of the words of the pages in PE `home`'s memory. */
static tulle__place table_of(const struct migrate_link *m, int home)
{
    return (tulle__place){.offset = m->table,
        .length = (m->pages[0] + m->pages[1]) * sizeof(uint64_t),
        .rank = home,
        .segment = TULLE__CONTROL};
}

static uint64_t index_of(const struct migrate_link *m, const tulle__place *place, uint64_t page)
{
    return page + (place->segment == TULLE__DATA ? m->pages[TULLE__CONTROL] : 0);
}

static uint64_t read_word(struct migrate_link *m, const tulle__place *table, uint64_t at)
{
    const uint64_t *word = word_of(m, table, at);
    tulle__link *inner = m->link.inner;
    return word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : inner->ops->load(inner, table, at);
}

static int is_listed(struct migrate_link *m, int home, uint64_t index)
{
    for (int i = m->nlisted - 1; i >= 0; i--)
        if (m->listed[i].home == home && m->listed[i].index == index) return 1;
    return 0;
}

static void add_listed(struct migrate_link *m, int home, uint64_t index)
{
    if (m->nlisted == LISTED || is_listed(m, home, index)) return;
    m->listed[m->nlisted].home = home;
    m->listed[m->nlisted++].index = index;
}

/*
 * Claims the page for this PE. Returns the date of its arrival; 0: this PE owns it, or it is
 * pinned.
 */
static int64_t fetch_page(struct migrate_link *m, int home, uint64_t index)
{
    tulle__link *inner = m->link.inner;
    const tulle__place table = table_of(m, home);
    uint64_t at = index * sizeof(uint64_t), *word = word_of(m, &table, at), me = (uint64_t)m->link.rank + 1;
    uint64_t was = read_word(m, &table, at);
    for (;;) {
        uint64_t owner = was & ((1u << OWNER_BITS) - 1), is = was, moves = moves_of(was);
        if (owner == me || (!owner && home == m->link.rank) || has_settled(m, was)) return 0;
        int64_t from = free_from(m, was, tulle__link_now(&m->link));
        moves += moves < (1u << MOVES_BITS) - 1;
        uint64_t want = (uint64_t)((from + m->cost) / TICK) << DATE_SHIFT | moves << OWNER_BITS | me;
        if (word)
            (void)__atomic_compare_exchange_n(word, &is, want, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        else
            is = inner->ops->compare_swap(inner, &table, at, was, want);
        if (is == was) {
            m->faults++;
            return from + m->cost;
        }
        was = is;
    }
}

/* Faults on all pages of an access. Returns the date when they are here, or 0. */
static int64_t fault_on(struct migrate_link *m, const tulle__place *place, uint64_t at, size_t bytes)
{
    int64_t last_date = 0;
    if (!place->managed || !bytes) return 0;
    uint64_t first = (place->offset + at) / m->page, last = (place->offset + at + bytes - 1) / m->page;
    for (uint64_t page = first; page <= last && page < m->pages[place->segment]; page++) {
        int64_t date = fetch_page(m, place->rank, index_of(m, place, page));
        if (date > last_date) last_date = date;
    }
    return last_date;
}

/* The address if the memory is mapped and its page is here; NULL: by the engine's transfers. */
static char *reached(tulle__link *link, const tulle__place *place, uint64_t at)
{
    struct migrate_link *m = (struct migrate_link *)link;
    char *base = link->inner->ops->mapped(link->inner, place->rank, place->segment);
    if (!base || !place->managed) return NULL;
    if (m->pin && place->rank != link->rank) {
        const tulle__place table = table_of(m, place->rank);
        uint64_t index = index_of(m, place, (place->offset + at) / m->page);
        if (has_settled(m, read_word(m, &table, index * sizeof(uint64_t)))) return NULL;
    }
    return base + place->offset + at;
}

static char *access_to(tulle__link *link, const tulle__place *place, uint64_t at, size_t bytes)
{
    struct migrate_link *m = (struct migrate_link *)link;
    let_pass(m, fault_on(m, place, at, bytes));
    return bytes ? reached(link, place, at) : NULL;
}

/*
 * An access to one word. Threads whose faults the last list served access its pages at the instant
 * of their arrival.
 */
static char *access_word(tulle__link *link, const tulle__place *place, uint64_t at)
{
    struct migrate_link *m = (struct migrate_link *)link;
    uint64_t index = index_of(m, place, (place->offset + at) / m->page);
    if (m->nlisted && tulle__link_now(link) == m->instant && is_listed(m, place->rank, index))
        return reached(link, place, at);
    return access_to(link, place, at, sizeof(uint64_t));
}

/* An access by a list: the faults of many threads are served together. */
static void access_list(tulle__link *link, const tulle__place *place, int n, const tulle__range *range)
{
    struct migrate_link *m = (struct migrate_link *)link;
    int64_t last_date = 0;
    for (int i = 0; i < n; i++) {
        int64_t date = fault_on(m, place, range[i].at, range[i].bytes);
        if (date > last_date) last_date = date;
    }
    let_pass(m, last_date);
    m->nlisted = 0;
    if (!link->virtual_time || !place->managed) return;
    m->instant = tulle__link_now(link);
    for (int i = 0; i < n; i++) {
        if (!range[i].bytes) continue;
        uint64_t from = place->offset + range[i].at, last = (from + range[i].bytes - 1) / m->page;
        for (uint64_t page = from / m->page; page <= last; page++) add_listed(m, place->rank, index_of(m, place, page));
    }
}

/* Reports a store to the engine: the PE may be waiting for it. */
static void written(tulle__link *link, const tulle__place *place)
{
    if (link->virtual_time) link->virtual_time->written(link->clock, place->rank);
}

static uint64_t get(tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes)
{
    const char *there = access_to(link, place, at, bytes);
    if (!there || !local) return tulle__forward_get(link, group, place, at, local, bytes);
    memcpy(local, there, bytes);
    return 0;
}

static uint64_t put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes)
{
    char *there = access_to(link, place, at, bytes);
    if (!there || !local) return tulle__forward_put(link, group, place, at, local, bytes);
    memcpy(there, local, bytes);
    written(link, place);
    return 0;
}

static uint64_t fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    char *there = access_word(link, place, at);
    if (!there) return tulle__forward_fetch_add(link, place, at, value);
    uint64_t before = __atomic_fetch_add((uint64_t *)(void *)there, value, __ATOMIC_ACQ_REL);
    written(link, place);
    return before;
}

static uint64_t compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired)
{
    char *there = access_word(link, place, at);
    if (!there) return tulle__forward_compare_swap(link, place, at, expected, desired);
    __atomic_compare_exchange_n((uint64_t *)(void *)there, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    written(link, place);
    return expected;
}

static void store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value)
{
    char *there = access_word(link, place, at);
    if (!there) {
        tulle__forward_store(link, place, at, value);
        return;
    }
    __atomic_store_n((uint64_t *)(void *)there, value, __ATOMIC_RELEASE);
    written(link, place);
}

static uint64_t load(tulle__link *link, const tulle__place *place, uint64_t at)
{
    const char *there = access_word(link, place, at);
    if (!there) return tulle__forward_load(link, place, at);
    return __atomic_load_n((const uint64_t *)(const void *)there, __ATOMIC_ACQUIRE);
}

enum { LEFT_WORKSPACE = 64 }; /* at first; longer lists reserve more */

/* Reserves a list of n ranges; 0: no memory, so each range goes by itself. */
static int left_reserve(struct migrate_link *m, int n)
{
    if (n <= m->left_capacity) return 1;
    if (tulle__realloc((size_t)n, sizeof *m->left, "ranges of a list", &m->left) != TULLE_OK) return 0;
    m->left_capacity = n;
    return 1;
}

/* Counts of a group never decrease: the link's last count covers the others. */
static uint64_t getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    struct migrate_link *m = (struct migrate_link *)link;
    int left = 0, listed = left_reserve(m, n);
    uint64_t count = 0, last;
    access_list(link, place, n, range);
    for (int i = 0; i < n; i++) {
        const char *there = reached(link, place, range[i].at);
        if (there && range[i].local)
            memcpy(range[i].local, there, range[i].bytes);
        else if (listed)
            m->left[left++] = range[i];
        else if ((last = tulle__forward_getv(link, group, place, 1, &range[i])))
            count = last;
    }
    if (left) count = tulle__forward_getv(link, group, place, left, m->left);
    return count;
}

static uint64_t putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range)
{
    struct migrate_link *m = (struct migrate_link *)link;
    int left = 0, listed = left_reserve(m, n);
    uint64_t count = 0, last;
    access_list(link, place, n, range);
    for (int i = 0; i < n; i++) {
        char *there = reached(link, place, range[i].at);
        if (there && range[i].local)
            memcpy(there, range[i].local, range[i].bytes);
        else if (listed)
            m->left[left++] = range[i];
        else if ((last = tulle__forward_putv(link, group, place, 1, &range[i])))
            count = last;
    }
    if (left) count = tulle__forward_putv(link, group, place, left, m->left);
    if (left < n) written(link, place);
    return count;
}

static void fini(tulle__link *link)
{
    tulle__free(((struct migrate_link *)link)->left);
    tulle__forward_fini(link);
}

static const tulle__link_ops migrate_ops = {
    .get = get,
    .put = put,
    .getv = getv,
    .putv = putv,
    .ready = tulle__forward_ready,
    .wait = tulle__forward_wait,
    .fetch_add = fetch_add,
    .compare_swap = compare_swap,
    .store = store,
    .load = load,
    .mapped = tulle__mapped_own,
    .progress = tulle__forward_progress,
    .doze = tulle__forward_doze,
    .fini = fini,
    .run_end = tulle__forward_run_end,
};

/* Places the words of pages at the end of the control segment, which the heap then lacks. */
static tulle_status lay_table(struct migrate_link *m)
{
    tulle__link *link = &m->link;
    for (int s = 0; s < TULLE__SEGMENTS; s++) m->pages[s] = (link->segment_bytes[s] + m->page - 1) / m->page;
    uint64_t bytes = (m->pages[0] + m->pages[1]) * sizeof(uint64_t), capacity = link->segment_bytes[TULLE__CONTROL];
    if (bytes > capacity / 4)
        return tulle__fail(TULLE_ERR_LIMIT,
            "migrate: %zu pages of %zu bytes a PE need %zu bytes of control memory, more than a quarter of its %zu: "
            "say a "
            "larger page= or less memory",
            (size_t)(bytes / sizeof(uint64_t)), (size_t)m->page, (size_t)bytes, (size_t)capacity);
    m->table = (capacity - bytes) / 4096 * 4096;
    link->segment_bytes[TULLE__CONTROL] = m->table;
    memset((char *)link->inner->ops->mapped(link->inner, link->rank, TULLE__CONTROL) + m->table, 0, bytes);
    return TULLE_OK;
}

/*
 * 64 KB is the least that Pascal and Volta move (N. Sakharnykh, "Beyond GPU memory limits with
 * unified memory on Pascal", NVIDIA, 2016: the paper's reference 35). A fault costs 20 us, the low
 * end of the reported 20 to 50 us. A page comes over one NVLink brick.
 */
static const double default_page = 65536, default_fault = 20e-6, default_bandwidth = 25e9;

static tulle_status open_migrate(
    tulle__spec_part *part, tulle__link *inner, tulle__timeline *timeline, tulle__link **link)
{
    static const char *const keys[] = {"page", "fault", "bw", "pin"};
    (void)timeline;
    tulle_status status;
    struct migrate_link *m = NULL;
    int64_t pin = 0;
    double page = default_page, fault = default_fault, bandwidth = default_bandwidth;
    TULLE_TRY(tulle__spec_bytes(part, "page", &page));
    TULLE_TRY(tulle__spec_seconds(part, "fault", &fault));
    TULLE_TRY(tulle__spec_bytes(part, "bw", &bandwidth));
    TULLE_TRY(tulle__spec_int(part, "pin", 0, (1 << MOVES_BITS) - 1, &pin));
    TULLE_TRY(tulle__spec_done(part, keys, 4));
    if (page < 64 || page > 1e12 || bandwidth < 1 || fault < 0)
        TULLE_TRY(tulle__fail(TULLE_ERR_ARG,
            "migrate: page=%g, bw=%g or fault=%g s is out of range: pages have 64 bytes to 1 TB, the bandwidth is at "
            "least 1 byte a second, and a fault takes no negative time",
            page, bandwidth, fault));
    TULLE_TRY(tulle__alloc_zero(1, sizeof *m, "migrate wrapper", &m));
    m->page = (uint64_t)page;
    m->pin = pin;
    m->cost = (int64_t)((fault + page / bandwidth) * 1e9);
    tulle__wrap(&m->link, &migrate_ops, inner);
    m->link.faults = &m->faults;
    TULLE_TRY(lay_table(m));
    if (!left_reserve(m, LEFT_WORKSPACE)) {
        status = TULLE_ERR_MEMORY;
        goto out;
    }
    *link = &m->link;
    return TULLE_OK;
out:
    if (m) tulle__free(m->left);
    tulle__free(m);
    return status;
}

const tulle__wrapper tulle__wrapper_migrate = {
    .name = "migrate",
    .summary =
        "unified memory: its pages have one owner and move at a fault's cost (page=64K, fault=20us, bw=25G, pin=0)",
    .open = open_migrate,
};
