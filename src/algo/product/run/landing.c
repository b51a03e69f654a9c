/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/run/landing.h"

#include "base/memory.h"

enum { BLOCKS = 64, PART = 8, UNIT = 65536 }; /* most of them; the part of what is left; sizes are multiples of it */

/* Memory of the host, or a buffer of the device. */
struct block {
    char *memory; /* its address */
    size_t bytes;
    tulle__device_buffer *buffer; /* NULL: of the host */
    bool taken;
};

struct tulle__landing_blocks {
    tulle__landing landing;
    tulle__device *device;
    bool on_device;
    struct block block[BLOCKS];
    int count;
    size_t held[2]; /* bytes of all, of the host and of the device */
};

static void drop(tulle__landing_blocks *s, int n)
{
    struct block *b = &s->block[n];
    s->held[b->buffer != NULL] -= b->bytes;
    if (b->buffer)
        tulle__device_buffer_free(s->device, b->buffer);
    else
        s->device->ops->host_free(s->device, b->memory);
    *b = s->block[--s->count];
}

/* The smallest free one that will do and is not much too large; NULL: there is none. */
static struct block *find_free(tulle__landing_blocks *s, size_t bytes, bool there)
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

/* Those that are free go, of one kind: they are of other sizes than are wanted. */
static void drop_free(tulle__landing_blocks *s, bool there)
{
    for (int n = s->count - 1; n >= 0; n--)
        if (!s->block[n].taken && (s->block[n].buffer != NULL) == there) drop(s, n);
}

static size_t most(const tulle__landing_blocks *s, bool there)
{
    return there ? s->device->capacity / PART : (tulle__memory_left() + s->held[0]) / PART;
}

/* A new one of so many bytes; NULL: there is no room, which is no failure. */
static struct block *add(tulle__landing_blocks *s, size_t bytes, bool there)
{
    struct block b = {.bytes = bytes};
    if (s->count == BLOCKS || s->held[there] + bytes > most(s, there)) drop_free(s, there);
    if (s->count == BLOCKS || s->held[there] + bytes > most(s, there)) return NULL;
    if (there) {
        if (tulle__device_buffer_new(s->device, bytes, "tiles that arrive", &b.buffer) != TULLE_OK) return NULL;
        b.memory = s->device->ops->address(s->device, b.buffer);
    } else if (s->device->ops->host_new(s->device, bytes, "tiles that arrive", &b.memory) != TULLE_OK) {
        return NULL;
    }
    s->held[there] += bytes;
    s->block[s->count] = b;
    return &s->block[s->count++];
}

static void *take(tulle__landing *landing, size_t bytes, bool anywhere)
{
    tulle__landing_blocks *s = (tulle__landing_blocks *)landing;
    const size_t room = (bytes + UNIT - 1) / UNIT * UNIT;
    struct block *b = NULL;
    for (int there = anywhere && s->on_device; !b && there >= 0; there--) {
        b = find_free(s, room, there);
        if (!b) b = add(s, room, there);
    }
    if (!b) return NULL;
    b->taken = true;
    return b->memory;
}

static void give(tulle__landing *landing, void *memory)
{
    tulle__landing_blocks *s = (tulle__landing_blocks *)landing;
    for (int n = 0; n < s->count; n++)
        if (s->block[n].memory == memory) s->block[n].taken = false;
}

tulle_status tulle__landing_new(tulle_comm *comm, tulle__device *device, bool on_device, tulle__landing_blocks **out)
{
    tulle__landing_blocks *s;
    tulle_status status = tulle__alloc_zero(1, sizeof *s, "a plan", &s);
    if (status != TULLE_OK) return status;
    s->landing = (tulle__landing){take, give};
    s->device = device;
    s->on_device = on_device && comm->pe->link->reaches_devices && device->ops->address;
    *out = s;
    return TULLE_OK;
}

void tulle__landing_free(tulle__landing_blocks *s)
{
    if (!s) return;
    while (s->count) drop(s, s->count - 1);
    tulle__free(s);
}

tulle__landing *tulle__landing_of(tulle__landing_blocks *s)
{
    return s ? &s->landing : NULL;
}

enum tulle__landed tulle__landing_find(const tulle__landing_blocks *s, const void *address, tulle__device_place *place)
{
    const char *at = address;
    for (int n = 0; s && n < s->count; n++) {
        const struct block *b = &s->block[n];
        if (at < b->memory || at >= b->memory + b->bytes) continue;
        if (!b->buffer) return TULLE__LANDED_PINNED;
        *place = (tulle__device_place){b->buffer, (size_t)(at - b->memory)};
        return TULLE__LANDED_THERE;
    }
    return TULLE__LANDED_ELSEWHERE;
}
