/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/host/blas.h"
#include "base/host/limits.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RETAIN 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RETAIN 0
#endif
#endif
#ifndef RETAIN
#define RETAIN 1 /* sanitizers must see every free */
#endif

enum {
    ALIGNMENT = 64,
    RETAINED_MAX = 24, /* blocks that an account retains */
    HUGE_PAGE = 2 << 20,
    PAGE = 4096,
};
static const size_t large_block = 1 << 20; /* larger blocks come from mmap and may be retained */

/* The header before a block. */
struct header {
    tulle__account *account;
    size_t bytes;  /* usable */
    size_t mapped; /* whole mapping; 0: a small block */
    size_t charged;
    void *base; /* address to unmap or free */
};
_Static_assert(sizeof(struct header) <= ALIGNMENT, "the header must fit before the first place of a mapping");

struct tulle__account {
    tulle__account *team; /* whose limit holds for all members; NULL: this account's own holds */
    tulle__account *next; /* the team's next member, under the team's lock */
    tulle__account *members;
    int nmembers;
    atomic_size_t limit, used, peak;
    atomic_int_fast64_t fail_after; /* < 0: never */
    atomic_int_fast64_t blocks;
    atomic_int references; /* 1 for the owner, 1 a block, 1 a member */
    pthread_mutex_t lock;  /* guards the retained blocks, or the members */
    struct header retained[RETAINED_MAX];
    int nretained;
    atomic_size_t retained_bytes; /* with the members' */
    atomic_int_fast64_t idle;     /* idle bytes elsewhere */
    void (*reclaim)(void *keeper, size_t bytes);
    void *keeper;
};

