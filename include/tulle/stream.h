/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products Y = A X with a sparse A that is transferred in slabs while others are multiplied: for
 * matrices larger than the memory of the device that multiplies. X and Y, of one or several
 * columns, stay on the device; slabs of A, whole rows with about equal numbers of bytes, go through
 * a ring of two or three buffers there. Each PE streams its own rows through its own device and
 * gathers X. A matrix that fits is uploaded once and stays resident.
 *
 * After "hiding communication behind SpMV" (the paper of streaming), with one product of all
 * columns a slab instead of one for each, smaller first and last slabs, and a number of slabs
 * chosen by a model of measured times.
 */
#ifndef TULLE_STREAM_H
#define TULLE_STREAM_H

#include <stdbool.h>

#include <tulle/device.h>
#include <tulle/krylov.h>
#include <tulle/report.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_stream tulle_stream;

/*
 * A sparse matrix in a file that is read row by row: Binsparse with f32 or f64 values, 32-bit column indices and
 * contiguous data sets: CSR, or blocks, of the whole matrix or of the upper half of a symmetric one (tulle_mat_save_as;
 * `tulle convert FILE NAME.bsp.h5 --format auto` writes one). Reads bypass the page cache (O_DIRECT) where the file
 * system allows it. Also sparse rows of AnnData and 10x Genomics, and data sets in chunks, packed, of 64-bit indices or
 * of integers: HDF5 unpacks them in each sweep. Collective.
 */
typedef struct tulle_rows tulle_rows;
TULLE_API tulle_status tulle_rows_open(tulle_comm *comm, const char *path, tulle_rows **rows);
TULLE_API void tulle_rows_free(tulle_rows *rows); /* NULL is allowed (on all PEs) */
/* Not collective. */
TULLE_API tulle_gidx tulle_rows_count(const tulle_rows *rows);
TULLE_API tulle_gidx tulle_rows_cols(const tulle_rows *rows);
/*
 * Entries of the matrix, both halves. If the file of a half does not say: assumes a full diagonal.
 */
TULLE_API int64_t tulle_rows_nnz(const tulle_rows *rows);
TULLE_API tulle_type tulle_rows_type(const tulle_rows *rows);
/*
 * Sets the type of the vectors of later streams, and of diagonals; initially that of the values.
 * f64 over f32 values halves the bytes read, while sums stay exact. The same on all PEs.
 * TULLE_ERR_ARG for f32 over f64 values.
 */
TULLE_API tulle_status tulle_rows_set_type(tulle_rows *rows, tulle_type type);
/*
 * Refuses from now on what a stream or a diagonal reads that is not finite, with its row: the
 * finite_only of tulle_read_options. The same on all PEs.
 */
TULLE_API tulle_status tulle_rows_set_finite(tulle_rows *rows, bool finite);
/*
 * Collective. Warnings about the stored values, nan or inf, that products by streams of `rows` have
 * read so far, each counted once; "" if there are none. On every PE, TULLE_WARNINGS_MAX bytes.
 */
TULLE_API tulle_status tulle_rows_warnings(tulle_rows *rows, char *warnings);
/* The access mode: "by O_DIRECT", "through the page cache, as O_DIRECT is refused here (...)". */
TULLE_API const char *tulle_rows_mode(const tulle_rows *rows);

/*
 * Collective, for a square matrix, in one sweep: D holds the entries within diagonal blocks of so
 * many rows, which begin at multiples of the block; 1: the diagonal. tulle_precond_new makes a
 * (block) Jacobi preconditioner of D. Rows are distributed evenly. D is the caller's.
 */
TULLE_API tulle_status tulle_rows_diagonal(tulle_rows *rows, int block, tulle_mat **D);

typedef struct tulle_stream_options {
    size_t size;           /* of this struct; 0: as in the first release */
    const char *device;    /* a spec of tulle/device.h; NULL: "cpu" */
    tulle_gidx cols;       /* most columns of X in a product; 0: 1 */
    int slabs;             /* slabs of a PE; 0: chosen by the model, or resident if the matrix fits */
    int ring;              /* buffers: 2 or more, or 1 with no_overlap; 0: 3, or fewer if only they fit */
    bool no_overlap;       /* a slab is transferred only after the previous one was multiplied, for comparison */
    bool column_by_column; /* a separate product for each column and slab, as in the paper */
    bool rebalance;        /* rows are redistributed by entries; PEs get slabs from the PEs that hold the matrix */
    size_t memory;         /* most bytes of the device that a PE may use; 0: all */
    size_t reserve; /* bytes of the PE's memory to leave for others, such as a Krylov method (tulle_krylov_memory) */
    /*
     * The format of slabs. NULL, "csr": A in place. Other formats copy the rows to host memory,
     * distributed so that no block is cut, with the values at the time when the stream is made:
     *   "bsr:b=3"  blocks of 3 x 3 with one column index each; without b= the size, 1 to 8, with the
     *              fewest bytes
     *   "csr:..."  single entries
     *   "auto"     the format with the fewest bytes, or A's own
     *
     * Options are `half`, the upper half of a symmetric matrix (auto: if it is symmetric and that
     * pays, which it does not for single entries in place and many columns); `index=2` or 4, bytes
     * of a column index (default: 2 if no row extends over more than 65535 block columns);
     * `values=f32`, rounded values, with vectors and sums unchanged. The order of sums in a half
     * follows from the slabs. A file streams in its own format: everything but NULL, "csr" and
     * "auto" is TULLE_ERR_UNSUPPORTED for it.
     */
    const char *format;
} tulle_stream_options;

