/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device seam: memory, queues and coarse operations of what computes. A device (cpu, ref, cuda, openacc) or a
 * wrapper of devices (limit, late, fault) implements it; streams and products use it. Kernels on host memory, called
 * directly where work is finer, are in kernel/kernel.h.
 *
 * Memory. A device belongs to the PE that opened it and has one memory of `capacity` bytes, in buffers that count
 * against it. A place is (buffer, offset in bytes).
 *
 * Order. A queue executes what is started in it in order: copies in both directions and kernels. Queues are
 * independent except for events. An event recorded in a queue stands for all that was started there before; a queue
 * that joins it starts nothing behind the join until it has happened.
 *
 * Starting. A start may return before the work is done or after it (cpu: always after; limit: copies before, kernels
 * after). To overlap a copy with a kernel, start the copy first. The start of a download into memory that is not
 * pinned (host_new, host_register) may wait for its queue: a caller that polls meanwhile needs pinned memory. Do not
 * let a queue join work that another queue starts later: an event stands for what is there when it is recorded.
 *
 * Several devices. A PE may open several by one spec. Copies between them are started in a queue of the device that
 * receives. Queues do not join events of another device: the caller waits until the source is complete before it
 * starts such a copy, and keeps the source until an event behind it has happened.
 *
 * Errors. A start cannot fail. A failure sticks to its queue: work behind it in that queue is skipped, and the next
 * `queue_wait` returns it, with its message, and clears it; the results of the queue since then are undefined. Wait
 * for each of several joined queues before using results. No kernel runs on data of a failed copy, which may be row
 * pointers: until that failure is returned, kernels of all queues are skipped, and it sticks to their queues as well.
 *
 * Loss. A device may be lost for good (a GPU that fails, the wrapper fault). From then on `state`, each wait for a
 * queue and whatever makes something return TULLE_ERR_COMM with one message, which names the device. Starts do
 * nothing. Waits and polls for events come to an end, as nothing waits for a lost device. What the device made can be
 * freed.
 *
 * Threads. The thread that opened the device, or one at a time in its place, makes, frees, starts kernels and waits.
 * Two kinds of calls may also come from other threads at the same time, each with queues and events of its own:
 * upload/download/copy, and record/wait/queue_wait. (So a wrapper can have copy engines of its own.) The host memory
 * of a copy belongs to the device from its start until an event behind it, or the queue, has been waited for.
 */
#ifndef TULLE_DEVICE_DEVICE_H
#define TULLE_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tulle/mat.h>
#include <tulle/report.h>
#include <tulle/types.h>

#include "base/timeline.h"

struct tulle__spec_part;

typedef struct tulle__device tulle__device;
typedef struct tulle__device_queue tulle__device_queue;       /* a queue of a device's; made by it */
typedef struct tulle__device_event tulle__device_event;       /* an event; made by it */
typedef struct tulle__device_prepared tulle__device_prepared; /* what is known of a slab that stays; made by it */

/* Host memory of a device and the direct pointers of its buffers are aligned to this, as unbuffered reads want. */
enum { TULLE__DEVICE_ALIGN = 4096 };

/* Memory of a device. Devices make these, with what is theirs behind. */
typedef struct tulle__device_buffer {
    size_t bytes;
    int borrowed;
    void *direct; /* where loads and stores of the host reach it; NULL: they do not */
} tulle__device_buffer;

/* A place in a buffer. */
typedef struct tulle__device_place {
    tulle__device_buffer *buffer;
    size_t at; /* bytes */
} tulle__device_place;

/*
 * A copy of `lines` lines of `width` bytes each. Lines begin to_pitch and from_pitch bytes apart, at least `width`;
 * they do not overlap. The host's side is `host`, where place.buffer is NULL; at most one side is.
 */
typedef struct tulle__device_copy {
    tulle__device_place to, from;
    void *host;
    tulle__device *source; /* that `from` lies on, if it is another device of the PE's; else NULL */
    size_t lines, width, to_pitch, from_pitch;
} tulle__device_copy;

