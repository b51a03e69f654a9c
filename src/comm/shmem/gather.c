/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector gets that the target packs. OpenSHMEM has no transfer of a list: each range would be a
 * message. If a get needs its target's help anyway (TCP), the requester puts the list into its slot
 * of the target's mailbox. The target, whenever it drives progress, copies the ranges side by side
 * and puts them, as one message, into the reply buffer named in the request.
 *
 * A requester has at most DEPTH requests at a target and REPLIES in all, so neither slots nor
 * buffers are written while in use. Longer lists are several requests, sent as earlier ones are
 * answered. Large ranges go by themselves. Every wait, also outside of bodies, serves requests, so
 * PEs that wait for each other's replies serve each other.
 */
#include <sched.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "comm/shmem/shmem_team.h"

enum {
    RANGES = 128,          /* of a request */
    REPLY_BYTES = 1 << 16, /* of a reply */
    REPLIES = 8,
    DEPTH = 4,       /* requests of one PE at another, in rotating slots */
    LARGE = 1 << 14, /* bytes of a range that goes by itself */
    SPINS = 16,
};

struct request {
    uint64_t reply, value; /* the requester's buffer, and the value stored in it after the bytes */
    uint64_t segment, n;
    struct {
        uint64_t at, bytes; /* in the segment */
    } range[RANGES];
};

struct reply {
    uint64_t value;
    uint64_t pad[7];
    char data[REPLY_BYTES];
};

/*
 * In symmetric memory. A word for each PE follows, which counts its requests, then DEPTH slots for
 * each PE.
 */
struct mailbox {
    struct reply reply[REPLIES];
};

/* A list in flight. */
struct list {
    uint64_t count;
    int group, target, segment;
    int n, sent, left; /* ranges: all, requested, still to come */
    int dropped;       /* no wait will come: replies are ignored */
    tulle__range *range;
};

struct under_way {
    struct list *list; /* NULL: the buffer is free */
    int first, n;
    uint64_t value;
};

struct tulle__shmem_gather {
    tulle__shmem_gather *next; /* of another open team */
    tulle__shmem_link *link;
    struct mailbox *box;
    size_t bytes;
    uint64_t value;
    uint64_t *asked, *served; /* [npes] requests sent to, and answered for, each PE */
    char *busy;               /* [npes] requests of this PE in flight */
    struct under_way way[REPLIES];
    struct list **list;
    int lists, capacity;
    char *packed;
};

/* Each wait serves the requests of all open teams of the process. */
static tulle__shmem_gather *gathers;

size_t tulle__shmem_gather_bytes(int npes)
{
    size_t bytes = sizeof(struct mailbox) + (size_t)npes * (sizeof(uint64_t) + DEPTH * sizeof(struct request));
    return (bytes + 4095) / 4096 * 4096;
}

static uint64_t *bell_of(const tulle__shmem_gather *g, int rank)
{
    return (uint64_t *)(void *)(g->box + 1) + rank;
}

/* The slot of a PE's request by number. */
static struct request *slot_of(const tulle__shmem_gather *g, int rank, uint64_t number)
{
    return (struct request *)(void *)bell_of(g, g->link->shared.link.npes) + (size_t)rank * DEPTH + number % DEPTH;
}

tulle_status tulle__shmem_gather_new(tulle__shmem_link *link, tulle__shmem_gather **out)
{
    tulle_status status;
    tulle__shmem_gather *g = NULL;
    size_t npes = (size_t)link->shared.link.npes, bytes = tulle__shmem_gather_bytes((int)npes);
    struct mailbox *box = tulle__shmem_heap_take(bytes); /* taken by all PEs before a step that may fail on one */
    if (!box)
        return tulle__fail(
            TULLE_ERR_MEMORY, "%.1f MB for vector gets do not fit in the symmetric heap", (double)bytes / 1e6);
    memset(box, 0, bytes);
    TULLE_TRY(tulle__alloc_zero(1, sizeof *g, "vector gets", &g));
    g->link = link;
    g->bytes = bytes;
    g->box = box;
    TULLE_TRY(tulle__alloc_zero(npes, sizeof *g->asked, "vector gets", &g->asked));
    TULLE_TRY(tulle__alloc_zero(npes, sizeof *g->served, "vector gets", &g->served));
    TULLE_TRY(tulle__alloc_zero(npes, 1, "vector gets", &g->busy));
    TULLE_TRY(tulle__alloc(REPLY_BYTES, 1, "vector gets", &g->packed));
    g->next = gathers;
    gathers = g;
    *out = g;
    return TULLE_OK;
out:
    if (g)
        tulle__shmem_gather_free(g);
    else
        tulle__shmem_heap_give(box, bytes);
    return status;
}