/*
 * The plan of a PE, decided when the stream is made. Seconds are the model's, for one product; 0:
 * nothing was measured.
 */
typedef struct tulle_stream_plan {
    char device[128];
    char format[48];
    bool resident; /* its rows stay on the device */
    bool in_place; /* and are read in place */
    int slabs, ring;
    size_t capacity;       /* of the device, or the limit */
    size_t matrix;         /* bytes of its rows in transit */
    size_t first, largest; /* of slabs */
    size_t vectors;        /* X and Y */
    size_t device_bytes;   /* total use of the device */
    size_t host_bytes;     /* row pointers and staging */
    double bandwidth;      /* of the link, bytes a second */
    double latency;        /* seconds, of a copy */
    double read_bandwidth; /* of the source of slabs; 0: memory of this process */
    double transfer, compute;
    double seconds;
} tulle_stream_plan;

typedef struct tulle_stream_report {
    double seconds;           /* the slowest PE */
    tulle_imbalance transfer; /* copies of slabs to the device: time that the link was busy */
    tulle_imbalance compute;  /* time that kernels ran */
    tulle_imbalance loop;     /* from the first slab to the last */
    tulle_imbalance vectors;  /* gathering and uploading X, reading Y back */
    tulle_imbalance reading;  /* waiting for slabs from a file or another PE */
    double overlap;           /* mean of (transfer + compute - loop) / the smaller of both; 0 without copies */
    int64_t bytes;            /* of slabs, to all devices */
    int64_t read;             /* of slabs, from files or other PEs */
    int64_t slabs;            /* of all PEs */
    int64_t flops;            /* 2 an entry and column */
    int refused;              /* bits of tulle_refused (tulle/report.h), so far */
} tulle_stream_report;

/*
 * Collective. A is sparse and the caller's, must outlive the stream and keep its structure; the
 * next product sees new values, unless rows are resident or in another format. A matrix with
 * several tile columns is copied. options may be NULL. TULLE_ERR_ARG for an unsuitable format, as
 * half of an unsymmetric matrix; blocks need not divide A. TULLE_ERR_LIMIT, with the figures, if a
 * slab of one row for each buffer of the ring does not fit beside X and Y; TULLE_ERR_UNSUPPORTED for
 * an unavailable device, or one in real time if the engine's time is virtual.
 */
TULLE_API tulle_status tulle_stream_new(const tulle_mat *A, const tulle_stream_options *options, tulle_stream **stream);
/* Collective: the same for a matrix in a file; rows are distributed by entries. */
TULLE_API tulle_status tulle_stream_of_rows(
    tulle_rows *rows, const tulle_stream_options *options, tulle_stream **stream);
/* Collective; NULL is allowed (on all PEs). A stream is freed with its team at the latest. */
TULLE_API void tulle_stream_free(tulle_stream *stream);

/*
 * Not collective: the plan of this PE; and the distribution of rows, as a layout of one column, for
 * Y.
 */
TULLE_API const tulle_stream_plan *tulle_stream_planned(const tulle_stream *stream);
TULLE_API const tulle_layout *tulle_stream_layout(const tulle_stream *stream);
/* Not collective: prints the plan into text, in one or two lines. Returns text. */
TULLE_API const char *tulle_stream_describe(const tulle_stream_plan *plan, char *text, size_t size);

/*
 * Collective: Y = A X. X is dense in any layout, Y dense, row-major, with the rows and owners of
 * tulle_stream_layout and one tile column; both have A's type and at most options.cols columns. No
 * PE may change X before all PEs have returned. Except for halves, the order of a row's sum does
 * not depend on the slabs. TULLE_ERR_IO if a file was shortened, altered or removed since it was
 * opened, TULLE_ERR_FORMAT if columns are not where the file says; Y is then undefined. The stream
 * can be used again after any failure.
 */
TULLE_API tulle_status tulle_stream_multiply(
    tulle_stream *stream, const tulle_mat *X, tulle_mat *Y, tulle_stream_report *report);

/*
 * Collective: the check of tulle_product_check_matrices for Y = A X, and that of tulle_krylov_check
 * for a solve, by plain loops over the matrix where it is: a file is read again, a few megabytes at a
 * time. Values are those that the stream holds, of f32 where its format rounds them.
 */
TULLE_API tulle_status tulle_stream_check(tulle_stream *stream, const tulle_mat *X, const tulle_mat *Y, double *error);
TULLE_API tulle_status tulle_stream_check_solve(
    tulle_stream *stream, const tulle_mat *B, const tulle_mat *X, const tulle_krylov_options *options, double *error);

/*
 * Collective: a square stream as an operator (tulle/krylov.h), for at most options.cols columns:
 * block CG takes no more at a time. The stream is the caller's and must outlive it. TULLE_ERR_ARG
 * if a PE has rows in several places.
 */
TULLE_API tulle_status tulle_operator_of_stream(tulle_stream *stream, tulle_operator *op);

#ifdef __cplusplus
}
#endif
#endif
