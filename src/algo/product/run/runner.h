/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runners multiply the jobs of a product: this host, where operands and results lie, or devices with memories of their
 * own, to which tiles come, are multiplied, and whose results leave. The plan chooses one (run/host_run.c,
 * run/device_run.c); the executor knows no other difference.
 */
#ifndef TULLE_PRODUCT_RUNNER_H
#define TULLE_PRODUCT_RUNNER_H

#include <tulle/gemm_blocks.h>
#include <tulle/report.h>

#include "algo/product/run/run_tiles.h"
#include "mat/context.h"
#include "mat/fetch.h"
#include "mat/mat_resident.h"
#include "tile/tile_csr.h"

typedef struct tulle__runner tulle__runner;

typedef struct tulle__runner_ops {
    /*
     * Starts the chain into dense memory of the host. The result is there after finish; until then task->C is the
     * runner's, and a task with the same C and beta = 1 adds to it. Operands are not read any more when it returns,
     * also with a failure, unless they stay.
     */
    tulle_status (*chain)(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__chain_task *task);
    /* The product into a sparse tile that `place` finds room for; done when it returns. */
    tulle_status (*product)(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task,
        tulle__csr_place place, void *context, tulle__csr_result *C);
    /* The values of a C whose structure is known, as `product` made it, if that is kept (keeps_structure); done when it
     * returns. NULL: the host makes them. */
    tulle_status (*values)(tulle__runner *runner, const tulle__run_tiles *tiles, const tulle__spgemm_task *task,
        const tulle__csr_result *C);
    /* Jobs come in runner->blocks from now on. NULL for the host. */
    void (*block)(tulle__runner *runner);
    /* All that was started is in host memory. */
    tulle_status (*finish)(tulle__runner *runner);
    /* The end of an execution, also of one that failed: nothing is under way, no tile is kept, unless they are resident
     * and all has been finished. */
    void (*end)(tulle__runner *runner);
    /* Brings results that stay to the host; no tile is kept. NULL for the host. */
    tulle_status (*sync)(tulle__runner *runner);
    /* Sparse results that stay on devices, for other plans, after an execution with that structure of C. NULL for the
     * host. */
    tulle__mat_resident *(*resident)(tulle__runner *runner, uint64_t structure);
    /* True if its devices copy from those that values of a PE of this process lie on. NULL for the host. */
    bool (*reaches)(const tulle__runner *runner, const tulle__mat_resident *resident);
    /* Work of devices since the plan was made; all 0 for the host. */
    tulle_device_work (*work)(const tulle__runner *runner);
    void (*free)(tulle__runner *runner);
} tulle__runner_ops;

struct tulle__runner {
    const tulle__runner_ops *ops;
    const tulle__tile_format *format; /* of A */
    int most;                         /* summands of a job; 0: any number */
    int ahead;                        /* jobs after the present one that the runner peeks at */
    bool keeps_structure;             /* a sparse product whose structure is known can be given values alone */
    size_t capacity;                  /* bytes of its smallest device */
    int devices;                      /* 0: the host multiplies */
    bool peers;                       /* each of them copies from each other */
    tulle__receiver *receiver;        /* of what other PEs send, for its executions; NULL: the PE's memory */
    bool by_times;                    /* times decide which kernel multiplies in SpMM */
    /* The following are the plan's. */
    bool resident;                             /* operands and results stay from one execution to the next */
    bool new_structure;                        /* structures of a sparse C are made anew, in other memory of the host */
    bool stale;                                /* jobs are others than those of the execution before */
    const tulle__mat_resident *resident_of[2]; /* of A and B, for an execution; NULL: their values are on the host */
    const int *column;                         /* [tile columns of C]: their numbers among those of this PE */
    bool unpinned;                             /* jobs go to devices in turn, whatever tile of C they are of */
    /* NULL: jobs are in any order. They are in these blocks, of tiles of at most so many bytes, A's, B's and C's. */
    const tulle_gemm_blocks *blocks;
    int window; /* how many chunks after the one at hand are copied ahead */
    size_t tile[3];
    /* The n-th job after the one at hand, with its operands if they are wanted; 0: it is not known, or they are not
     * there. */
    int (*peek)(void *peeked, int n, bool operands, tulle__run_next *next);
    void *peeked;
};

tulle_status tulle__host_run_new(const tulle__context *context, const tulle__tile_format *format, tulle__runner **out);

/*
 * Over `count` devices that `spec` opens for this PE; columns of tiles of C go through them in turn. TULLE_ERR_ARG
 * and TULLE_ERR_UNSUPPORTED, with the cause, for what is no device, or multiplies no tiles.
 */
tulle_status tulle__device_run_new(tulle_comm *comm, const tulle__context *context, const tulle__tile_format *format,
    bool sparse, const char *spec, int count, tulle__runner **out);

#endif
