/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside a stream. A PE has pieces (its consecutive rows that lie together somewhere), cut into slabs; lines of Y on
 * its device are the rows of its pieces, one behind the other. Slabs come from a feed: memory that is read where it is,
 * the segment of another PE, a file.
 *
 *   feed --start/wait--> staging (ring of `ring` rooms on the host) --upload--> ring of `ring` buffers --> kernel
 *
 * Staging is left out where the feed is in memory that the device copies from (rooms are NULL), and is the device's
 * ring itself where the host reaches that. Slab s is in room and buffer s mod ring. It may be started  when the kernel
 * of slab s - ring has been started, and its upload is done (its room is free), uploaded when it has come and the
 * kernel of slab s - ring has been started: the queue of copies waits for it, multiplied when it has been uploaded: the
 * queue of kernels waits for that. Nothing is allocated or freed in between. All of that is one loop of the PE's thread
 * (ring.c), which starts whatever may be started, in this order, and waits for the feed only when there is nothing else
 * to do.
 *
 * Cost of a product: max(transfer, compute) + first slab + last slab + S launches, see stream_model.c.
 */
#ifndef TULLE_STREAM_STREAM_H
#define TULLE_STREAM_STREAM_H

#include <tulle/stream.h>

#include "device/device.h"
#include "mat/mat.h"
#include "mat/rows.h"

enum { TULLE__STREAM_RING = 8 }; /* buffers at most */

/*
 * What slabs are made of. From here on rows, lines and entries mean block rows, their lines and blocks: in CSR blocks
 * are single entries.
 */
typedef struct tulle__stream_format {
    int packed; /* a copy in this format is kept; 0: CSR as it lies, or what the file is written in */
    int block, symmetric, index_bytes;
    int64_t span; /* symmetric: no block is more block columns right of the diagonal */
    tulle_type values;
} tulle__stream_format;

/* Arrays of a slab beside its row pointers. */
enum { TULLE__COLIND, TULLE__BASE, TULLE__VAL, TULLE__ARRAYS };

/* Rows that lie together: of a tile row of A, of a file, or of the packed rows. */
typedef struct tulle__row_range {
    int tile;          /* -1: of a file, or packed */
    int64_t row, rows; /* in the tile, or the file */
    int64_t line;      /* of Y on the device, and of `rowptr` */
    int64_t entry;     /* the first one, in the tile or the file */
} tulle__row_range;

typedef struct tulle__stream_slab {
    int piece;
    int64_t line, rows;
    int64_t entry, entries; /* in the tile, the file or the packed rows */
    size_t pointers;        /* bytes, where its row pointers begin in `pointers` */
} tulle__stream_slab;

typedef struct tulle__producer tulle__producer;

/* Where a slab's arrays are in host memory; those that the format lacks are anywhere. */
typedef struct tulle__arrived {
    const void *array[TULLE__ARRAYS];
} tulle__arrived;

typedef struct tulle__packed tulle__packed;

typedef struct tulle__producer_ops {
    /* Bytes of room for a slab, a multiple of 4096; 0: slabs are read where they are, and start is not called. */
    size_t (*room)(const tulle__producer *feed, int64_t entries);
    void (*start)(tulle__producer *feed, int slot, const tulle__stream_slab *slab, char *room);
    int (*ready)(tulle__producer *feed, int slot); /* 1: waiting takes no time; NULL: that is not known */
    tulle_status (*wait)(tulle__producer *feed, int slot, const tulle__stream_slab *slab, tulle__arrived *arrived);
    tulle_status (*check)(
        tulle__producer *feed); /* before and after a pass: what is read is what was opened; or NULL */
    void (*free)(tulle__producer *feed);
} tulle__producer_ops;

struct tulle__producer {
    const tulle__producer_ops *ops;
    struct tulle_stream *stream;
    int64_t read; /* bytes from elsewhere */
};

/* How slabs get onto the device. */
typedef enum tulle__stream_way {
    TULLE__WAY_IN_PLACE, /* kernels read them where they lie */
    TULLE__WAY_DIRECT,   /* the feed writes into the device's buffers */
    TULLE__WAY_COPIED,   /* they are copied from where they lie */
    TULLE__WAY_STAGED    /* the feed writes into rooms on the host, which are copied */
} tulle__stream_way;

