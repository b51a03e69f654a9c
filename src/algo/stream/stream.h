/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a stream. A PE has row ranges (consecutive rows that are stored together), cut into
 * slabs. Lines of Y on its device are the rows of its ranges, consecutively. Slabs come from a
 * producer: memory that is read in place, the segment of another PE, or a file.
 *
 *   producer --start/wait--> staging (ring of `ring` staging buffers on the host) --upload--> ring of `ring` buffers
 * --> kernel
 *
 * There is no staging where the producer is memory from which the device copies (staging buffers are NULL);
 * where the host reaches the device's ring, that is the staging itself. Slab s uses staging buffer and buffer
 * s mod ring. Its steps may begin as follows:
 *
 *   read      when the kernel of slab s - ring has started, and its upload is done (its staging buffer is free)
 *   upload    when it has arrived and the kernel of slab s - ring has started: the copy queue waits for it
 *   multiply  when it has been uploaded: the kernel queue waits for that
 *
 * Nothing is allocated or freed meanwhile. One loop of the PE's thread (ring.c) starts whatever may
 * begin, in this order, and waits for the producer only when nothing else can be done.
 *
 * Cost of a product: max(transfer, compute) + first slab + last slab + S launches; see
 * stream_model.c.
 */
#ifndef TULLE_STREAM_STREAM_H
#define TULLE_STREAM_STREAM_H

#include <tulle/stream.h>

#include "algo/krylov/resident/resident.h"
#include "device/device.h"
#include "mat/mat.h"
#include "mat/rows.h"

enum { TULLE__STREAM_RING = 8 }; /* buffers at most */

/*
 * The format of slabs. From here on rows, lines and entries mean block rows, their lines and
 * blocks; in CSR blocks are single entries.
 */
typedef struct tulle__stream_format {
    int packed; /* a copy in this format is made; 0: CSR in place, or the file's format */
    int block, symmetric, index_bytes;
    int64_t span; /* symmetric: the largest distance of a block from the diagonal, in block columns */
    tulle_type values;
} tulle__stream_format;

/* Arrays of a slab beside its row pointers. */
enum { TULLE__COLIND, TULLE__BASE, TULLE__VAL, TULLE__ARRAYS };

/* Rows that are stored together: in a tile row of A, a file, or the packed rows. */
typedef struct tulle__row_range {
    int tile;          /* -1: in a file, or packed */
    int64_t row, rows; /* in the tile, or the file */
    int64_t line;      /* of Y on the device, and of `rowptr` */
    int64_t entry;     /* the first one, in the tile or the file */
} tulle__row_range;

typedef struct tulle__stream_slab {
    int range;
    int64_t line, rows;
    int64_t entry, entries; /* in the tile, the file or the packed rows */
    size_t pointers;        /* offset in bytes of its row pointers in `pointers` */
} tulle__stream_slab;

typedef struct tulle__producer tulle__producer;

/* The arrays of a slab in host memory; those that the format lacks are undefined. */
typedef struct tulle__arrived {
    const void *array[TULLE__ARRAYS];
} tulle__arrived;

typedef struct tulle__packed tulle__packed;

typedef struct tulle__producer_ops {
    /*
     * Bytes of the staging buffer of a slab, a multiple of 4096; 0: slabs are read in place, and start is not
     * called.
     */
    size_t (*staging_bytes)(const tulle__producer *producer, int64_t entries);
    void (*start)(tulle__producer *producer, int slot, const tulle__stream_slab *slab, char *staging);
    int (*ready)(tulle__producer *producer, int slot); /* 1: the wait returns at once; NULL: unknown */
    tulle_status (*wait)(tulle__producer *producer, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived);
    tulle_status (*check)(
        tulle__producer *producer); /* before and after a sweep: verifies that the source is unchanged; or NULL */
    void (*free)(tulle__producer *producer);
} tulle__producer_ops;

struct tulle__producer {
    const tulle__producer_ops *ops;
    struct tulle_stream *stream;
    int64_t read; /* bytes read from elsewhere */
};

/* The transfer mode: how slabs reach the device. */
typedef enum tulle__transfer_mode {
    TULLE__MODE_IN_PLACE, /* kernels read them in place */
    TULLE__MODE_DIRECT,   /* the producer writes to the device's buffers */
    TULLE__MODE_COPIED,   /* they are copied from where they lie */
    TULLE__MODE_STAGED    /* the producer writes to staging buffers on the host, from which they are copied */
} tulle__transfer_mode;

