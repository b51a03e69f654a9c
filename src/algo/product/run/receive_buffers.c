/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/run/receive_buffers.h"

#include <string.h>

#include "base/memory.h"

enum { BLOCKS = 64, PART = 8, UNIT = 65536 }; /* most of them; the part of what is left; sizes are multiples of it */

/* Memory of the host, or a buffer of the device. */
struct block {
    char *memory; /* its address */
    size_t bytes;
    tulle__device_buffer *buffer; /* NULL: of the host */
    bool taken;
};

struct tulle__receive_buffers {
    tulle__receiver receiver;
    tulle__device *device;
    struct block block[BLOCKS];
    int count;
    size_t held[2]; /* bytes of all, of the host and of the device */
    size_t there;   /* bytes of the device's memory that are for this alone */
};

static void drop(tulle__receive_buffers *s, int n)
{
    struct block *b = &s->block[n];
    s->held[b->buffer != NULL] -= b->bytes;
    if (b->buffer)
        s->device->ops->buffer_free(s->device, b->buffer);
    else
        s->device->ops->host_free(s->device, b->memory);
    *b = s->block[--s->count];
}

/* The smallest free one that will do and is not much too large; NULL: there is none. */
static struct block *find_free(tulle__receive_buffers *s, size_t bytes, bool there)
{
    struct block *best = NULL;
    for (int n = 0; n < s->count; n++) {
        struct block *b = &s->block[n];
        if (!b->taken && (b->buffer != NULL) == there && b->bytes >= bytes && b->bytes / 2 <= bytes &&
            (!best || b->bytes < best->bytes))
            best = b;
    }
    return best;
}

static size_t most(const tulle__receive_buffers *s, bool there)
{
    return there ? s->there : (tulle__memory_left() + s->held[0]) / PART;
}

/* Room for one of so many bytes: others that are free go, as they are of other sizes than are wanted. */
static bool make_room(tulle__receive_buffers *s, size_t bytes, bool there)
{
    const size_t all = most(s, there);
    if (bytes > all) return false;
    for (int n = s->count - 1; n >= 0 && (s->count == BLOCKS || s->held[there] > all - bytes); n--)
        if (!s->block[n].taken && (s->block[n].buffer != NULL) == there) drop(s, n);
    return s->count < BLOCKS && s->held[there] <= all - bytes;
}

/* A new one; NULL: there is no memory for it, which is no failure. */
static struct block *add(tulle__receive_buffers *s, size_t bytes, bool there)
{
    const tulle__device_ops *ops = s->device->ops;
    struct block b = {.bytes = bytes};
    if (!make_room(s, bytes, there)) return NULL;
    tulle_status status = there ? ops->buffer_new(s->device, bytes, "tiles that arrive", &b.buffer)
                                : ops->host_new(s->device, bytes, "tiles that arrive", &b.memory);
    if (status != TULLE_OK) return NULL;
    if (there) b.memory = ops->address(s->device, b.buffer);
    s->held[there] += bytes;
    s->block[s->count] = b;
    return &s->block[s->count++];
}

static void *take(tulle__receiver *receiver, size_t bytes, bool anywhere)
{
    tulle__receive_buffers *s = (tulle__receive_buffers *)receiver;
    struct block *b = NULL;
    if (bytes < TULLE__PINNED_LEAST) return NULL;
    const size_t capacity = (bytes + UNIT - 1) / UNIT * UNIT;
    for (int there = anywhere && s->there; !b && there >= 0; there--) {
        b = find_free(s, capacity, there);
        if (!b) b = add(s, capacity, there);
    }
    if (!b) return NULL;
    b->taken = true;
    return b->memory;
}

static void give(tulle__receiver *receiver, void *memory)
{
    tulle__receive_buffers *s = (tulle__receive_buffers *)receiver;
    for (int n = 0; n < s->count; n++)
        if (s->block[n].memory == memory) s->block[n].taken = false;
}

/* ---- on the device ---- */

