/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of copies of lines, within a device and between two of them, and of memory that is pinned. */
#ifndef TULLE_TEST_COPIES_H
#define TULLE_TEST_COPIES_H

#include "base/error.h"
#include "devices.h"

/* OpenACC's device has the two copies of streams alone. */
static int copies_lines(const tulle__device *d)
{
    while (d->inner) d = d->inner;
    return strcmp(d->name, "openacc") != 0;
}

/* A grid of bytes on the host, as the copies below should leave it. */
enum { PITCH = 37, LINES = 11, GRID = PITCH * LINES };

static void copy_grid(
    unsigned char *to, size_t to_pitch, const unsigned char *from, size_t from_pitch, size_t lines, size_t width)
{
    for (size_t l = 0; l < lines; l++) memcpy(to + l * to_pitch, from + l * from_pitch, width);
}

/* Copies of lines up, within the device and down: what is between the lines stays. */
static void test_lines(tulle__device *d)
{
    static const struct {
        size_t lines, width, to, to_pitch, from, from_pitch;
    } shapes[] = {{5, 9, 3, 14, 40, 37}, {11, 37, 0, 37, 0, 37}, {1, 200, 7, 200, 1, 200}, {0, 9, 0, 9, 0, 9},
        {4, 0, 0, 1, 0, 1}, {11, 1, 36, 37, 0, 1}, {3, 17, 100, 120, 5, 17}};
    unsigned char up[GRID], start[GRID], want[GRID], seen[GRID], down[GRID], want_down[GRID];
    tulle__device_buffer *buffer = NULL, *other = NULL;
    tulle__device_queue *q = NULL;
    int64_t before[TULLE__COPY_KINDS], moved = 0, wrong = 0, count = 0;
    memcpy(before, d->counting->counts.bytes, sizeof before);
    tulle_status status = tulle__device_buffer_new(d, GRID, "a", &buffer);
    if (status == TULLE_OK) status = tulle__device_buffer_new(d, GRID, "b", &other);
    if (status == TULLE_OK) status = d->ops->queue_new(d, &q);
    if (!ok(status == TULLE_OK, "two buffers")) return;
    for (int i = 0; i < GRID; i++) up[i] = (unsigned char)(i * 5 + 1), start[i] = (unsigned char)(255 - i % 200);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes && copies_lines(d); s++, count++) {
        size_t lines = shapes[s].lines, width = shapes[s].width, tp = shapes[s].to_pitch, fp = shapes[s].from_pitch;
        tulle__device_copy copy = {.lines = lines, .width = width, .to_pitch = tp, .from_pitch = fp};
        d->ops->upload(q, &(tulle__device_place){buffer, 0}, start, GRID);
        d->ops->upload(q, &(tulle__device_place){other, 0}, start, GRID);
        copy.to = (tulle__device_place){buffer, shapes[s].to};
        copy.host = up + shapes[s].from;
        d->ops->copy(q, &copy); /* up */
        memcpy(want, start, GRID);
        copy_grid(want + shapes[s].to, tp, up + shapes[s].from, fp, lines, width);
        copy.from = (tulle__device_place){buffer, shapes[s].from};
        copy.to.buffer = other;
        copy.host = NULL;
        d->ops->copy(q, &copy); /* within */
        copy.from = (tulle__device_place){other, shapes[s].from};
        copy.to = (tulle__device_place){NULL, 0};
        memset(down, 1, GRID);
        memset(want_down, 1, GRID);
        copy.host = down + shapes[s].to;
        d->ops->copy(q, &copy); /* down */
        d->ops->download(q, seen, &(tulle__device_place){buffer, 0}, GRID);
        wrong += d->ops->queue_wait(q) != TULLE_OK || memcmp(seen, want, GRID) != 0;
        memcpy(seen, start, GRID);
        copy_grid(seen + shapes[s].to, tp, want + shapes[s].from, fp, lines, width);
        copy_grid(want_down + shapes[s].to, tp, seen + shapes[s].from, fp, lines, width);
        wrong += memcmp(down, want_down, GRID) != 0;
        moved += (int64_t)(lines * width);
    }
    if (!copies_lines(d)) {
        d->ops->copy(q, &(tulle__device_copy){.to = {buffer, 0}, .host = up, .lines = 2, .width = 3, 4, 4});
        ok(d->ops->queue_wait(q) == TULLE_ERR_UNSUPPORTED && *tulle_error_message(), "no lines: %s",
            tulle_error_message());
        ok(d->ops->queue_wait(q) == TULLE_OK, "which is reported once");
    } else {
        const int64_t *now = d->counting->counts.bytes;
        ok(wrong == 0, "lines go up, within the device, and down: %d shapes, %d wrong", (int)count, (int)wrong);
        ok(now[TULLE__COPY_UP] - before[TULLE__COPY_UP] == moved + count * 2 * GRID &&
                now[TULLE__COPY_DOWN] - before[TULLE__COPY_DOWN] == moved + count * GRID &&
                now[TULLE__COPY_WITHIN] - before[TULLE__COPY_WITHIN] == moved,
            "and are counted by kind");
    }
    d->ops->queue_free(d, q);
    tulle__device_buffer_free(d, other);
    tulle__device_buffer_free(d, buffer);
}