struct tulle_stream {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_stream_options options;
    const tulle_mat *A;       /* or NULL */
    tulle_mat *copy;          /* copy of A with one tile column, if A had several */
    tulle_rows *rows;         /* or NULL */
    tulle_gidx m, n, x_lines; /* lines of X on the device: n, rounded up to blocks */
    tulle_type type;          /* of vectors */
    tulle__stream_format format;
    tulle_layout *layout;
    tulle_stream_plan plan;
    tulle__resident_context on_device; /* of its operator */
    size_t left;                       /* free bytes for this PE after the partition of all, before vectors were made */
    tulle__row_range *range;
    int nranges;
    int64_t lines, entries; /* of this PE */
    int64_t nnz;            /* entries of A that these represent, both halves */
    tulle_gidx first_row;   /* symmetric: first row of this PE, at a block, from which columns of slabs count */
    int64_t spill;          /* symmetric: number of spill rows after the own lines of Y, not in blocks */
    tulle__packed *packed;  /* or NULL */
    tulle_mat *spilled;     /* the published spill rows of all PEs, or NULL */
    tulle_gidx *spill_of;   /* [2 size]: the first spill row of each PE, and their number */
    int64_t *rowptr;        /* [lines + 1], counting entries over all ranges; NULL once slabs are cut */
    tulle__stream_slab *slab;
    int nslabs;
    char *pointers; /* row pointers of each slab from 0, as the device needs them */
    uint64_t structure;
    char *spec; /* of the device */

    tulle__device *device;
    tulle__producer *producer;
    tulle__device_queue *copies, *kernels;
    tulle__device_event *ready[TULLE__STREAM_RING], *used[TULLE__STREAM_RING];
    tulle__device_buffer *X, *Y;
    tulle__transfer_mode mode;
    tulle__device_buffer **buffer;    /* [nbuffers]: the ring, or one for each slab, or two if read in place */
    tulle__slab *held;                /* [nbuffers]: the slab in each buffer */
    tulle__device_buffer *workspaces; /* workspaces of products: for each resident slab, or one for all */
    tulle__device_place *workspace;   /* [nbuffers]: offset in it; without a buffer if none is needed */
    /* [nbuffers], resident: what was prepared for products of prepared_cols columns */
    tulle__device_prepared **prepared;
    tulle_gidx prepared_cols;
    tulle__device_event *ended; /* recorded before a queue is awaited */
    int nbuffers;
    tulle__device_buffer *pointed; /* `pointers`, if the device reads them in place; or NULL */
    char *staging[TULLE__STREAM_RING];
    char *staged; /* host memory for X and Y in another order than the device's, allocated on demand */
    size_t staged_bytes;
    int loaded; /* resident and uploaded */
};

/* ---- producer.c, producer_rows.c, producer_packed.c: sources of slabs ---- */

tulle_status tulle__producer_new(struct tulle_stream *stream, tulle__producer **producer);
tulle_status tulle__producer_of_rows(struct tulle_stream *stream, tulle__producer **producer);
tulle_status tulle__producer_of_packed(struct tulle_stream *stream, tulle__producer **producer);

/*
 * Counts the packed form of this PE's tiles of A, which are whole blocks: rowptr, lines, entries,
 * one row range, spill.
 */
tulle_status tulle__packed_new(struct tulle_stream *stream);
void tulle__packed_free(tulle__packed *packed);

/* ---- format.c ---- */

/* Chooses the format according to the options. Collective. */
tulle_status tulle__stream_choose_format(struct tulle_stream *stream);
const char *tulle__stream_format_text(const tulle__stream_format *format, char *text, size_t size);

/* ---- partition.c ---- */

/*
 * Determines layout, row ranges and rowptr of this PE. A may be replaced by a copy for a format of
 * blocks. Collective.
 */
tulle_status tulle__stream_partition(struct tulle_stream *stream);

/* ---- cut.c ---- */

/* Bytes of an array for so many rows and entries. */
size_t tulle__array_bytes(const struct tulle_stream *stream, int array, int64_t rows, int64_t entries);
/* Bytes of entries and rows in transit. */
size_t tulle__slab_bytes(const struct tulle_stream *stream, int64_t rows, int64_t entries);
/* The number of copies that upload a slab. */
int tulle__slab_copies(const struct tulle_stream *stream);
/* The share of slab s of `slabs` in the bytes: the first and the last are smaller. */
double tulle__slab_share(int s, int slabs);
/* Ways to cut row ranges: into about so many slabs of equal bytes, one slab a range, one slab a row. */
typedef enum tulle__stream_cuts { TULLE__CUT_EVENLY, TULLE__CUT_IN_TILES, TULLE__CUT_BY_ROWS } tulle__stream_cuts;
/* Cuts all row ranges into a new stream->slab. A row: as few as the device lets a slab begin at. */
tulle_status tulle__stream_cut(struct tulle_stream *stream, int slabs, tulle__stream_cuts cuts);
/* The largest slab, in bytes of a buffer and of a staging buffer. */
size_t tulle__slab_largest(const struct tulle_stream *stream, size_t *staging);
/* A slab without the addresses of its arrays. */
tulle__slab tulle__slab_of(const struct tulle_stream *stream, int slab);
/* The first column of X that slabs count from. */
tulle_gidx tulle__slab_columns_before(const struct tulle_stream *stream);
/* Bytes of device workspace of products with slab k, a multiple of 256. */
tulle_status tulle__slab_workspace(const struct tulle_stream *stream, int k, size_t *bytes);
/* The sum over all slabs, and the largest. */
tulle_status tulle__slab_workspaces(const struct tulle_stream *stream, size_t *sum, size_t *largest);
/* Computes the row pointers of each slab and frees rowptr. */
tulle_status tulle__stream_point(struct tulle_stream *stream);
/* One of these, from 0 to the slab's entries. */
int64_t tulle__slab_pointer(const struct tulle_stream *stream, const tulle__stream_slab *slab, int64_t row);