void tulle__shmem_gather_free(tulle__shmem_gather *g)
{
    if (!g) return;
    for (tulle__shmem_gather **at = &gathers; *at; at = &(*at)->next)
        if (*at == g) {
            *at = g->next;
            break;
        }
    tulle__shmem_heap_give(g->box, g->bytes);
    tulle__free(g->asked);
    tulle__free(g->served);
    tulle__free(g->busy);
    tulle__free(g->packed);
    tulle__free(g->list);
    tulle__free(g);
}

/* ---- the target ---- */

/* The fence orders the two puts: the reply's value comes after its bytes. */
static void answer(tulle__shmem_gather *g, int rank, uint64_t number)
{
    const struct request *asked = slot_of(g, rank, number);
    struct reply *to = &g->box->reply[asked->reply];
    size_t bytes = 0;
    for (uint64_t i = 0; i < asked->n; i++) {
        memcpy(g->packed + bytes, g->link->symmetric[asked->segment] + asked->range[i].at, asked->range[i].bytes);
        bytes += asked->range[i].bytes;
    }
    unsigned long value = asked->value;
    shmem_putmem(to->data, g->packed, bytes, rank);
    shmem_fence();
    shmem_ulong_p((unsigned long *)&to->value, value, rank);
}

void tulle__shmem_gather_serve(void)
{
    for (tulle__shmem_gather *g = gathers; g; g = g->next)
        for (int rank = 0; rank < g->link->shared.link.npes; rank++) {
            uint64_t asked = __atomic_load_n(bell_of(g, rank), __ATOMIC_ACQUIRE);
            while (g->served[rank] != asked) answer(g, rank, ++g->served[rank]);
        }
}

/* ---- the requester ---- */

static void list_end(tulle__shmem_gather *g, struct list *list)
{
    for (int i = 0; i < g->lists; i++)
        if (g->list[i] == list) {
            memmove(&g->list[i], &g->list[i + 1], (size_t)(g->lists - i - 1) * sizeof *g->list);
            g->lists--;
            break;
        }
    tulle__free(list);
}

static void take_replies(tulle__shmem_gather *g)
{
    for (int b = 0; b < REPLIES; b++) {
        struct under_way *way = &g->way[b];
        struct list *list = way->list;
        if (!list || __atomic_load_n(&g->box->reply[b].value, __ATOMIC_ACQUIRE) != way->value) continue;
        const char *from = g->box->reply[b].data;
        for (int i = way->first; i < way->first + way->n; i++) {
            if (!list->dropped) memcpy(list->range[i].local, from, list->range[i].bytes);
            from += list->range[i].bytes;
        }
        g->busy[list->target]--;
        list->left -= way->n;
        *way = (struct under_way){.list = NULL};
        if (!list->left) list_end(g, list);
    }
}

static void send(tulle__shmem_gather *g, struct list *list, int buffer)
{
    struct request request = {.reply = (uint64_t)buffer, .value = ++g->value, .segment = (uint64_t)list->segment};
    struct under_way *way = &g->way[buffer];
    size_t bytes = 0;
    *way = (struct under_way){.list = list, .first = list->sent, .value = request.value};
    for (; list->sent < list->n && request.n < RANGES; list->sent++) {
        const tulle__range *range = &list->range[list->sent];
        if (bytes + range->bytes > REPLY_BYTES) break;
        bytes += range->bytes;
        request.range[request.n].at = range->at;
        request.range[request.n++].bytes = range->bytes;
    }
    way->n = (int)request.n;
    g->busy[list->target]++;
    uint64_t number = ++g->asked[list->target];
    int me = g->link->shared.link.rank;
    shmem_putmem(slot_of(g, me, number), &request, offsetof(struct request, range) + request.n * sizeof *request.range,
        list->target);
    shmem_fence(); /* the list arrives before the word that announces it */
    shmem_ulong_p((unsigned long *)bell_of(g, me), number, list->target);
}

