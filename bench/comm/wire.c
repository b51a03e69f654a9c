/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link between two network namespaces with a chosen bandwidth and latency, where the kernel has no netem: two TAP
 * devices, between which frames are passed on when their time has come. Each direction is a port that sends one frame
 * after another; a frame arrives latency after its last byte was sent.
 *
 *   wire NAME0 NAME1 BYTES_A_SECOND LATENCY_SECONDS    makes the devices, prints "ready", runs until it is ended
 *
 * Frames carry the kernel's offload headers, so that TCP segments of up to 64 KB pass as one frame, as over a network
 * adapter. While a frame is under way the program looks at the clock without sleeping: it needs a core of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if.h>

enum { FRAME = 66000, FRAMES = 512 };

struct frame {
    double due;
    size_t bytes;
    char data[FRAME];
};

/* Frames on their way in one direction, a ring. */
struct direction {
    int from, to;
    double port_free;
    unsigned first, end;
    struct frame *frame;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_tap(const char *name)
{
    struct ifreq request;
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0 ||
        ioctl(fd, TUNSETOFFLOAD, (unsigned long)(TUN_F_CSUM | TUN_F_TSO4)) < 0) {
        fprintf(stderr, "wire: no TAP device '%s': %s (it needs /dev/net/tun and root)\n", name, strerror(errno));
        exit(1);
    }
    return fd;
}

/* Takes in what a side has sent. */
static void take(struct direction *d, double bandwidth, double latency)
{
    while (d->end - d->first < FRAMES) {
        struct frame *f = &d->frame[d->end % FRAMES];
        ssize_t bytes = read(d->from, f->data, FRAME);
        if (bytes <= 0) return;
        double t = now(), start = d->port_free > t ? d->port_free : t;
        f->bytes = (size_t)bytes;
        d->port_free = start + (double)bytes / bandwidth;
        f->due = d->port_free + latency;
        d->end++;
    }
}

static void deliver(struct direction *d)
{
    while (d->first != d->end && d->frame[d->first % FRAMES].due <= now()) {
        const struct frame *f = &d->frame[d->first++ % FRAMES];
        if (write(d->to, f->data, f->bytes) < 0 && errno != EAGAIN && errno != EIO)
            perror("wire"); /* lost, as on a wire */
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) return fprintf(stderr, "usage: wire NAME0 NAME1 BYTES_A_SECOND LATENCY_SECONDS\n"), 2;
    double bandwidth = atof(argv[3]), latency = atof(argv[4]);
    int tap[2] = {open_tap(argv[1]), open_tap(argv[2])};
    struct direction way[2];
    memset(way, 0, sizeof way);
    for (int w = 0; w < 2; w++) {
        way[w].from = tap[w];
        way[w].to = tap[!w];
        way[w].frame = malloc(FRAMES * sizeof *way[w].frame);
        if (!way[w].frame) return fprintf(stderr, "wire: out of memory\n"), 1;
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        int under_way = way[0].first != way[0].end || way[1].first != way[1].end;
        struct pollfd ready[2] = {{.fd = tap[0], .events = POLLIN}, {.fd = tap[1], .events = POLLIN}};
        if (!under_way && poll(ready, 2, -1) < 0 && errno != EINTR) return perror("wire"), 1;
        for (int w = 0; w < 2; w++) {
            take(&way[w], bandwidth, latency);
            deliver(&way[w]);
        }
    }
}
