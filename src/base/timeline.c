/* SPDX-License-Identifier: Apache-2.0 */
#include "base/timeline.h"

#include <inttypes.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/memory.h"

struct span {
    const char *name;
    int64_t start, end, bytes;
    int peer;
};

struct tulle__timeline {
    struct span *span;
    size_t count, capacity;
    size_t dropped;
    const char *name;      /* of a lane */
    int thread;            /* of a lane without a name */
    tulle__timeline *lane; /* next lane */
};

tulle_status tulle__timeline_new(tulle__timeline **timeline)
{
    return tulle__alloc_zero(1, sizeof **timeline, "timeline", timeline);
}

void tulle__timeline_free(tulle__timeline *timeline)
{
    for (tulle__timeline *next; timeline; timeline = next) {
        next = timeline->lane;
        tulle__free(timeline->span);
        tulle__free(timeline);
    }
}

tulle_status tulle__timeline_lane(tulle__timeline *timeline, const char *name, tulle__timeline **out)
{
    tulle__timeline *lane;
    TULLE_CALL(tulle__timeline_new(&lane));
    while (timeline->lane) timeline = timeline->lane;
    lane->name = name;
    timeline->lane = lane;
    *out = lane;
    return TULLE_OK;
}

tulle_status tulle__timeline_thread(tulle__timeline *timeline, int thread, tulle__timeline **row)
{
    *row = timeline;
    if (!timeline || thread == 0) return TULLE_OK;
    for (*row = timeline->lane; *row && (*row)->thread != thread;) *row = (*row)->lane;
    if (*row) return TULLE_OK;
    TULLE_CALL(tulle__timeline_lane(timeline, NULL, row));
    (*row)->thread = thread;
    return TULLE_OK;
}

void tulle__busy_waited(tulle__busy *busy, int64_t start, int64_t end)
{
    if (!busy->row || end - start < TULLE__WAIT_SHOWN) return;
    if (start > busy->since) tulle__timeline_span(busy->row, busy->name, busy->since, start, -1, -1);
    tulle__timeline_span(busy->row, "wait for rows", start, end, -1, -1);
    busy->since = end;
}

void tulle__busy_end(const tulle__busy *busy, int64_t end)
{
    if (end > busy->since) tulle__timeline_span(busy->row, busy->name, busy->since, end, -1, -1);
}

void tulle__timeline_span(
    tulle__timeline *timeline, const char *name, int64_t start, int64_t end, int64_t bytes, int peer)
{
    if (!timeline) return;
    if (timeline->count == timeline->capacity) {
        size_t capacity = timeline->capacity ? 2 * timeline->capacity : 1024;
        if (tulle__realloc(capacity, sizeof *timeline->span, "timeline", &timeline->span) != TULLE_OK) {
            timeline->dropped++;
            return;
        }
        timeline->capacity = capacity;
    }
    timeline->span[timeline->count++] = (struct span){name, start, end, bytes, peer};
}

int64_t tulle__timeline_origin(const tulle__timeline *timeline)
{
    int64_t origin = INT64_MAX;
    for (; timeline; timeline = timeline->lane)
        for (size_t i = 0; i < timeline->count; i++)
            if (timeline->span[i].start < origin) origin = timeline->span[i].start;
    return origin;
}

/* Rows have numbers: the PE's rank, and from LANES on those of lanes. */
enum { LANES = 1 << 20 };

static void write_row(const tulle__timeline *timeline, FILE *file, int pe, int row, int64_t origin, int *first)
{
    char number[32] = "";
    const char *name = timeline && timeline->name ? timeline->name : number;
    if (timeline && timeline->thread) snprintf(number, sizeof number, "thread %d", timeline->thread);
    fprintf(file, "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":%d,\"args\":{\"name\":\"PE %d%s%s\"}}",
        *first ? "" : ",\n", row, pe, *name ? " " : "", name);
    *first = 0;
    for (size_t i = 0; timeline && i < timeline->count; i++) {
        const struct span *s = &timeline->span[i];
        tulle__decimal_print(file, ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f",
            s->name, row, (double)(s->start - origin) * 1e-3, (double)(s->end - s->start) * 1e-3);
        if (s->bytes >= 0) fprintf(file, ",\"args\":{\"bytes\":%" PRId64 ",\"peer\":%d}", s->bytes, s->peer);
        fputc('}', file);
    }
    if (timeline && timeline->dropped)
        fprintf(file, ",\n{\"ph\":\"i\",\"name\":\"%zu spans dropped\",\"pid\":0,\"tid\":%d,\"ts\":0}",
            timeline->dropped, row);
}

void tulle__timeline_write(const tulle__timeline *timeline, FILE *file, int pe, int64_t origin, int *first)
{
    write_row(timeline, file, pe, pe, origin, first);
    for (int lane = 0; timeline && timeline->lane; timeline = timeline->lane, lane++)
        write_row(timeline->lane, file, pe, LANES * (lane + 1) + pe, origin, first);
}
