/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Promises of the wrapper `limit` beside the contract: copies take the link's time, run beside each other in the two
 * directions and beside the host, and show in the timeline. Bounds from above are tried several times, as others may
 * have the machine.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/timeline.h"
#include "devices.h"

enum { MEGA = 1000000, TRIES = 8 };

struct limited {
    tulle__device *device;
    tulle__device_buffer *buffer;
    tulle__device_queue *up, *down;
    char *host;
};

static int open_limited(struct limited *l, const char *spec, tulle__timeline *timeline)
{
    *l = (struct limited){.host = calloc(8, MEGA)};
    tulle__device_setting setting = {.threads = 2, .overlap = 1, .timeline = timeline};
    return tulle__device_open(spec, &setting, &l->device) == TULLE_OK &&
           tulle__device_buffer_new(l->device, 8 * MEGA, "a", &l->buffer) == TULLE_OK &&
           l->device->ops->queue_new(l->device, &l->up) == TULLE_OK &&
           l->device->ops->queue_new(l->device, &l->down) == TULLE_OK;
}

static void close_limited(struct limited *l)
{
    l->device->ops->queue_free(l->device, l->up);
    l->device->ops->queue_free(l->device, l->down);
    tulle__device_buffer_free(l->device, l->buffer);
    tulle__device_close(l->device);
    free(l->host);
}

/* Seconds of copies of so many million bytes, and until the calls that started them had returned. */
static double copy(struct limited *l, int ups, int downs, double *started)
{
    const tulle__device_ops *ops = l->device->ops;
    double start = tulle__clock_seconds();
    for (int i = 0; i < ups; i++) ops->upload(l->up, &(tulle__device_place){l->buffer, 0}, l->host, MEGA);
    for (int i = 0; i < downs; i++)
        ops->download(l->down, l->host + 4 * MEGA, &(tulle__device_place){l->buffer, 4 * MEGA}, MEGA);
    *started = tulle__clock_seconds() - start;
    if (ops->queue_wait(l->up) != TULLE_OK || ops->queue_wait(l->down) != TULLE_OK) return -1;
    return tulle__clock_seconds() - start;
}

/* The best of some tries takes at most `most`, all of them at least `least`. */
static void timed(struct limited *l, int ups, int downs, double least, double most, const char *what)
{
    double best = 1e9, fastest_start = 1e9, started;
    int early = 0;
    for (int i = 0; i < TRIES && (best > most || fastest_start > least / 4); i++) {
        double seconds = copy(l, ups, downs, &started);
        early += seconds < least;
        if (seconds < best) best = seconds;
        if (started < fastest_start) fastest_start = started;
    }
    ok(!early && best <= most, "%s: %.4f s of %.4f to %.4f", what, best, least, most);
    ok(fastest_start <= least / 4, "%s: started in %.5f s", what, fastest_start);
}

static void test_pace(void)
{
    struct limited l;
    ok(open_limited(&l, "limit:mem=10M,link=100M,latency=1ms+cpu", NULL), "100 MB/s and 1 ms");
    timed(&l, 1, 0, 0.011, 0.0125, "a megabyte up");
    timed(&l, 4, 0, 0.044, 0.048, "four megabytes up");
    timed(&l, 0, 4, 0.044, 0.048, "four megabytes down");
    timed(&l, 4, 4, 0.044, 0.055, "both directions at once");
    close_limited(&l);
}

/* Work of the caller's goes on while a copy does; and what waits for the copy comes after it. */
static void test_order(void)
{
    struct limited l;
    tulle__device_event *event = NULL;
    ok(open_limited(&l, "limit:mem=10M,link=200M,latency=0+ref", NULL), "200 MB/s");
    const tulle__device_ops *ops = l.device->ops;
    ops->event_new(l.device, &event);
    memset(l.host, 7, MEGA);
    double start = tulle__clock_seconds();
    ops->upload(l.up, &(tulle__device_place){l.buffer, 0}, l.host, MEGA);
    ops->record(l.up, event);
    ops->join(l.down, event);
    ops->download(l.down, l.host + MEGA, &(tulle__device_place){l.buffer, 0}, MEGA);
    ops->event_wait(event);
    double there = tulle__clock_seconds() - start;
    ops->queue_wait(l.down);
    double back = tulle__clock_seconds() - start;
    ok(there >= 0.005 && back >= 0.010, "a copy that joins an event begins when it has happened: %.4f s, %.4f s", there,
        back);
    ok(!memcmp(l.host, l.host + MEGA, MEGA), "and brings what came before");
    ops->event_free(l.device, event);
    close_limited(&l);
}

static void test_timeline(void)
{
    struct limited l;
    tulle__timeline *timeline = NULL;
    char text[4096];
    double started;
    int first = 1;
    tulle__timeline_new(&timeline);
    ok(open_limited(&l, "limit:mem=10M,link=1G+cpu", timeline), "with a timeline");
    copy(&l, 2, 1, &started);
    tulle__vectors Y = {.place = {l.buffer, 0}, .ld = 1};
    tulle__start_scale(l.device, l.up, &(tulle__device_scale){TULLE_F64, 10, 1, Y, 0});
    l.device->ops->queue_wait(l.up);
    close_limited(&l);
    FILE *file = tmpfile();
    tulle__timeline_write(timeline, file, 3, tulle__timeline_origin(timeline), &first);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    int uploads = 0;
    for (const char *p = text; (p = strstr(p, "\"upload\"")); p++) uploads++;
    ok(uploads == 2 && strstr(text, "\"download\"") && strstr(text, "\"scale\""), "copies and kernels are in it");
    ok(strstr(text, "\"PE 3\"") && strstr(text, "PE 3 uploads") && strstr(text, "PE 3 downloads"),
        "copy engines have rows of their own");
    tulle__timeline_free(timeline);
}

/* With two threads kernels have one if copies are to run beside them. */
static void test_threads(void)
{
    for (int overlap = 0; overlap < 2; overlap++) {
        tulle__device *d = NULL;
        tulle__device_setting setting = {.threads = 2, .overlap = overlap};
        int fine = tulle__device_open("limit+cpu", &setting, &d) == TULLE_OK &&
                   strstr(d->text, overlap ? "1 thread," : "2 threads");
        ok(fine, "overlap %d: %s", overlap, d ? d->text : "");
        tulle__device_close(d);
    }
}

int main(void)
{
    test_pace();
    test_order();
    test_timeline();
    test_threads();
    return tap_done();
}