struct tulle_stream {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_stream_options options;
    const tulle_mat *A; /* or NULL */
    tulle_mat *copy;    /* of A with one tile column, if it had several */
    tulle_rows *rows;   /* or NULL */
    tulle_gidx m, n;
    tulle_type type; /* of vectors */
    tulle__stream_format format;
    tulle_layout *layout;
    tulle_stream_plan plan;
    size_t left; /* bytes of memory for this PE when all had dealt their rows, and none had made its vectors */
    tulle__row_range *piece;
    int npieces;
    int64_t lines, entries; /* of this PE */
    int64_t nnz;            /* entries of A that they stand for, both halves */
    tulle_gidx first_row;   /* symmetric: of this PE's rows; columns of slabs count from there */
    int64_t tail;           /* symmetric: lines of Y behind them that they add to, not in blocks */
    tulle__packed *packed;  /* or NULL */
    tulle_mat *tails;       /* of all PEs, or NULL */
    tulle_gidx *tail_of;    /* [2 size] where each begins, its lines */
    int64_t *rowptr;        /* [lines + 1], entries counted through its pieces; NULL once slabs are cut */
    tulle__stream_slab *slab;
    int nslabs;
    char *pointers; /* row pointers of each slab from 0, as the device wants them */
    uint64_t structure;
    char *spec; /* of the device */

    tulle__device *device;
    tulle__producer *feed;
    tulle__device_queue *copies, *kernels;
    tulle__device_event *ready[TULLE__STREAM_RING], *used[TULLE__STREAM_RING];
    tulle__device_buffer *X, *Y;
    tulle__stream_way way;
    tulle__device_buffer **buffer;     /* [nbuffers]: of the ring, or one for each slab, or two if read in place */
    tulle__slab *there;                /* [nbuffers] the slab that lies in a buffer */
    tulle__device_buffer *workspaces;  /* that products want: of each slab that stays, or one for all */
    tulle__device_place *workspace;    /* [nbuffers] in it; without a buffer where none is wanted */
    tulle__device_prepared **prepared; /* [nbuffers] of a matrix that stays: for products of prepared_cols */
    tulle_gidx prepared_cols;
    tulle__device_event *ended; /* recorded when a queue is about to be waited for */
    int nbuffers;
    tulle__device_buffer *pointed; /* `pointers`, where the device reads them there; or NULL */
    char *room[TULLE__STREAM_RING];
    char *staged; /* host memory for X and Y that do not lie as the device wants them, made when needed */
    size_t staged_bytes;
    int loaded; /* resident, and there */
};

/* ---- producer.c, producer_rows.c, producer_packed.c: where slabs come from ---- */

tulle_status tulle__producer_new(struct tulle_stream *stream, tulle__producer **feed);
tulle_status tulle__producer_of_rows(struct tulle_stream *stream, tulle__producer **feed);
tulle_status tulle__producer_of_packed(struct tulle_stream *stream, tulle__producer **feed);

/* Counts what this PE's tiles of A, which are whole blocks, become: rowptr, lines, entries, one piece, tail. */
tulle_status tulle__packed_new(struct tulle_stream *stream);
void tulle__packed_free(tulle__packed *packed);

/* ---- format.c ---- */

/* Collective: the format that options ask for. */
tulle_status tulle__stream_choose_format(struct tulle_stream *stream);
const char *tulle__stream_format_text(const tulle__stream_format *format, char *text, size_t size);

/* ---- partition.c ---- */

/* Collective: layout, pieces and rowptr of this PE; for a format of blocks a copy of A may replace it. */
tulle_status tulle__stream_deal(struct tulle_stream *stream);

/* ---- cut.c ---- */

/* Bytes of an array of so many rows and entries. */
size_t tulle__array_bytes(const struct tulle_stream *stream, int array, int64_t rows, int64_t entries);
/* Bytes of entries and rows as they travel. */
size_t tulle__slab_bytes(const struct tulle_stream *stream, int64_t rows, int64_t entries);
/* How many copies bring a slab. */
int tulle__slab_copies(const struct tulle_stream *stream);
/* Share of slab s of `slabs` in the bytes: the first and the last are smaller. */
double tulle__slab_share(int s, int slabs);
/* Cuts all pieces into about so many slabs, a new stream->slab; in_tiles: each piece is one. */
tulle_status tulle__stream_cut(struct tulle_stream *stream, int slabs, int in_tiles);
/* The largest of its slabs, in bytes of a buffer, and of host room. */
size_t tulle__slab_largest(const struct tulle_stream *stream, size_t *room);
/* What a slab is, but for where its arrays are. */
tulle__slab tulle__slab_of(const struct tulle_stream *stream, int slab);
/* Columns of X that slabs do not count. */
tulle_gidx tulle__slab_columns_before(const struct tulle_stream *stream);
/* Bytes that products with slab k want beside it on the device, a multiple of 256. */
tulle_status tulle__slab_workspace(const struct tulle_stream *stream, int k, size_t *bytes);
/* The sum over all slabs, and the largest. */
tulle_status tulle__slab_workspaces(const struct tulle_stream *stream, size_t *sum, size_t *largest);
/* Row pointers of each slab, and rowptr is freed. */
tulle_status tulle__stream_point(struct tulle_stream *stream);
/* One of them, from 0 to the slab's entries. */
int64_t tulle__slab_pointer(const struct tulle_stream *stream, const tulle__stream_slab *slab, int64_t row);