/* The kinds of copies, for counts and names. */
enum tulle__copy_kind { TULLE__COPY_UP, TULLE__COPY_DOWN, TULLE__COPY_WITHIN, TULLE__COPY_PEER, TULLE__COPY_KINDS };

/*
 * A slab: block rows first .. first + m - 1 of a sparse matrix, as tulle__bsr (kernel/kernel.h) has it: blocks of
 * `block` x `block` values, row-major inside; block = 1 is CSR. Row pointers begin at 0; columns are those of X,
 * ascending in each row. Each array is at an offset that is a multiple of 256, unless the host reaches its buffer.
 */
typedef struct tulle__slab {
    tulle_type type;
    int block, symmetric, index_bytes;
    int64_t first, m, n;        /* block rows, block columns */
    int64_t blocks;             /* stored blocks: the last row pointer */
    int64_t span;               /* symmetric: no block is more columns right of the diagonal; 0: to be found */
    tulle__device_place rowptr; /* m + 1 integers of the device's rowptr_bytes */
    tulle__device_place colind; /* int32_t, or with index_bytes = 2 uint16_t from base on */
    tulle__device_place base;   /* index_bytes = 2: m of int32_t */
    tulle__device_place val;
} tulle__slab;

/* Vectors side by side: element (r, c) is value r * ld + c from that place on. */
typedef struct tulle__vectors {
    tulle__device_place place; /* aligned to the type */
    int64_t ld;
} tulle__vectors;

/*
 * Y = A X, both `cols` columns of type `vectors`, X of n * block lines, Y given from its line 0 on. Of a symmetric slab
 * Y += A X, also in lines that its blocks name as columns: a caller that starts with zeros and goes through all slabs
 * of a matrix has its product. X and Y do not overlap.
 */
typedef struct tulle__slab_task {
    tulle__slab A;
    tulle_type vectors;
    tulle__vectors X, Y;
    int64_t cols;
    tulle__device_place workspace;    /* as many bytes as `workspace` asked for; no buffer: the device finds some */
    tulle__device_prepared *prepared; /* what `prepare` made for this slab and workspace; NULL: nothing */
} tulle__slab_task;

/*
 * A tile (tulle/mat.h) whose arrays lie on a device. Row pointers begin at 0, of the device's rowptr_bytes. In blocks
 * (TULLE_VBSR) m, n and nnz count block rows, block columns and blocks; cuts may begin anywhere.
 */
typedef struct tulle__device_tile {
    tulle_kind kind;
    tulle_type type;
    tulle_order order;
    int64_t m, n, ld, nnz;
    tulle__device_place rowptr, colind, val;                /* dense: val only */
    int64_t values;                                         /* in blocks: of all of them */
    tulle__device_place offset, norm, row_block, col_block; /* in blocks: nnz + 1, nnz, m + 1, n + 1 of 8 bytes */
} tulle__device_tile;

/* Most summands of one call into dense, and into sparse, memory. */
enum { TULLE__DEVICE_PAIRS = 16, TULLE__DEVICE_SPARSE_PAIRS = 64 };

/*
 * A chain into a dense C: rows row .. row + m - 1 of sum_p A_p B_p, C = alpha (sum) + beta C, all A_p of one format (in
 * blocks cut alike; else row is 0 and m all of their rows), B_p and C dense; element (r, c) of these rows is value r *
 * c_row + c * c_col from C's place on; beta = 0 does not read C.
 */
typedef struct tulle__device_chain {
    tulle_type type;
    int64_t row, m, n;
    int npairs;
    tulle__device_tile A[TULLE__DEVICE_PAIRS], B[TULLE__DEVICE_PAIRS];
    tulle__device_place C;
    int64_t c_row, c_col;
    double alpha, beta;
} tulle__device_chain;

/*
 * A chain into a sparse C: C = sum_p scale_p A_p B_p; A_p without row pointers is the identity. In blocks, with at
 * least one pair, as spgemm_blocks of kernel/kernel.h, with its filter, its pattern and its half.
 */