/* Two devices of one PE: what one has the other gets, if they are peers; else it is refused. */
static void test_peers(const char *spec)
{
    tulle__device *d[2] = {NULL, NULL};
    tulle__device_buffer *buffer[2] = {NULL, NULL};
    tulle__device_queue *q[2] = {NULL, NULL};
    unsigned char up[GRID], down[GRID], want[GRID];
    tulle_status status = TULLE_OK;
    for (int i = 0; i < 2 && status == TULLE_OK; i++) {
        tulle__device_setting setting = {.threads = 1, .number = i, .near_rank = i, .near_size = 2};
        status = tulle__device_open(spec, &setting, &d[i]);
        if (status == TULLE_OK) status = tulle__device_buffer_new(d[i], GRID, "a", &buffer[i]);
        if (status == TULLE_OK) status = d[i]->ops->queue_new(d[i], &q[i]);
    }
    if (!ok(status == TULLE_OK, "two of %s", spec)) return;
    int peers = d[0]->ops->peer(d[0], d[1]);
    ok(peers == d[1]->ops->peer(d[1], d[0]), "%s peers", peers ? "are" : "are no");
    for (int i = 0; i < GRID; i++) up[i] = (unsigned char)(i * 3 + 2);
    d[0]->ops->upload(q[0], &(tulle__device_place){buffer[0], 0}, up, GRID);
    ok(d[0]->ops->queue_wait(q[0]) == TULLE_OK, "the first has something");
    memset(want, 4, GRID);
    d[1]->ops->upload(q[1], &(tulle__device_place){buffer[1], 0}, want, GRID);
    tulle__device_copy copy = {.to = {buffer[1], 5},
        .from = {buffer[0], 9},
        .source = d[0],
        .lines = 6,
        .width = 20,
        .to_pitch = 50,
        .from_pitch = PITCH};
    d[1]->ops->copy(q[1], &copy);
    status = d[1]->ops->queue_wait(q[1]);
    d[1]->ops->download(q[1], down, &(tulle__device_place){buffer[1], 0}, GRID);
    ok(d[1]->ops->queue_wait(q[1]) == TULLE_OK, "the second can be read");
    if (peers) {
        copy_grid(want + 5, 50, up + 9, PITCH, 6, 20);
        ok(status == TULLE_OK && !memcmp(down, want, GRID), "lines came from the other device");
        ok(d[1]->counting->counts.copies[TULLE__COPY_PEER] == 1 &&
                d[1]->counting->counts.bytes[TULLE__COPY_PEER] == 120 &&
                d[0]->counting->counts.copies[TULLE__COPY_PEER] == 0,
            "and are counted where they arrived");
    } else
        ok(status == TULLE_ERR_UNSUPPORTED && !memcmp(down, want, GRID), "nothing came, which is reported");
    for (int i = 0; i < 2; i++) {
        d[i]->ops->queue_free(d[i], q[i]);
        tulle__device_buffer_free(d[i], buffer[i]);
        tulle__device_close(d[i]);
    }
}

/* Memory that was there before can be pinned, or the refusal says why not; copies work in both cases. */
static void test_register(tulle__device *d)
{
    enum { BYTES = 3 * TULLE__DEVICE_ALIGN };
    tulle__device_buffer *buffer = NULL;
    tulle__device_queue *q = NULL;
    char *memory = aligned_alloc(TULLE__DEVICE_ALIGN, BYTES);
    tulle_status made = tulle__device_buffer_new(d, BYTES, "a", &buffer);
    if (made == TULLE_OK) made = d->ops->queue_new(d, &q);
    if (!ok(memory && made == TULLE_OK, "a buffer")) return;
    for (int turn = 0; turn < 2; turn++) {
        tulle__error_clear();
        tulle_status status = d->ops->host_register(d, memory, BYTES);
        ok(status == TULLE_OK || (status == TULLE_ERR_UNSUPPORTED && *tulle_error_message()), "memory is pinned: %s",
            status == TULLE_OK ? "yes" : tulle_error_message());
        memset(memory, 7 + turn, BYTES);
        d->ops->upload(q, &(tulle__device_place){buffer, 0}, memory, BYTES);
        int fine = d->ops->queue_wait(q) == TULLE_OK;
        memset(memory, 0, BYTES);
        d->ops->download(q, memory, &(tulle__device_place){buffer, 0}, BYTES);
        fine &= d->ops->queue_wait(q) == TULLE_OK && memory[0] == 7 + turn && memory[BYTES - 1] == 7 + turn;
        ok(fine, "and copied from and to");
        if (status == TULLE_OK) d->ops->host_unregister(d, memory);
    }
    d->ops->queue_free(d, q);
    tulle__device_buffer_free(d, buffer);
    free(memory);
}

#endif