/* Where arrays begin in a buffer that slabs are uploaded to. */
typedef struct tulle__slab_place {
    size_t array[TULLE__ARRAYS], bytes;
} tulle__slab_place;
tulle__slab_place tulle__slab_places(const struct tulle_stream *stream, int64_t rows, int64_t entries);

/* ---- stream_model.c ---- */

typedef struct tulle__stream_rates {
    double latency, bandwidth; /* of a copy: seconds, bytes a second */
    double kernel;             /* seconds a byte of a slab */
    double launch;             /* seconds a kernel */
    double read;               /* bytes a second of the feed; 0: it is memory */
} tulle__stream_rates;

/* Seconds of a product in that many slabs through a ring. */
double tulle__stream_predict(const struct tulle_stream *stream, const tulle__stream_rates *rates, int slabs, int ring);
/* Bytes of the device that slabs may take: what it has beside X and Y, and what the PE's memory allows. */
size_t tulle__stream_room(const struct tulle_stream *stream);
/* Decides about residence, slabs and ring; fills plan. rates: NULL if nothing can be measured. */
tulle_status tulle__stream_weigh(struct tulle_stream *stream, const tulle__stream_rates *rates);

/* ---- slab_benchmark.c ---- */

/* Measures the device, the feed and a kernel, with a few slabs of A. */
tulle_status tulle__stream_gauge(struct tulle_stream *stream, tulle__stream_rates *rates);

/* ---- ring.c ---- */

typedef struct tulle__stream_times {
    double loop, reading; /* seconds: from the first slab to the last; of them waiting for the feed */
} tulle__stream_times;

/* Everything that is allocated for products. */
tulle_status tulle__ring_make(struct tulle_stream *stream);
void tulle__ring_drop(struct tulle_stream *stream);
/* Host memory for row pointers and rooms. */
size_t tulle__ring_host_bytes(const struct tulle_stream *stream);
/* The product with the slab in buffer `in`, all columns or one by one. */
void tulle__ring_multiply(struct tulle_stream *stream, int in, tulle_gidx cols);
/* Starts the copies of an arrived slab into a buffer. */
void tulle__ring_upload(struct tulle_stream *stream, int slab, int in, const tulle__arrived *arrived);
/* Where the feed puts what goes to buffer `in`; NULL: nowhere. */
char *tulle__ring_room(const struct tulle_stream *stream, int in);
/* What was started in the queue is done: as its queue_wait, but others' transfers go on meanwhile. */
tulle_status tulle__ring_wait(struct tulle_stream *stream, tulle__device_queue *queue);
/* Y = A X for what lies on the device. */
tulle_status tulle__ring_pass(struct tulle_stream *stream, tulle_gidx cols, tulle__stream_times *times);

/* ---- x_and_y.c ---- */

/* Gathers X from all PEs onto the device; brings this PE's lines of Y to where they belong. */
tulle_status tulle__stream_gather(struct tulle_stream *stream, const tulle_mat *X);
tulle_status tulle__stream_deliver(struct tulle_stream *stream, tulle_mat *Y);
/* Lines of Y on the device: this PE's and its tail. */
int64_t tulle__stream_y_lines(const struct tulle_stream *stream);

/* ---- spill_rows.c: halves on several PEs ---- */

/* How long this PE's tail is, from its rows and the format's span. */
void tulle__spill_set(struct tulle_stream *stream);
/* Collective: where tails go to; nothing where none are needed. */
tulle_status tulle__spill_new(struct tulle_stream *stream);
/* Where this PE's tail goes, lines side by side; NULL: nowhere. */
void *tulle__spill_here(const struct tulle_stream *stream);
/* What other PEs' tails have for this one's lines of Y, once all of them are there. */
tulle_status tulle__spill_add(struct tulle_stream *stream, tulle_mat *Y);

#endif