typedef struct tulle__device_product {
    tulle_type type;
    int64_t m, n;
    int npairs, unsorted; /* unsorted: the columns of a row of C may come in any order */
    tulle__device_tile A[TULLE__DEVICE_SPARSE_PAIRS], B[TULLE__DEVICE_SPARSE_PAIRS];
    double scale[TULLE__DEVICE_SPARSE_PAIRS];
    int in_blocks;
    int64_t largest[3], smallest[3];                    /* of blocks: rows of C, columns of C, columns of A */
    tulle__device_place row_block, col_block;           /* C's cuts: m + 1, n + 1 */
    tulle__device_place least;                          /* m doubles; no buffer: no filter */
    tulle__device_place pattern_rowptr, pattern_colind; /* block columns of the pattern; no buffers: all */
    bool half;                                          /* as tulle__spgemm_task has it (kernel/kernel.h) */
    int half_shift;
    int64_t first_row, first_col;
} tulle__device_product;

/* Counts of such a product. */
typedef struct tulle__device_product_counts {
    int64_t multiplications;
    int64_t skipped; /* products of blocks, by the filter */
} tulle__device_product_counts;

/*
 * Begin of the rows of a triangle on a device with `wide_level`: in an order, and in groups of rows next to
 * each other there. Rows of a group are short, and a thread has each; a row that is a group alone is many threads'.
 * Groups form stretches, one after the other. The rows of one whose rows are `apart` do not require each other: a
 * level; in others whatever a row requires is before it.
 */
typedef struct tulle__device_stretch {
    int64_t rows, groups; /* of it and of all before */
    int apart;
} tulle__device_stretch;

typedef struct tulle__device_starts {
    tulle__device_place order; /* [n] of int32_t: rows; no buffer: the order of solving */
    tulle__device_place group; /* of int32_t: the position of the first row of each, and n */
    int nstretches;
    const tulle__device_stretch *stretch; /* stay until the work is done */
} tulle__device_starts;

/*
 * A triangle by rows and what it is solved for: A X = B, `cols` columns side by side. The first entry of each row is
 * its pivot (head), or the last one (tail); unit: pivots are 1, and what head or tail name is not read. Columns ascend.
 * X's lines lie next to each other; it does not overlap B.
 */
typedef struct tulle__device_triangle {
    tulle_type type;
    int upper, unit, head, tail;
    int64_t n, cols;
    tulle__device_place rowptr, colind, val; /* row pointers of the device's rowptr_bytes, from 0 */
    tulle__vectors B;
    tulle__device_place X;
    tulle__device_starts starts; /* for a device with `wide_level` */
} tulle__device_triangle;

/*
 * A triangular solve by several PEs of one process, each with a device and a part of the rows: their kernels run at the
 * same time, reach each other's memory and wait for each other. All parts must have been armed before one is solved.
 *
 *   PUSH      an unknown is stored at each PE that requires it; a PE waits for words of its own memory
 *   OWN_SUMS  by columns: partial sums for rows of other PEs stay where they are made, one array of all rows a PE; the
 *             owner of a row reads those of all others
 *   ONE_SUM   by columns: such sums go to one array for all PEs, in managed memory, by atomics
 */
enum tulle__together_kind { TULLE__TOGETHER_PUSH, TULLE__TOGETHER_OWN_SUMS, TULLE__TOGETHER_ONE_SUM };
enum { TULLE__TOGETHER_PES = 16 };

