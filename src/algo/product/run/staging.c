/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/run/staging.h"

#include <string.h>

#include "base/memory.h"

/* PART: a link of 50 GB/s takes 40 us for it, ten times what starting a copy does. SHARE: of what memory is left. */
enum { PARTS = 4, PART = 2 << 20, BLOCK = 256 << 10, SHARE = 16 };

struct part {
    char *memory;
    tulle__device_event *passed;
    bool used; /* `passed` stands for its copies */
};

struct tulle__staging {
    tulle__device *device;
    tulle__pool *pool;
    const tulle__receive_buffers *receiver;
    struct part part[PARTS];
    int count;                  /* of parts that have memory */
    bool full;                  /* there is no memory for more */
    int at;                     /* the part that is filled */
    size_t fill;                /* bytes of it */
    tulle__device_queue *queue; /* of its copies */
};

tulle_status tulle__staging_new(
    tulle__device *device, tulle__pool *pool, const tulle__receive_buffers *receiver, tulle__staging **out)
{
    tulle_status status;
    tulle__staging *s = NULL;
    TULLE_TRY(tulle__alloc_zero(1, sizeof *s, "copies to a device", &s));
    s->device = device;
    s->pool = pool;
    s->receiver = receiver;
    for (int p = 0; p < PARTS && device->pinned; p++) TULLE_TRY(device->ops->event_new(device, &s->part[p].passed));
    *out = s;
    return TULLE_OK;
out:
    tulle__staging_free(s);
    return status;
}

static void free_parts(tulle__staging *s)
{
    while (s->count) s->device->ops->host_free(s->device, s->part[--s->count].memory);
}

void tulle__staging_free(tulle__staging *s)
{
    if (!s) return;
    free_parts(s);
    for (int p = 0; p < PARTS; p++) s->device->ops->event_free(s->device, s->part[p].passed);
    tulle__free(s);
}

void tulle__staging_rest(tulle__staging *s)
{
    s->full = false;
    if (tulle__account_left(tulle__account_current()) / SHARE < (size_t)s->count * PART) free_parts(s);
}

/* ---- parts ---- */

static bool add_part(tulle__staging *s)
{
    struct part *next = &s->part[s->count];
    if (s->full || s->count == PARTS) return false;
    s->full = tulle__memory_left() / SHARE < (size_t)PARTS * PART ||
              s->device->ops->host_new(s->device, PART, "copies to a device", &next->memory) != TULLE_OK;
    next->used = false;
    s->count += !s->full;
    return !s->full;
}

/* Another part is filled from its start, once its copies are done. false: there is none. */
static bool advance(tulle__staging *s)
{
    struct part *now = &s->part[s->at];
    if (s->count && s->fill) {
        s->device->ops->record(s->queue, now->passed);
        now->used = true;
    }
    s->fill = 0;
    s->at = add_part(s) ? s->count - 1 : s->count ? (s->at + 1) % s->count : 0;
    if (!s->count) return false;
    struct part *next = &s->part[s->at];
    if (next->used) s->device->ops->event_wait(next->passed);
    next->used = false;
    return true;
}

/* Room of at most `wanted` bytes, in multiples of `unit`, for copies of that queue; 0: there is none. */
static size_t find_room(tulle__staging *s, tulle__device_queue *queue, size_t unit, size_t wanted)
{
    const size_t least = wanted < PART / PARTS ? wanted : PART / PARTS, left = s->count ? PART - s->fill : 0;
    if ((s->queue != queue || left < least || left < unit) && !advance(s)) return 0;
    s->queue = queue;
    const size_t capacity = (PART - s->fill) / unit * unit;
    return capacity < wanted ? capacity : wanted;
}

/* Lines of a copy whose host's side lies in a part, where they follow each other, and in memory of the host. */
struct lines {
    char *part, *host;
    size_t width, pitch;
    bool up;
};

static void move(const struct lines *l, size_t at, size_t host, size_t bytes)
{
    if (l->up)
        memcpy(l->part + at, l->host + host, bytes);
    else
        memcpy(l->host + host, l->part + at, bytes);
}

static void move_bytes(void *arg, int64_t begin, int64_t end)
{
    move(arg, (size_t)begin, (size_t)begin, (size_t)(end - begin));
}

static void move_lines(void *arg, int64_t begin, int64_t end)
{
    const struct lines *l = arg;
    for (size_t n = (size_t)begin; n < (size_t)end; n++) move(l, n * l->width, n * l->pitch, l->width);
}

static void move_all(const tulle__staging *s, struct lines l, size_t lines)
{
    if (l.pitch == l.width)
        tulle__pool_blocks(s->pool, (int64_t)(lines * l.width), BLOCK, move_bytes, &l);
    else
        tulle__pool_blocks(s->pool, (int64_t)lines, (int64_t)(BLOCK / l.width + 1), move_lines, &l);
}

/* ---- copies ---- */

/* A copy without gaps is one of single bytes: it may be cut anywhere. */
static tulle__device_copy cut_anywhere(const tulle__device_copy *copy)
{
    tulle__device_copy c = *copy;
    if (!tulle__copy_is_plain(copy)) return c;
    c.lines = copy->lines * copy->width;
    c.width = c.to_pitch = c.from_pitch = 1;
    return c;
}

