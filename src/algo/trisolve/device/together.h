/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves by several devices, one of each PE: what their methods share. A method of the host that has kernels for it
 * names the method of devices in its row (method.h), which TULLE__TOGETHER makes of its functions here.
 *
 * PEs must be threads of one process, as kernels follow pointers into each other's memory. B and X are copied for each
 * solve, everything else once. A PE that fails, or loses patience, stops the kernels of all, so that no PE waits for
 * it.
 */
#ifndef TULLE_TRISOLVE_TOGETHER_H
#define TULLE_TRISOLVE_TOGETHER_H

#include "algo/trisolve/method.h"
#include "device/device.h"

enum { TULLE__TOGETHER_BUFFERS = 24 };

struct tulle__together_peer;

typedef struct tulle__together {
    tulle_comm *comm;
    tulle__device *device;
    tulle__device_queue *queue;
    tulle__device_event *event;
    void *analysis; /* the method's own */
    tulle__device_together task;
    /* made by the analysis, and for so many columns */
    tulle__device_buffer *held[TULLE__TOGETHER_BUFFERS], *sized[TULLE__TOGETHER_BUFFERS];
    int nheld, nsized;
    struct tulle__together_peer *peer; /* [size] */
    void *lines;   /* own lines of B, then of X; of the device's host memory, as copies run beside the host */
    int64_t words; /* that a solve of one column moves between PEs, without polls */
} tulle__together;

/* Functions of a method. */
struct tulle__together_rows {
    enum tulle__together_kind kind;
    size_t bytes; /* of the analysis, which begins as zeros */
    /* Analyses the triangle and copies it to the device. Collective. */
    tulle_status (*analyse)(tulle_trisolve *solver, tulle__together *t, tulle__worker_schedule *schedule);
    /* Copies new values there. Collective. */
    tulle_status (*renew)(tulle_trisolve *solver, tulle__together *t, tulle__method_schedule *a);
    /* Frees what the analysis has; it may have failed. Local. */
    void (*forget)(void *analysis);
    /* Makes the buffer of X, and those that other PEs write or read, for lines of so many bytes. Local. */
    tulle_status (*open)(tulle__together *t, size_t line, tulle__device_place shared[2]);
};

/* Makes a buffer that lives as long as the analysis; as long as the number of columns. Local. */
tulle_status tulle__together_hold(tulle__together *t, size_t bytes, const char *what, tulle__device_place *place);
tulle_status tulle__together_hold_sized(tulle__together *t, size_t bytes, const char *what, tulle__device_place *place);
/* The same in memory that the devices of all PEs reach by atomics. */
tulle_status tulle__together_hold_managed(
    tulle__together *t, size_t bytes, const char *what, tulle__device_place *place);
/* Copies an array there, into a new buffer if there is none yet, and waits. Local. */
tulle_status tulle__together_send(
    tulle__together *t, const void *from, size_t bytes, const char *what, tulle__device_place *to);
/* The same for offsets, which are 32 bits there. */
tulle_status tulle__together_send_offsets(
    tulle__together *t, const int64_t *from, int64_t n, const char *what, tulle__device_place *to);
/* The same for the values of the triangle, and the inverses of pivots; NULL: these are 1. */
tulle_status tulle__together_send_values(tulle__together *t, const void *val, const void *inverse);

/* tulle__method's functions. */
tulle_status tulle__together_prepare(tulle_trisolve *solver, tulle__method_schedule *a);
tulle_status tulle__together_renew(tulle_trisolve *solver, tulle__method_schedule *a);
void tulle__together_forget(tulle__method_schedule *a);
tulle_status tulle__together_open(tulle_trisolve *solver, tulle_gidx cols);
tulle_status tulle__together_sweep(tulle_trisolve *solver, const tulle_mat *B, tulle_mat *X, tulle__solve_times *times);

#define TULLE__TOGETHER(same, functions)                                                                               \
    {                                                                                                                  \
        .reproducible = (same), .rows = &(functions), .prepare = tulle__together_prepare,                              \
        .renew = tulle__together_renew, .forget = tulle__together_forget, .open = tulle__together_open,                \
        .sweep = tulle__together_sweep                                                                                 \
    }

#endif