/* Lines are rows of this PE in the order of solving. All integers are int32_t. */
typedef struct tulle__device_together {
    enum tulle__together_kind kind;
    tulle_type type;
    int rank, size; /* of the PE, and of all */
    int64_t n, nown, nghosts, entries, cols;
    /*
     * PUSH: entries of lines, in the order in which their unknowns are solved; columns are lines, and from nown on
     * ghosts. Else: entries of the column of each line; colind are rows.
     */
    tulle__device_place rowptr, colind, val;
    tulle__device_place inverse; /* [nown] of the pivots; no buffer: all are 1 */
    tulle__device_place B, X;    /* lines of `cols` values; PUSH: X with ghosts */
    tulle__device_place stop;    /* a word that is not 0 once the solve shall end without a result */
    tulle__device_place ticket;  /* 8 bytes */
    tulle__device_place group;   /* PUSH: of lines, as those of tulle__device_starts */
    int64_t ngroups;
    tulle__device_place first, target; /* PUSH: [nown + 1], and pairs (PE, ghost) that receive the unknown of a line */
    /* PUSH: the ghosts of each PE. Else: sums, and counters, for all rows (ONE_SUM: of the one array). */
    tulle__device_place shared[2][TULLE__TOGETHER_PES];
    /* By columns: the row of a line; the line of a row, or -1; entries of a line in columns of this PE, and of others;
     * OWN_SUMS: entries of own columns in each row of others. Then what is armed: near entries left, sums of them. */
    tulle__device_place row, line, near, far, owed, left, sum;
} tulle__device_together;

/* Most vectors of a task, on its left side. */
enum { TULLE__DEVICE_VECTORS = 32 };

/*
 * Eigenvectors of `count` dense symmetric matrices of n rows, one after the other. A: their lower triangles, by
 * columns, then eigenvectors in columns; lambda: eigenvalues, ascending. Or of pairs A c = x S c, c^T S c = 1: S has
 * lower triangles and is lost. fault: int32_t of each matrix; 0, or there is no result: S is not positive definite, or
 * there is no convergence.
 */
typedef struct tulle__device_eigen {
    tulle_type type;
    int64_t n;
    int count;
    tulle__device_place A, S; /* S: no buffer: there are no pairs */
    tulle__device_place lambda, fault;
    tulle__device_place workspace; /* as many bytes as `eigen_bytes` asked for */
    size_t bytes;                  /* of it */
} tulle__device_eigen;

/*
 * Inner products x[v]^T y[w] of rows 0 .. rows - 1, which are rows `first` on of a space that is cut into blocks: of
 * each block, or the piece of it that is here, sums[piece * stride + v * ny + w], with the sums of tulle__dots_task
 * (kernel/kernel.h).
 */
typedef struct tulle__device_dots {
    tulle_type type;
    int nx, ny; /* ny: 1 or 2 */
    tulle__device_place x[TULLE__DEVICE_VECTORS], y[2];
    int64_t rows, first, block;
    tulle__device_place sums; /* doubles */
    int64_t stride;
} tulle__device_dots;

/* Number of pieces of blocks in these rows. */
static inline int64_t tulle__device_pieces(int64_t first, int64_t rows, int64_t block)
{
    return rows ? (first + rows - 1) / block - first / block + 1 : 0;
}

/* y[w] = beta[w] y[w] + the sum of coef[w * nx + v] x[v], rounded as in tulle__combine_task. */
typedef struct tulle__device_combine {
    tulle_type type;
    int nx, ny;
    tulle__device_place x[TULLE__DEVICE_VECTORS], y[2];
    double coef[2 * TULLE__DEVICE_VECTORS], beta[2];
    int64_t rows;
} tulle__device_combine;

/*
 * G = X^T Y of rows cut into pieces as those of tulle__device_dots, m and n at most TULLE__TALL_MOST: of each piece
 * sums[piece * stride ..] are G row by row, with the sums of tulle__tsmttsm_task (kernel/kernel.h). symmetric: only
 * entries (i, j), j >= i, are made, and stored one after the other.
 */
typedef struct tulle__device_tsmttsm {
    tulle_type type;
    int m, n, symmetric;
    tulle__vectors X, Y;
    int64_t rows, first, block;
    tulle__device_place sums; /* doubles */
    int64_t stride;
} tulle__device_tsmttsm;

/* Most summands of a tsmm. */
enum { TULLE__DEVICE_TERMS = 10 };