/* Offsets of arrays in an upload buffer. */
typedef struct tulle__slab_place {
    size_t array[TULLE__ARRAYS], bytes;
} tulle__slab_place;
tulle__slab_place tulle__slab_places(const struct tulle_stream *stream, int64_t rows, int64_t entries);

/* ---- stream_model.c ---- */

typedef struct tulle__stream_rates {
    double latency, bandwidth; /* of a copy: seconds, bytes a second */
    double kernel;             /* seconds per byte of a slab */
    double launch;             /* seconds per kernel */
    double read;               /* bytes a second of the producer; 0: it is memory */
} tulle__stream_rates;

/* Bytes of the device available to slabs: what X and Y leave, within the PE's memory. */
size_t tulle__stream_workspace(const struct tulle_stream *stream);
/* Decides on residence, slabs and ring; fills plan. rates: NULL if nothing can be benchmarked. */
tulle_status tulle__stream_make_plan(struct tulle_stream *stream, const tulle__stream_rates *rates);

/* ---- slab_benchmark.c ---- */

/* Benchmarks the device, the producer and a kernel, with a few slabs of A. */
tulle_status tulle__stream_benchmark(struct tulle_stream *stream, tulle__stream_rates *rates);

/* ---- ring.c ---- */

typedef struct tulle__stream_times {
    double loop, reading; /* seconds from the first slab to the last; part of it waiting for the producer */
} tulle__stream_times;

/* Allocates everything for products. */
tulle_status tulle__ring_make(struct tulle_stream *stream);
void tulle__ring_drop(struct tulle_stream *stream);
/* Host memory for row pointers and staging buffers. */
size_t tulle__ring_host_bytes(const struct tulle_stream *stream);
/* Multiplies the slab in buffer `in`, with all columns or column by column. */
void tulle__ring_multiply(struct tulle_stream *stream, int in, tulle_gidx cols);
/* Starts the copies of an arrived slab into a buffer. */
void tulle__ring_upload(struct tulle_stream *stream, int slab, int in, const tulle__arrived *arrived);
/* Memory where the producer writes for buffer `in`; NULL: nowhere. */
char *tulle__ring_buffer(const struct tulle_stream *stream, int in);
/* Waits for a queue like queue_wait, while other PEs' transfers progress. */
tulle_status tulle__ring_wait(struct tulle_stream *stream, tulle__device_queue *queue);
/* Y = A X for the vectors on the device. */
tulle_status tulle__ring_pass(struct tulle_stream *stream, tulle_gidx cols, tulle__stream_times *times);

/* ---- x_and_y.c ---- */

/* Gathers X from all PEs to the device, with this PE's own rows or without; writes its lines of Y back. */
tulle_status tulle__stream_gather(struct tulle_stream *stream, const tulle_mat *X, bool own);
tulle_status tulle__stream_deliver(struct tulle_stream *stream, tulle_mat *Y);
/* Lines of Y on the device: this PE's and its spill rows. */
int64_t tulle__stream_y_lines(const struct tulle_stream *stream);

/* ---- spill_rows.c: halves on several PEs ---- */

/* Computes the number of spill rows of this PE, from its rows and the format's span. */
void tulle__spill_set(struct tulle_stream *stream);
/* Allocates the published spill rows, if any are needed. Collective. */
tulle_status tulle__spill_new(struct tulle_stream *stream);
/* Memory where this PE publishes its spill rows, interleaved; NULL: nowhere. */
void *tulle__spill_here(const struct tulle_stream *stream);
/* Adds other PEs' spill rows to this PE's lines of Y, once all are published. */
tulle_status tulle__spill_add(struct tulle_stream *stream, tulle_mat *Y);

#endif