enum { PROBE = 512 }; /* words */

/* A get of the first words of another PE's control memory, which all engines have; others may change some of them. */
static tulle_status get_words(tulle_comm *comm, void *to)
{
    tulle__link *link = comm->pe->link;
    const int group = tulle__comm_group(comm);
    const tulle__place place = {
        .rank = (link->rank + 1) % link->npes, .segment = TULLE__CONTROL, .length = PROBE * sizeof(uint64_t)};
    link->ops->get(link, group, &place, 0, to, (size_t)place.length);
    return link->ops->wait(link, group, TULLE__ALL);
}

/*
 * True if a get brings the device what one before and one after bring the host, where these agree. An engine may say
 * that it reaches the device by what its library says, which may not be so of gets.
 */
static bool brings_it_there(tulle_comm *comm, tulle__device *device)
{
    const tulle__device_ops *ops = device->ops;
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *queue = NULL;
    uint64_t before[PROBE], after[PROBE], there[PROBE];
    bool same = false;
    memset(there, 0xa5, sizeof there);
    if (comm->pe->link->segment_bytes[TULLE__CONTROL] < sizeof there) return false;
    if (ops->queue_new(device, &queue) == TULLE_OK &&
        ops->buffer_new(device, sizeof there, "a probe of the engine", &buffer) == TULLE_OK) {
        ops->upload(queue, &(tulle__device_place){buffer, 0}, there, sizeof there);
        same = ops->queue_wait(queue) == TULLE_OK && get_words(comm, before) == TULLE_OK &&
               get_words(comm, ops->address(device, buffer)) == TULLE_OK && get_words(comm, after) == TULLE_OK;
        ops->download(queue, there, &(tulle__device_place){buffer, 0}, sizeof there);
        same = ops->queue_wait(queue) == TULLE_OK && same;
        for (int w = 0; w < PROBE; w++) same = same && (there[w] == before[w] || before[w] != after[w]);
    }
    if (buffer) ops->buffer_free(device, buffer);
    ops->queue_free(device, queue);
    return same;
}

tulle_status tulle__receive_buffers_new(
    tulle_comm *comm, tulle__device *device, bool on_device, tulle__receive_buffers **out)
{
    tulle__receive_buffers *s;
    TULLE_CALL(tulle__alloc_zero(1, sizeof *s, "a plan", &s));
    s->receiver = (tulle__receiver){take, give};
    s->device = device;
    if (on_device && device->ops->address && comm->pe->link->reaches_devices && brings_it_there(comm, device))
        s->there = device->capacity / PART;
    device->capacity -= s->there;
    *out = s;
    return TULLE_OK;
}

void tulle__receive_buffers_free(tulle__receive_buffers *s)
{
    if (!s) return;
    while (s->count) drop(s, s->count - 1);
    s->device->capacity += s->there;
    tulle__free(s);
}

void tulle__receive_buffers_trim(tulle__receive_buffers *s)
{
    if (!s || s->held[0] <= tulle__account_left(tulle__account_current()) / PART) return;
    for (int n = s->count - 1; n >= 0; n--)
        if (!s->block[n].taken && !s->block[n].buffer) drop(s, n);
}

tulle__receiver *tulle__receive_buffers_of(tulle__receive_buffers *s)
{
    return s ? &s->receiver : NULL;
}

enum tulle__received tulle__receive_buffers_find(
    const tulle__receive_buffers *s, const void *address, tulle__device_place *place)
{
    const char *at = address;
    for (int n = 0; s && n < s->count; n++) {
        const struct block *b = &s->block[n];
        if (at < b->memory || at >= b->memory + b->bytes) continue;
        if (!b->buffer) return TULLE__RECEIVED_PINNED;
        *place = (tulle__device_place){b->buffer, (size_t)(at - b->memory)};
        return TULLE__RECEIVED_ON_DEVICE;
    }
    return TULLE__RECEIVED_ELSEWHERE;
}