/* Y = (add ? Y : 0) + X_0 B_0 + X_1 B_1 + ..., as tulle__tsmm_task; any X may be Y; B_t, with its padding, is there. */
typedef struct tulle__device_tsmm {
    tulle_type type;
    int add, nterms, n;
    int k[TULLE__DEVICE_TERMS];
    tulle__vectors X[TULLE__DEVICE_TERMS], Y;
    tulle__device_place B[TULLE__DEVICE_TERMS];
    int64_t rows;
} tulle__device_tsmm;

/* Values alone, at the places of C, of a product whose structure is there as `product` makes it; in blocks, of at least
 * one pair, also their norms. */
typedef struct tulle__device_values {
    tulle__device_product product;
    tulle__device_tile C;
} tulle__device_values;

/* Lines of `width` values times beta; beta = 0 writes zeros and does not read. */
typedef struct tulle__device_scale {
    tulle_type type;
    int64_t lines, width;
    tulle__vectors Y;
    double beta;
} tulle__device_scale;

/*
 * Kernels: X(KIND, name, task). A device has those of its bits `kernels`; a kind of slab that it has no kernel for is
 * TULLE_ERR_UNSUPPORTED in the queue. Wrappers pass those of the first list on. multiply sums a row of a slab that is
 * not symmetric in an order that follows from the row and `cols` alone, however a matrix is cut into slabs; chain
 * multiplies tiles into dense memory; solve has the sums of tulle__solve_task (kernel/kernel.h); vectors' are all there
 * or none.
 */
#define TULLE__DEVICE_PASSED_LIST(X)                                                                                   \
    X(MULTIPLY, multiply, tulle__slab_task)                                                                            \
    X(SCALE, scale, tulle__device_scale)                                                                               \
    X(CHAIN, chain, tulle__device_chain)                                                                               \
    X(VALUES, values, tulle__device_values)                                                                            \
    X(SOLVE, solve, tulle__device_triangle)                                                                            \
    X(EIGEN, eigen, tulle__device_eigen)                                                                               \
    X(DOTS, dots, tulle__device_dots)                                                                                  \
    X(COMBINE, combine, tulle__device_combine)                                                                         \
    X(TSMTTSM, tsmttsm, tulle__device_tsmttsm)                                                                         \
    X(TSMM, tsmm, tulle__device_tsmm)
#define TULLE__DEVICE_KERNEL_LIST(X)                                                                                   \
    TULLE__DEVICE_PASSED_LIST(X)                                                                                       \
    X(ARM, arm, tulle__device_together)                                                                                \
    X(SOLVE_TOGETHER, solve_together, tulle__device_together)

enum tulle__device_kernel {
#define KERNEL(kind, name, task) TULLE__DEVICE_##kind,
    TULLE__DEVICE_KERNEL_LIST(KERNEL)
#undef KERNEL
        TULLE__DEVICE_KERNELS
};

/* Places the result once its entries, and C->values in blocks, are counted: sets the places of C's arrays. On the
 * caller's thread. */
typedef tulle_status (*tulle__device_result)(void *context, int64_t m, int64_t nnz, tulle__device_tile *C);

