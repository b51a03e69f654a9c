/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eigenvectors of dense submatrices on a device, a batch of similar size at a time. All of a batch have the rows of its
 * largest: smaller ones are padded by a diagonal above their spectrum, which leaves their eigenvalues first and their
 * eigenvectors without components there. Only lower triangles go to the device, and eigenvalues, wanted components of
 * eigenvectors and columns of results come back:
 *
 *   A = Q diag(x) Q^T;  Y = Q^T E comes back;  f(x) Y goes there;  f(A) E = Q (f(x) Y) comes back
 *
 * Of a pair A c = x S c, C^T S C = 1, f(A, S) = C f(x) C^T; U = C^T S E comes back too. The host fills a batch while
 * the device works on the other one.
 */
#ifndef TULLE_ALGO_MATFUN_EIGEN_BATCH_H
#define TULLE_ALGO_MATFUN_EIGEN_BATCH_H

#include <tulle/report.h>

#include "algo/matfun/dense/eigen.h"
#include "device/device.h"

enum { TULLE__EIGEN_BATCHES = 2, TULLE__EIGEN_BATCH_MOST = 64 };

/* A matrix of a batch, on the host: eigen.A and eigen.S have lines of batch->n values. */
typedef struct tulle__eigen_item {
    int64_t n, b;
    tulle__eigen eigen; /* what a visitor reads and writes; not to be freed */
    /* private; values before it in the parts of a batch, and its part of the results */
    size_t columns;
    char *near, *far, *weights; /* S E; rows of Q; U */
} tulle__eigen_item;

typedef struct tulle__eigen_batch {
    tulle_type type;
    bool pair;
    int count;
    int64_t n;
    tulle__eigen_item item[TULLE__EIGEN_BATCH_MOST];
    /* private */
    struct tulle__eigen_device *owner;
    tulle__device_queue *queue;
    tulle__device_buffer *data, *work;
    char *host; /* as `data`: up, down, parts and results */
    size_t host_bytes, up, lambda, fault, far, weights, down, parts, results, bytes;
    double *doubles;
    size_t capacity; /* of doubles */
} tulle__eigen_batch;

typedef struct tulle__eigen_device {
    tulle__device *device;
    tulle__eigen_batch batch[TULLE__EIGEN_BATCHES];
} tulle__eigen_device;

/* Opens a device. TULLE_ERR_UNSUPPORTED, with the reason, if it is not here or has no eigenvectors. Local. */
tulle_status tulle__eigen_device_new(tulle_comm *comm, const char *spec, tulle__eigen_device **out);
void tulle__eigen_device_free(tulle__eigen_device *d); /* NULL is allowed */

/* Work of the device since it was opened. */
tulle_device_work tulle__eigen_device_work(const tulle__eigen_device *d);

/*
 * A batch of matrices with shape[k] = {rows, columns}; of pairs, all of the same rows. *fits = false: the device has no
 * memory for it.
 */
tulle_status tulle__eigen_batch_begin(
    tulle__eigen_batch *batch, tulle_type type, bool pair, int count, const int64_t (*shape)[2], bool *fits);
/* Gives its memory back; nothing of it is under way. */
void tulle__eigen_batch_drop(tulle__eigen_batch *batch);

/* When A, and S, have their lower triangles; before the batch is started. By any thread. */
void tulle__eigen_batch_fill(tulle__eigen_batch *batch, int k, const int64_t *column);

/* Starts the decompositions; column[k]: the wanted ones. */
void tulle__eigen_batch_start(tulle__eigen_batch *batch, const int64_t *const *column);
tulle_status tulle__eigen_batch_wait(tulle__eigen_batch *batch);

/* After the wait, by any thread: lambda, Y and U of a matrix; TULLE_ERR_ARG if its S is not positive definite. */
tulle_status tulle__eigen_batch_read(tulle__eigen_batch *batch, int k);

/* By any thread: from eigen.value. Then the columns of those that are wanted, in eigen.X after the next wait. */
void tulle__eigen_batch_part(tulle__eigen_batch *batch, int k);
void tulle__eigen_batch_apply(tulle__eigen_batch *batch, const bool *wanted);

#endif