static tulle__account process_account = {.fail_after = -1, .references = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local tulle__account *thread_account;

tulle__account *tulle__account_new(size_t limit)
{
    tulle__account *account = calloc(1, sizeof *account);
    if (!account) {
        tulle__fail(TULLE_ERR_MEMORY, "out of memory for a memory account");
        return NULL;
    }
    atomic_init(&account->limit, limit);
    atomic_init(&account->fail_after, -1);
    atomic_init(&account->references, 1);
    pthread_mutex_init(&account->lock, NULL);
    return account;
}

void tulle__account_join(tulle__account *account, tulle__account *team)
{
    account->team = team;
    atomic_fetch_add_explicit(&team->references, 1, memory_order_relaxed);
    pthread_mutex_lock(&team->lock);
    account->next = team->members;
    team->members = account;
    team->nmembers++;
    pthread_mutex_unlock(&team->lock);
}

static void leave(tulle__account *account)
{
    tulle__account *team = account->team;
    if (!team) return;
    pthread_mutex_lock(&team->lock);
    tulle__account **at = &team->members;
    while (*at != account) at = &(*at)->next;
    *at = account->next;
    team->nmembers--;
    pthread_mutex_unlock(&team->lock);
}

static void release(tulle__account *account)
{
    if (account == &process_account) return;
    if (atomic_fetch_sub_explicit(&account->references, 1, memory_order_acq_rel) != 1) return;
    tulle__account *team = account->team;
    pthread_mutex_destroy(&account->lock);
    free(account);
    if (team) release(team);
}

/* Adds or removes a retained block. */
static void count_retained(tulle__account *account, int64_t change)
{
    atomic_fetch_add_explicit(&account->retained_bytes, (size_t)change, memory_order_relaxed);
    if (account->team) atomic_fetch_add_explicit(&account->team->retained_bytes, (size_t)change, memory_order_relaxed);
}

/* The account whose limit holds. */
static tulle__account *ruling(tulle__account *account)
{
    return account->team ? account->team : account;
}

void tulle__account_trim(tulle__account *account)
{
    pthread_mutex_lock(&account->lock);
    for (int i = 0; i < account->nretained; i++) {
        count_retained(account, -(int64_t)account->retained[i].mapped);
        munmap(account->retained[i].base, account->retained[i].mapped);
    }
    account->nretained = 0;
    pthread_mutex_unlock(&account->lock);
}

void tulle__account_free(tulle__account *account)
{
    if (!account) return;
    tulle__account_trim(account);
    leave(account);
    release(account);
}

tulle__account *tulle__account_enter(tulle__account *account)
{
    tulle__account *before = thread_account;
    thread_account = account;
    return before;
}

tulle__account *tulle__account_current(void)
{
    return thread_account ? thread_account : &process_account;
}

void tulle__account_set_limit(tulle__account *account, size_t limit)
{
    atomic_store_explicit(&account->limit, limit, memory_order_relaxed);
}

size_t tulle__account_limit(const tulle__account *account)
{
    return atomic_load_explicit(&account->limit, memory_order_relaxed);
}

size_t tulle__account_used(const tulle__account *account)
{
    return atomic_load_explicit(&account->used, memory_order_relaxed);
}

size_t tulle__account_peak(const tulle__account *account)
{
    return atomic_load_explicit(&account->peak, memory_order_relaxed);
}

void tulle__account_reset_peak(tulle__account *account)
{
    atomic_store_explicit(&account->peak, tulle__account_used(account), memory_order_relaxed);
}

int64_t tulle__account_blocks(const tulle__account *account)
{
    return atomic_load_explicit(&account->blocks, memory_order_relaxed);
}

void tulle__account_fail_after(tulle__account *account, int64_t n)
{
    atomic_store_explicit(&account->fail_after, n, memory_order_relaxed);
}

int tulle__account_fails(tulle__account *account)
{
    if (atomic_load_explicit(&account->fail_after, memory_order_relaxed) < 0) return 0;
    return atomic_fetch_sub_explicit(&account->fail_after, 1, memory_order_relaxed) == 0;
}

/* Bytes in use, or idle elsewhere. */
static size_t occupied(tulle__account *account)
{
    return tulle__account_used(account) + (size_t)atomic_load_explicit(&account->idle, memory_order_relaxed);
}

/* Bytes in use, idle elsewhere and retained here, beyond the limit. */
static size_t excess(tulle__account *account)
{
    tulle__account *ruler = ruling(account);
    size_t limit = tulle__account_limit(ruler);
    size_t all = occupied(ruler) + atomic_load_explicit(&ruler->retained_bytes, memory_order_relaxed);
    return limit && all > limit ? all - limit : 0;
}

static void drop_retained(tulle__account *account)
{
    pthread_mutex_lock(&account->lock);
    while (account->nretained && excess(account)) {
        struct header *last = &account->retained[--account->nretained];
        count_retained(account, -(int64_t)last->mapped);
        munmap(last->base, last->mapped);
    }
    pthread_mutex_unlock(&account->lock);
}

/*
 * Frees retained blocks, then idle pages elsewhere, that would exceed the limit with what is in
 * use; own ones first.
 */
static void make_room(tulle__account *account)
{
    size_t over = excess(account);
    if (!over) return;
    drop_retained(account);
    if ((over = excess(account)) && account->reclaim) account->reclaim(account->keeper, over);
    if (!account->team || !excess(account)) return;
    pthread_mutex_lock(&account->team->lock);
    for (tulle__account *other = account->team->members; other; other = other->next) {
        if (other == account) continue;
        drop_retained(other);
        if ((over = excess(account)) && other->reclaim) other->reclaim(other->keeper, over);
    }
    pthread_mutex_unlock(&account->team->lock);
}

static void raise_peak(tulle__account *account, size_t used)
{
    size_t peak = tulle__account_peak(account);
    while (used > peak && !atomic_compare_exchange_weak_explicit(
                              &account->peak, &peak, used, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static tulle_status charge(tulle__account *account, size_t bytes, const char *what)
{
    tulle__account *ruler = ruling(account);
    size_t used = atomic_fetch_add_explicit(&account->used, bytes, memory_order_relaxed) + bytes, all = used;
    if (ruler != account) all = atomic_fetch_add_explicit(&ruler->used, bytes, memory_order_relaxed) + bytes;
    size_t limit = tulle__account_limit(ruler);
    if (limit && all > limit) {
        tulle__account_credit(account, bytes);
        return tulle__fail(TULLE_ERR_LIMIT, "%s needs %.1f MB, but of the %.1f MB that %s may use %.1f MB are in use",
            what, (double)bytes / 1e6, (double)limit / 1e6, ruler == account ? "this PE" : "all PEs",
            (double)(all - bytes) / 1e6);
    }
    raise_peak(account, used);
    if (ruler != account) raise_peak(ruler, all);
    return TULLE_OK;
}

tulle_status tulle__account_charge(tulle__account *account, size_t bytes, const char *what)
{
    TULLE_CALL(charge(account, bytes, what));
    make_room(account);
    return TULLE_OK;
}

void tulle__account_idle(tulle__account *account, int64_t change)
{
    atomic_fetch_add_explicit(&account->idle, change, memory_order_relaxed);
    if (account->team) atomic_fetch_add_explicit(&account->team->idle, change, memory_order_relaxed);
}

void tulle__account_keeper(tulle__account *account, void (*reclaim)(void *keeper, size_t bytes), void *keeper)
{
    tulle__account *team = account->team;
    if (team) pthread_mutex_lock(&team->lock); /* no other member may call a keeper that is gone */
    account->reclaim = reclaim;
    account->keeper = keeper;
    if (team) pthread_mutex_unlock(&team->lock);
}

void tulle__account_credit(tulle__account *account, size_t bytes)
{
    atomic_fetch_sub_explicit(&account->used, bytes, memory_order_relaxed);
    if (account->team) atomic_fetch_sub_explicit(&account->team->used, bytes, memory_order_relaxed);
}

void tulle__memory_huge(void *address, size_t bytes)
{
    (void)madvise(address, bytes, MADV_HUGEPAGE); /* refused without huge pages: ordinary pages do */
}

int tulle__memory_plenty(size_t limit, size_t pe)
{
    return (!limit || limit >= (size_t)1 << 30) && (!pe || pe >= (size_t)1 << 27);
}

static int in_huge_pages(tulle__account *account)
{
    return tulle__memory_plenty(tulle__account_limit(ruling(account)), tulle__account_limit(account));
}

size_t tulle__memory_footprint(size_t bytes)
{
    if (bytes < large_block) return bytes;
    size_t page = in_huge_pages(tulle__account_current()) ? HUGE_PAGE : PAGE;
    return (ALIGNMENT + bytes + page - 1) / page * page;
}

/* Sizes grow in steps of an eighth, so that a retained block of a slightly larger product fits the next one. */
static size_t mapping_size(size_t bytes)
{
    size_t step = HUGE_PAGE;
    while (step * 16 < bytes) step *= 2;
    return (bytes + step - 1) / step * step;
}

/* The smallest retained block that is large enough, by at most a quarter: fresh pages cost more. */
static int take_retained(tulle__account *account, size_t mapped, struct header *found)
{
    int best = -1;
    pthread_mutex_lock(&account->lock);
    const struct header *retained = account->retained;
    for (int i = 0; i < account->nretained; i++)
        if (retained[i].mapped >= mapped && retained[i].mapped <= mapped + mapped / 4 &&
            (best < 0 || retained[i].mapped < retained[best].mapped))
            best = i;
    if (best >= 0) {
        *found = account->retained[best];
        account->retained[best] = account->retained[--account->nretained];
        count_retained(account, -(int64_t)found->mapped);
    }
    pthread_mutex_unlock(&account->lock);
    return best >= 0;
}

/*
 * Retains the mapping if there is space: within what the limit leaves free, at most half of it
 * (without a limit, as much as is in use, or 1 GiB), and 24 blocks.
 */
static int retain(tulle__account *account, const struct header *header)
{
    if (!RETAIN) return 0;
    size_t used = occupied(account), limit = tulle__account_limit(account);
    size_t most = used > (1u << 30) ? used : (1u << 30);
    if (limit) {
        size_t left = used < limit ? limit - used : 0;
        most = left < limit / 2 ? left : limit / 2;
    }
    int kept = 0;
    pthread_mutex_lock(&account->lock);
    if (account->nretained < RETAINED_MAX && account->retained_bytes + header->mapped <= most) {
        account->retained[account->nretained++] = *header;
        count_retained(account, (int64_t)header->mapped);
        kept = 1;
    }
    pthread_mutex_unlock(&account->lock);
    return kept;
}

static tulle_status obtain(tulle__account *account, size_t bytes, const char *what, struct header *header)
{
    if (bytes < large_block) {
        header->mapped = 0;
        /* not aligned_alloc, which takes several times as long: products may take microseconds */
        header->base = malloc(sizeof *header + ALIGNMENT - 1 + bytes);
        if (!header->base) goto none;
        return TULLE_OK;
    }
    size_t mapped = mapping_size(ALIGNMENT + bytes), charged = tulle__memory_footprint(bytes);
    if (take_retained(account, mapped, header)) {
        /* pages that count against no account */
        if (tulle__account_limit(account) && header->mapped > charged)
            (void)madvise((char *)header->base + charged, header->mapped - charged, MADV_DONTNEED);
        return TULLE_OK;
    }
    /* maps one huge page more and trims both ends, so the block starts on a huge page */
    char *raw =
        mmap(NULL, mapped + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) goto none;
    size_t skip = (size_t)(-(uintptr_t)raw) & (HUGE_PAGE - 1);
    if (skip) munmap(raw, skip);
    if (skip < HUGE_PAGE) munmap(raw + skip + mapped, HUGE_PAGE - skip);
    if (in_huge_pages(account)) tulle__memory_huge(raw + skip, mapped);
    header->base = raw + skip;
    header->mapped = mapped;
    return TULLE_OK;
none:
    return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s needs %.1f MB", what, (double)bytes / 1e6);
}

static struct header *header_of(void *block)
{
    return (struct header *)(void *)((char *)block - sizeof(struct header));
}

static tulle_status multiply(size_t count, size_t size, const char *what, size_t *bytes)
{
    if (__builtin_mul_overflow(count, size, bytes) || *bytes > SIZE_MAX / 4)
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s needs %zu x %zu bytes", what, count, size);
    return TULLE_OK;
}

tulle_status tulle__alloc(size_t count, size_t size, const char *what, void *block)
{
    tulle__account *account = tulle__account_current();
    struct header header = {.account = account};
    TULLE_CALL(multiply(count, size, what, &header.bytes));
    if (tulle__account_fails(account))
        return tulle__fail(TULLE_ERR_MEMORY, "out of memory: %s (a failure asked for by a test)", what);
    size_t bytes = header.bytes, charged = tulle__memory_footprint(bytes);
    TULLE_CALL(tulle__account_charge(account, charged, what));
    tulle_status status = obtain(account, bytes, what, &header);
    if (status != TULLE_OK) {
        tulle__account_credit(account, charged);
        return status;
    }
    header.account = account;
    header.bytes = bytes; /* a retained block's header has its former size */
    header.charged = charged;
    atomic_fetch_add_explicit(&account->references, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&account->blocks, 1, memory_order_relaxed);
    uintptr_t skip = (uintptr_t)header.base + sizeof header;
    void *start = (char *)header.base + sizeof header + (-skip & (ALIGNMENT - 1));
    *header_of(start) = header;
    memcpy(block, &start, sizeof start);
    return TULLE_OK;
}

tulle_status tulle__alloc_zero(size_t count, size_t size, const char *what, void *block)
{
    TULLE_CALL(tulle__alloc(count, size, what, block));
    void *start;
    memcpy(&start, block, sizeof start);
    memset(start, 0, count * size);
    return TULLE_OK;
}

tulle_status tulle__realloc(size_t count, size_t size, const char *what, void *block)
{
    void *old, *grown;
    memcpy(&old, block, sizeof old);
    TULLE_CALL(tulle__alloc(count, size, what, &grown));
    if (old) {
        size_t had = header_of(old)->bytes;
        memcpy(grown, old, had < count * size ? had : count * size);
        tulle__free(old);
    }
    memcpy(block, &grown, sizeof grown);
    return TULLE_OK;
}

tulle_status tulle__grow(int64_t count, int64_t *workspace, int64_t first, size_t size, const char *what, void *list)
{
    if (count < *workspace) return TULLE_OK;
    const int64_t grown = *workspace ? 2 * *workspace : first;
    TULLE_CALL(tulle__realloc((size_t)grown, size, what, list));
    *workspace = grown;
    return TULLE_OK;
}

void tulle__free_scoped(void *pointer)
{
    void *block;
    memcpy(&block, pointer, sizeof block);
    tulle__free(block);
}

void tulle__free(void *block)
{
    if (!block) return;
    struct header header = *header_of(block);
    tulle__account_credit(header.account, header.charged);
    atomic_fetch_sub_explicit(&header.account->blocks, 1, memory_order_relaxed);
    if (!header.mapped)
        free(header.base);
    else if (!retain(header.account, &header))
        munmap(header.base, header.mapped);
    release(header.account);
}

size_t tulle__memory_physical(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
}

size_t tulle__memory_available(void)
{
    return tulle__memory_headroom("").bytes;
}

int tulle__account_shares(const tulle__account *account)
{
    return account->team != NULL;
}

size_t tulle__account_left(const tulle__account *account)
{
    const tulle__account *ruler = account->team ? account->team : account;
    size_t limit = tulle__account_limit(ruler), used = tulle__account_used(ruler);
    if (!limit) return SIZE_MAX;
    size_t left = limit > used ? limit - used : 0;
    return account->team ? left / (size_t)ruler->nmembers : left;
}

size_t tulle__memory_left(void)
{
    size_t left = tulle__account_left(tulle__account_current()), available = tulle__memory_available();
    return left < available ? left : available;
}

tulle_status tulle__memory_of_blas(const char *what)
{
    if (tulle__blas_has_room()) return TULLE_OK;
    const tulle__headroom left = tulle__mapping_headroom("");
    return tulle__fail(TULLE_ERR_LIMIT,
        "%s: OpenBLAS may map %.0f MB for each thread, and %s leaves %.0f MB: fewer PEs, threads or less memory leave "
        "more",
        what, (double)TULLE__BLAS_BUFFER / 1e6, left.by, (double)left.bytes / 1e6);
}