typedef struct tulle__device_ops {
    /* A buffer of `bytes` (0 is allowed), contents undefined; `what` names it in messages. The caller has checked the
     * capacity (tulle__device_buffer_new). TULLE_ERR_MEMORY. */
    tulle_status (*buffer_new)(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer);
    void (*buffer_free)(tulle__device *device, tulle__device_buffer *buffer); /* nothing uses it any more */
    /* Optional: the address of a buffer, by which libraries that know the device's memory reach it (CUDA-aware MPI). */
    void *(*address)(tulle__device *device, const tulle__device_buffer *buffer);
    /* Optional: a buffer over host memory that kernels of the device can work on where it is. Not counted. */
    tulle_status (*borrow)(tulle__device *device, void *memory, size_t bytes, tulle__device_buffer **buffer);

    /* Host memory that copies to and from the device run fastest with (pinned where that means something). */
    tulle_status (*host_new)(tulle__device *device, size_t bytes, const char *what, void *block);
    void (*host_free)(tulle__device *device, void *block); /* NULL is allowed */
    /* Pins memory of the host that exists, for all devices of the process, where that means something; once, until it
     * is unregistered, before it is freed. TULLE_ERR_UNSUPPORTED, with the reason: copies still work, and may be
     * slower. */
    tulle_status (*host_register)(tulle__device *device, void *memory, size_t bytes);
    void (*host_unregister)(tulle__device *device, void *memory); /* no copy uses it */

    /* TULLE_OK, or TULLE_ERR_COMM with the message of its loss. */
    tulle_status (*state)(tulle__device *device);
    /* 1: `copy` brings memory of the other device here, which the PE has opened by the same spec. */
    int (*peer)(const tulle__device *device, const tulle__device *other);

    tulle_status (*queue_new)(tulle__device *device, tulle__device_queue **queue);
    void (*queue_free)(tulle__device *device, tulle__device_queue *queue); /* waits for it; NULL is allowed */
    /* Waits for all that was started; returns a failure, once. */
    tulle_status (*queue_wait)(tulle__device_queue *queue);

    tulle_status (*event_new)(tulle__device *device, tulle__device_event **event);
    void (*event_free)(tulle__device *device, tulle__device_event *event);  /* NULL is allowed */
    void (*record)(tulle__device_queue *queue, tulle__device_event *event); /* replaces its former meaning */
    void (*join)(
        tulle__device_queue *queue, tulle__device_event *event); /* an event that was never recorded has happened */
    void (*event_wait)(tulle__device_event *event); /* on the host; failures are returned by the queues' waits */
    /* 1: complete, or lost; 0: pending. Never blocks; repeated polls come to a 1. */
    int (*event_done)(tulle__device_event *event);

    /* Copies of `bytes`; 0 is allowed. */
    void (*upload)(tulle__device_queue *queue, const tulle__device_place *to, const void *from, size_t bytes);
    void (*download)(tulle__device_queue *queue, void *to, const tulle__device_place *from, size_t bytes);
    /* Copies lines between any two of host, device and peer; 0 lines and lines of 0 bytes are allowed. From a device
     * that is no peer, or where the device has no such copies: TULLE_ERR_UNSUPPORTED in the queue. */
    void (*copy)(tulle__device_queue *queue, const tulle__device_copy *copy);

    /* Starts a kernel that the device has; `task` is of its row in the list. See tulle__start_multiply and others. */
    void (*start)(tulle__device_queue *queue, enum tulle__device_kernel kernel, const void *task);
    /*
     * Optional: bytes that `multiply` wants for such a task beside its operands; 0 is possible. A must have its sizes
     * and X and Y their places; A's arrays may have no buffers yet.
     */
    tulle_status (*workspace)(tulle__device *device, const tulle__slab_task *task, size_t *bytes);
    /*
     * Optional: looks at a slab that will be multiplied many times where it lies, with any X and Y of so many columns.
     * The workspace is its own from then on. Lines of Y that a product of the slab writes, and does not add to, may be
     * written. Freed by `forget` (NULL is allowed) when its products are done.
     */
    tulle_status (*prepare)(
        tulle__device_queue *queue, const tulle__slab_task *task, tulle__device_prepared **prepared);
    void (*forget)(tulle__device *device, tulle__device_prepared *prepared);
    /*
     * Optional: a product of tiles into a sparse tile. It returns when `place` has been called, or with what went wrong
     * in the queue; the arrays are there when the queue has come so far.
     */
    tulle_status (*product)(tulle__device_queue *queue, const tulle__device_product *task, tulle__device_result place,
        void *context, tulle__device_product_counts *counts);
    /* The workspace of eigenvectors, of a task with its sizes and places but that. */
    tulle_status (*eigen_bytes)(tulle__device *device, const tulle__device_eigen *task, size_t *bytes);
    /*
     * Optional, all or none: what solving together takes. Managed memory, which all devices of the process and the host
     * reach (`direct`), the host only while no kernel runs. A word of the host's pinned memory, which kernels of all
     * devices read, and which the host writes (`direct`) while they run. Neither counts. Kernels of the device may
     * reach memory of another PE's device of this process: TULLE_ERR_UNSUPPORTED if they cannot. Kernels in so many
     * queues of each PE that shares the device may wait for each other: TULLE_ERR_UNSUPPORTED, with what to do, if they
     * cannot.
     */
    tulle_status (*managed_new)(tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer);
    tulle_status (*word_new)(tulle__device *device, const char *what, tulle__device_buffer **buffer);
    tulle_status (*reach)(tulle__device *device, const tulle__device *other);
    tulle_status (*waits)(tulle__device *device, int queues);

    /* Optional, both or none: what devices of one owner on the same hardware share (memory, handles of libraries,
     * loaded kernels) stays until it is released, by any thread. Lost hardware is opened anew. */
    void *(*retain)(tulle__device *device);
    void (*release)(void *shared);

    void (*close)(tulle__device *device); /* what it made has been freed */
} tulle__device_ops;