/* `count` lines of it from line `first` on; the host's are in that part, or, if it is NULL, where they are. */
static tulle__device_copy piece_of(const tulle__device_copy *c, size_t first, size_t count, char *part)
{
    const bool up = !c->from.buffer;
    tulle__device_copy piece = *c;
    piece.lines = count;
    piece.to.at += up ? first * c->to_pitch : 0;
    piece.from.at += up ? 0 : first * c->from_pitch;
    piece.host = part ? part : (char *)c->host + first * (up ? c->from_pitch : c->to_pitch);
    if (part) *(up ? &piece.from_pitch : &piece.to_pitch) = c->width;
    if (!tulle__copy_is_plain(&piece)) return piece;
    piece.width *= count;
    piece.to_pitch = piece.from_pitch = piece.width;
    piece.lines = 1;
    return piece;
}

/* As the device does it; not all of them have copies of lines. */
static void start(const tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *c)
{
    const tulle__device_ops *ops = s->device->ops;
    if (c->lines > 1 || (c->from.buffer && c->to.buffer))
        ops->copy(queue, c);
    else if (c->from.buffer)
        ops->download(queue, c->host, &c->from, c->lines * c->width);
    else
        ops->upload(queue, &c->to, c->host, c->lines * c->width);
}

typedef void (*copy_lines)(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *copy);

static void up(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *c)
{
    for (size_t line = 0, count; line < c->lines; line += count) {
        const size_t capacity = find_room(s, queue, c->width, (c->lines - line) * c->width);
        char *part = capacity ? s->part[s->at].memory + s->fill : NULL;
        char *host = (char *)c->host + line * c->from_pitch;
        count = capacity ? capacity / c->width : c->lines - line;
        if (capacity) move_all(s, (struct lines){part, host, c->width, c->from_pitch, true}, count);
        s->fill += capacity;
        const tulle__device_copy piece = piece_of(c, line, count, part);
        start(s, queue, &piece);
    }
}

/* Lines on their way to a part, and where they belong on the host. */
struct coming {
    struct part *part; /* NULL: there are none */
    struct lines to;
    size_t lines;
};

static void land(const tulle__staging *s, struct coming *c)
{
    if (!c->part) return;
    s->device->ops->event_wait(c->part->passed);
    move_all(s, c->to, c->lines);
    c->part = NULL;
}

/* A part that has come goes to its place while the next one comes, unless there is one alone. */
static void down(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *c)
{
    struct coming before = {.part = NULL};
    for (size_t line = 0, count; line < c->lines; line += count) {
        struct part *part = advance(s) ? &s->part[s->at] : NULL;
        count = c->lines - line;
        if (part && count > PART / c->width) count = PART / c->width;
        if (part == before.part) land(s, &before);
        const tulle__device_copy piece = piece_of(c, line, count, part ? part->memory : NULL);
        start(s, queue, &piece);
        if (part) s->device->ops->record(queue, part->passed);
        land(s, &before);
        char *host = (char *)c->host + line * c->to_pitch;
        if (part) before = (struct coming){part, {part->memory, host, c->width, c->to_pitch, false}, count};
    }
    land(s, &before);
}

/* Through the ring, in lines that are not larger than a part. */
static void copy(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *copy, copy_lines through)
{
    const tulle__device_copy c = cut_anywhere(copy);
    if (c.width <= PART) {
        through(s, queue, &c);
        return;
    }
    for (size_t line = 0; line < c.lines; line++) {
        const tulle__device_copy one = piece_of(&c, line, 1, NULL), bytes = cut_anywhere(&one);
        through(s, queue, &bytes);
    }
}

static bool is_ringed(const tulle__staging *s, const tulle__device_copy *copy)
{
    return s->device->pinned && copy->lines * copy->width >= TULLE__PINNED_LEAST;
}

void tulle__staging_copy_up(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *copy_of)
{
    tulle__device_copy c = *copy_of;
    const enum tulle__received landed = tulle__receive_buffers_find(s->receiver, c.host, &c.from);
    if (landed == TULLE__RECEIVED_ON_DEVICE) c.host = NULL;
    if (landed == TULLE__RECEIVED_ELSEWHERE && is_ringed(s, &c))
        copy(s, queue, &c, up);
    else
        start(s, queue, &c);
}

void tulle__staging_copy_down(tulle__staging *s, tulle__device_queue *queue, const tulle__device_copy *copy_of)
{
    if (is_ringed(s, copy_of))
        copy(s, queue, copy_of, down);
    else
        start(s, queue, copy_of);
}

void tulle__staging_upload(
    tulle__staging *s, tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes)
{
    tulle__staging_copy_up(s, queue,
        &(tulle__device_copy){.to = *to,
            .host = (void *)(uintptr_t)from,
            .lines = 1,
            .width = bytes,
            .to_pitch = bytes,
            .from_pitch = bytes});
}

void tulle__staging_download(
    tulle__staging *s, tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes)
{
    tulle__staging_copy_down(s, queue,
        &(tulle__device_copy){
            .from = *from, .host = to, .lines = 1, .width = bytes, .to_pitch = bytes, .from_pitch = bytes});
}