static void send_requests(tulle__shmem_gather *g)
{
    int buffer = 0;
    for (int i = 0; i < g->lists; i++) {
        struct list *list = g->list[i];
        while (list->sent < list->n && g->busy[list->target] < DEPTH) {
            while (buffer < REPLIES && g->way[buffer].list) buffer++;
            if (buffer == REPLIES) return;
            send(g, list, buffer);
        }
    }
}

/* A list of n ranges; NULL: no memory. */
static struct list *list_new(tulle__shmem_gather *g, int n)
{
    struct list *list = NULL;
    tulle__account *account = tulle__account_enter(NULL); /* the engine's memory, not the PE's */
    int grown = g->lists < g->capacity;
    if (!grown && tulle__realloc(2 * (size_t)g->capacity + 16, sizeof *g->list, "vector gets", &g->list) == TULLE_OK) {
        g->capacity = 2 * g->capacity + 16;
        grown = 1;
    }
    if (grown) {
        char *block = NULL;
        if (tulle__alloc(sizeof *list + (size_t)n * sizeof *list->range, 1, "a vector get", &block) == TULLE_OK) {
            list = (struct list *)(void *)block;
            *list = (struct list){.range = (tulle__range *)(void *)(list + 1)};
        }
    }
    tulle__account_enter(account);
    return list;
}

int tulle__shmem_gather_start(
    tulle__shmem_gather *g, int group, uint64_t count, const tulle__place *place, int n, const tulle__range *range)
{
    int small = 0;
    for (int i = 0; i < n; i++) small += range[i].bytes && range[i].bytes < LARGE;
    if (small < 2) return 0;
    struct list *list = list_new(g, small);
    if (!list) return 0;
    list->group = group;
    list->count = count;
    list->target = place->rank;
    list->segment = place->segment;
    for (int i = 0; i < n; i++) {
        if (range[i].bytes >= LARGE)
            tulle__shmem_get(g->link, place, &range[i], count);
        else if (range[i].bytes)
            list->range[list->n++] = (tulle__range){place->offset + range[i].at, range[i].local, range[i].bytes};
    }
    list->left = list->n;
    g->list[g->lists++] = list;
    send_requests(g);
    return 1;
}

static int any_of(const tulle__shmem_gather *g, int group, uint64_t count)
{
    for (int i = 0; i < g->lists; i++)
        if (group < 0 || (g->list[i]->group == group && g->list[i]->count <= count)) return 1;
    return 0;
}

int tulle__shmem_gather_ready(tulle__shmem_gather *g, int group, uint64_t count)
{
    take_replies(g);
    send_requests(g);
    tulle__shmem_progress(); /* serves, too */
    return !any_of(g, group, count);
}

void tulle__shmem_gather_await(tulle__shmem_gather *g, int group, uint64_t count)
{
    for (int turns = 0; any_of(g, group, count); turns++) {
        (void)tulle__shmem_gather_ready(g, group, count);
        if (turns > SPINS) sched_yield();
    }
}

void tulle__shmem_gather_drop(tulle__shmem_gather *g)
{
    for (int i = 0; i < g->lists; i++) {
        g->list[i]->dropped = 1;
        /* unsent parts need not come */
        g->list[i]->left -= g->list[i]->n - g->list[i]->sent;
        g->list[i]->n = g->list[i]->sent;
    }
    for (int i = g->lists - 1; i >= 0; i--)
        if (!g->list[i]->left) list_end(g, g->list[i]);
    tulle__shmem_gather_await(g, -1, TULLE__ALL);
}