/* Work of a device, for reports; complete as of the last waits for its queues. */
typedef struct tulle__device_counts {
    int64_t copies[TULLE__COPY_KINDS], bytes[TULLE__COPY_KINDS]; /* peer: at the device that receives */
    int64_t copy_ns[TULLE__COPY_KINDS]; /* that a copy engine was at work, or the host with copying */
    int64_t kernels, kernel_ns;         /* that a kernel was at work */
    int refused;                        /* bits of tulle_refused: kinds that were asked for */
} tulle__device_counts;

struct tulle__device {
    const tulle__device_ops *ops;
    tulle__device *inner;  /* of a wrapper, which closes it; else NULL */
    const char *name;      /* static: "cpu" */
    char text[128];        /* what it is, for people: "cpu, 2 threads, avx512", "NVIDIA H200, 139.8 GiB" */
    size_t capacity, used; /* bytes; used is kept by the two functions below */
    unsigned kernels;      /* bits 1 << tulle__device_kernel that it has, and all below it */
    int rowptr_bytes;      /* of the row pointers that its kernels take: 4 or 8 */
    int64_t most_blocks;   /* that a slab may have; 0: any number */
    int64_t wide_level;    /* rows from which a level of a triangle is best begun alone; 0: it knows no starts */
    int y_align;           /* bytes that the first line of a slab in Y should be a multiple of; 0: any */
    int pinned;            /* 1: only copies from and to memory of host_new run beside the host and kernels */
    int on_host;           /* 1: its memory is the PE's, and charged to it */
    int real_time;         /* 1: it is only right on a clock that is real */
    int virtual_time;      /* 1: its work takes time of setting->clock */
    int by_times; /* 1: times decide which kernel multiplies sparse with dense tiles: bits may differ from run to run */
    tulle__device_counts counts;
    tulle__device *counting; /* the device, itself or one below, whose counts are those of this one */
};

/* The clock of a simulation. */
typedef struct tulle__device_clock {
    int64_t (*now)(void *arg);              /* ns */
    void (*until)(void *arg, int64_t then); /* lets time pass; `then` may be past */
    void *arg;
    int shapes; /* 1: there are no values (data=none) */
} tulle__device_clock;

/* Setting in which a device is opened. */
typedef struct tulle__device_setting {
    int threads; /* that kernels on the host may use, with the caller's */
    int overlap; /* 1: copies are to run beside kernels: what copies on this host gets one of the threads */
    int rank;    /* of the PE in the team */
    int number;  /* of the device among those of the PE */
    int near_rank, near_size;         /* of the PE among those of its host (0 of 0: alone): they share its devices */
    int near_processes;               /* of these PEs; 0: one */
    int copied;                       /* a copier lies over it, which tells the timeline of copies */
    tulle__timeline *timeline;        /* of kernels and copies; NULL: not traced */
    const tulle__device_clock *clock; /* copied; NULL: time is real */
    const void *owner; /* the PE, whose devices on the same hardware share memory; NULL: none is shared */
    const struct tulle__device_arena_ops *arenas; /* set by tulle__device_open */
} tulle__device_setting;

