/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the runner over devices: device_run.c (opening, executions), device_chain.c (dense
 * results), device_product.c (sparse ones).
 */
#ifndef TULLE_PRODUCT_DEVICE_SET_H
#define TULLE_PRODUCT_DEVICE_SET_H

#include "algo/product/run/device_tiles.h"
#include "algo/product/run/runner.h"

enum { TULLE__OF_A, TULLE__OF_B, TULLE__TEMPORARY = -1 };

/* A dense result on the device, open while jobs may add to it, or on its way from there. */
struct device_result {
    tulle__device_buffer *buffer; /* NULL: there is none */
    tulle_type type;
    char *to;
    int64_t m, n, row, col; /* strides of `to` */
    double beta;
    uint64_t turn; /* when it was begun */
};

enum { TULLE__LEAVING = 2 };

/* A result that leaves: its host memory, and the event that it has come. */
struct device_exit {
    struct device_result result;
    char *staging;
    size_t bytes;
    tulle__device_event *landed;
};

/* A sparse result whose structure stays for executions that make values alone: of tile (i, j) from `row` on, of jobs
 * with nk summands from k on. */
struct device_cached {
    int i, j, k, nk;
    int64_t row;
    tulle__device_buffer *buffer;
    tulle__device_tile tile;
    bool resident; /* it is a whole tile, for which other plans may ask */
    void *to;      /* where its values belong on the host, which lacks them; NULL: it has them */
};

struct device {
    tulle__device *device;
    tulle__staging *staging;
    tulle__device_tiles *tiles;
    tulle__device_queue *work, *out;
    tulle__device_event *made;
    struct device_result *open; /* [capacity] */
    int nopen, capacity;
    size_t open_bytes, results; /* bytes of open results, and how many these may be */
    uint64_t turn;
    struct device_exit exit[TULLE__LEAVING]; /* used in turn */
    int oldest, nleaving;
    struct device_cached *cached; /* [cached_capacity] */
    int ncached, cached_capacity;
    size_t cached_bytes;
    int64_t ahead; /* operands of jobs up to this number have been copied ahead */
    bool stopped;  /* there is no room for more */
};

struct device_run {
    tulle__runner runner;
    tulle_comm *comm;
    const tulle__context *context;
    int count, opened;
    struct device *device;
    tulle__device_tiles **tiles; /* [count] */
    tulle__receive_buffers *receiver;
    bool finished;  /* all that this execution has started is done */
    int64_t copied; /* operands of all jobs below this number have been copied ahead */
    tulle__mat_resident resident;
};

/* The device of a job. */
struct device *tulle__device_of(const struct device_run *run, const tulle__run_tiles *tiles);

/* Room beside what is held, and a tile that is held: results leave for it. */
tulle_status tulle__device_reserve(
    const struct device_run *run, struct device *d, size_t bytes, const char *what, tulle__device_buffer **buffer);
tulle_status tulle__device_hold(const struct device_run *run, struct device *d, const tulle__tile_key *key,
    const tulle_tile *source, tulle__device_tile *there);

/* Something gives its room back: a result that leaves, or the oldest open one, not the newest. 0: there is none. */
int tulle__device_make_room(const struct device_run *run, struct device *d, tulle_status *status);

/* Sparse results whose structure stays: keeps one, which takes the buffer over if there is room for it (*buffer is NULL
 * then), with device-resident values if `to` is their place on the host; finds it; brings values to the host; that, and
 * drops all, *some if there was any; forgets all. */
void tulle__device_cached_add(struct device *d, const tulle__run_tiles *tiles, const tulle__device_tile *tile, void *to,
    tulle__device_buffer **buffer);
tulle_status tulle__device_cached_bring(struct device *d);
tulle_status tulle__device_cached_drop(struct device *d, bool *some);
void tulle__device_cached_forget(struct device *d);

/* Results of this plan as other plans find them, which have that structure (device_resident.c). */
tulle__mat_resident *tulle__device_run_resident(tulle__runner *runner, uint64_t structure);
bool tulle__device_run_reaches(const tulle__runner *runner, const tulle__mat_resident *resident);

/* A chain of sparse tiles on its way: what both kinds of products hold. Tiles of the pairs that add something. */
tulle_status tulle__device_hold_pairs(struct device_run *run, struct device *d, const tulle__run_tiles *tiles,
    const tulle__spgemm_task *task, tulle__device_product *work, tulle__spgemm_pair *pairs);

/* Cuts and sizes of blocks of C, from those of the factors, of which there is one at least. */
void tulle__device_describe_blocks(const tulle__spgemm_task *task, tulle__device_product *work);

/* Waits until the host's tiles have been read, also after a failure: they may be freed then. */
tulle_status tulle__device_operands_read(struct device *d, tulle_status status);

/* All results are in host memory. */
tulle_status tulle__device_results_finish(const struct device_run *run, struct device *d);
/* Forgets resident tiles of other jobs before an execution. */
void tulle__device_resident_begin(struct device_run *run);
/* Starts the copies of all results to the host. */
void tulle__device_results_return(struct device *d);
/* Results that are left are given up; nothing works on them. */
void tulle__device_results_drop(struct device *d);

/* The calls of the runner (runner.h). */
tulle_status tulle__device_run_chain(
    tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__chain_task *task);
tulle_status tulle__device_run_product(tulle__runner *runner, const tulle__run_tiles *tiles,
    const tulle__spgemm_task *task, tulle__csr_place place, void *context, tulle__csr_result *C);
tulle_status tulle__device_run_values(
    tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task, const tulle__csr_result *C);

#endif