static inline enum tulle__copy_kind tulle__copy_kind_of(const tulle__device_copy *copy)
{
    if (!copy->from.buffer) return TULLE__COPY_UP;
    if (!copy->to.buffer) return TULLE__COPY_DOWN;
    return copy->source ? TULLE__COPY_PEER : TULLE__COPY_WITHIN;
}

/* 1: lines follow each other without gaps on both sides. */
static inline int tulle__copy_is_plain(const tulle__device_copy *copy)
{
    return copy->lines <= 1 || (copy->to_pitch == copy->width && copy->from_pitch == copy->width);
}

/* For timelines and messages. */
static inline const char *tulle__copy_name(enum tulle__copy_kind kind)
{
    static const char *const names[] = {"upload", "download", "copy", "peer copy"};
    return names[kind];
}

/* Number of PEs with the same device if those of a host take `count` devices in turn by their near_rank. */
static inline int tulle__device_sharers(const tulle__device_setting *setting, int count)
{
    int size = setting->near_size > 0 ? setting->near_size : 1, mine = setting->near_rank % count;
    return size / count + (mine < size % count);
}

/* Number of processes with a device that so many PEs share. */
static inline int tulle__device_processes(const tulle__device_setting *setting, int sharers)
{
    int size = setting->near_size > 0 ? setting->near_size : 1;
    if (setting->near_processes < 2) return 1;
    return (int)(((int64_t)sharers * setting->near_processes + size - 1) / size);
}

/* An entry of the registry and of modules (base/module/module.h): a device, or a wrapper. On failure `inner` stays the
 * caller's. */
typedef struct tulle__device_driver {
    const char *name, *summary;
    int copier; /* 1, of a wrapper: its copies take a thread of this host and have a timeline of their own */
    tulle_status (*open)(struct tulle__spec_part *part, const tulle__device_setting *setting, tulle__device **device);
    tulle_status (*wrap)(struct tulle__spec_part *part, const tulle__device_setting *setting, tulle__device *inner,
        tulle__device **device);
} tulle__device_driver;

/*
 * Opens what a spec says (`cpu`, `ref`, `limit:mem=2G,link=12G,latency=2us+cpu`, `cuda:0`); closes it, NULL allowed.
 * TULLE_ERR_ARG for a spec that is none; TULLE_ERR_UNSUPPORTED, with the reason, for a device that is not here.
 */
tulle_status tulle__device_open(const char *spec, const tulle__device_setting *setting, tulle__device **device);
void tulle__device_close(tulle__device *device);

/* True if it has a kernel, and all below it. */
static inline bool tulle__device_has(const tulle__device *device, enum tulle__device_kernel kernel)
{
    return (device->kernels >> kernel & 1) != 0;
}

/* True if it multiplies tiles into sparse memory. */
int tulle__device_has_product(const tulle__device *device);

/* tulle__start_multiply(device, queue, task) and so on. */
#define TULLE__START(kind, name, type)                                                                                 \
    static inline void tulle__start_##name(const tulle__device *device, tulle__device_queue *queue, const type *task)  \
    {                                                                                                                  \
        device->ops->start(queue, TULLE__DEVICE_##kind, task);                                                         \
    }
TULLE__DEVICE_KERNEL_LIST(TULLE__START)
#undef TULLE__START

/* A row of a device's `start`: a function of that name, for a list of kernels that it has. */
#define TULLE__KERNEL_CASE(kind, name, type)                                                                           \
    case TULLE__DEVICE_##kind:                                                                                         \
        name(queue, task);                                                                                             \
        break;
#define TULLE__KERNEL_BIT(kind, name, type) | 1u << TULLE__DEVICE_##kind

/* Buffers, counted: TULLE_ERR_LIMIT, with what was asked for, what is used and the capacity, if it does not fit. */
tulle_status tulle__device_buffer_new(
    tulle__device *device, size_t bytes, const char *what, tulle__device_buffer **buffer);
void tulle__device_buffer_free(tulle__device *device, tulle__device_buffer *buffer); /* NULL is allowed */

#endif
