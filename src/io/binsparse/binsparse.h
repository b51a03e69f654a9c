/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binsparse over HDF5: sparse and dense matrices in a binary format that other libraries read too. Sparse matrices of
 * AnnData and 10x Genomics are read as if they were Binsparse.
 * Read are the formats CSR, CSC, DCSR, DCSC, COO (COOR, COOC), DMAT (DMATR, DMATC) and DVEC, all integer
 * index types, real values, `iso` values, and symmetric and skew-symmetric structures. Complex
 * values are refused by name, and so are custom formats other than the following.
 *
 * A matrix in blocks (BSR) is a four-dimensional tensor, block rows x block columns x block x
 * block, with levels dense, sparse, dense of rank 2, element; any reader of custom formats can read
 * it. An object "tulle" beside `binsparse` says that it stands for a matrix: {"blocks": b, "half":
 * true or false, "nnz": n, "span": s}. The half of a symmetric matrix omits blocks below the
 * diagonal, and stores diagonal blocks in full. A matrix that is no multiple of the blocks also has
 * "rows": m and "columns": n there; what its last blocks have beyond is zero. nnz is the number of entries of the whole
 * matrix, without the zeros that fill blocks. span is the largest distance of a block from the diagonal, in block
 * columns. nnz and span are optional, and a CSR file may have them too.
 *
 * open reads everything except the arrays through HDF5, then closes the file there. A contiguous
 * data set is read by offset, by any number of PEs at once; others (chunked, compressed) go through
 * HDF5, one thread at a time. All data are checked on arrival (pointers ascend, indices are in
 * range), and messages name the data set. Nothing is collective. Without HDF5 or cJSON in the build
 * everything is TULLE_ERR_UNSUPPORTED.
 */
#ifndef TULLE_IO_BINSPARSE_H
#define TULLE_IO_BINSPARSE_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"
#include "io/binsparse/hdf5_file.h"
#include "io/file/entries.h"
#include "io/file/gate.h"

typedef enum tulle__binsparse_format {
    TULLE__BINSPARSE_CSR,
    TULLE__BINSPARSE_CSC,
    TULLE__BINSPARSE_DCSR, /* rows with entries alone, which indices_0 name */
    TULLE__BINSPARSE_DCSC, /* the same of columns */
    TULLE__BINSPARSE_BSR,  /* compressed formats end here */
    TULLE__BINSPARSE_COOR, /* sorted by rows */
    TULLE__BINSPARSE_COOC, /* sorted by columns: indices_0 are columns */
    TULLE__BINSPARSE_DMATR,
    TULLE__BINSPARSE_DMATC,
} tulle__binsparse_format;

typedef enum tulle__binsparse_structure {
    TULLE__BINSPARSE_GENERAL,
    TULLE__BINSPARSE_SYMMETRIC_LOWER,
    TULLE__BINSPARSE_SYMMETRIC_UPPER,
    TULLE__BINSPARSE_SKEW_LOWER,
    TULLE__BINSPARSE_SKEW_UPPER,
} tulle__binsparse_structure;

typedef struct tulle__binsparse_header {
    int64_t rows, cols, stored; /* of the matrix; values */
    int64_t count;              /* BSR: blocks, else = stored */
    int block;                  /* rows and columns of a block: 1 but for BSR */
    int64_t nnz, span;          /* -1: absent */
    tulle__binsparse_format format;
    tulle__binsparse_structure structure;
    int iso;                  /* one value for all entries */
    const char *const *names; /* of the data sets */
    tulle__binsparse_array array[TULLE__BINSPARSE_ARRAYS];
} tulle__binsparse_header;

typedef struct tulle__binsparse tulle__binsparse;

/*
 * Also of a file that other libraries write: tulle__hdf5_examine. operand: a path, or path:GROUP, a path inside the
 * file (tulle__binsparse_path); group NULL: that, or the root.
 */
tulle_status tulle__binsparse_open(const char *operand, const char *group, tulle__binsparse **file);

/* Characters of the path in path:GROUP, NAME.h5ad or NAME.h5; 0: the operand is none. */
size_t tulle__binsparse_path(const char *operand);
void tulle__binsparse_close(tulle__binsparse *file);
const tulle__binsparse_header *tulle__binsparse_head(const tulle__binsparse *file);

/*
 * Starts the progress meter (NULL: none) for a reader of `values` values; reads advance it, in
 * bytes of the file.
 */
void tulle__binsparse_watch(tulle__binsparse *file, tulle__progress_meter *meter, int64_t values);

/* Pointers first .. first + count - 1, ascending from 0 to `count` of the header. */
tulle_status tulle__binsparse_read_pointers(tulle__binsparse *file, int64_t first, int64_t count, int64_t *to);

/* Indices first .. first + count - 1 of one of the two lists, each in [0, limit). */
tulle_status tulle__binsparse_read_indices(
    tulle__binsparse *file, tulle__binsparse_which which, int64_t first, int64_t count, int64_t limit, int64_t *to);

/* Values first .. first + count - 1, of a dense matrix in the file's order; their positions pass no gate. */
tulle_status tulle__binsparse_read_values(
    tulle__binsparse *file, tulle__gate *gate, int64_t first, int64_t count, double *to);

/*
 * Reads rows row .. row + rows - 1 of columns col .. col + cols - 1 of a dense matrix into `to`,
 * with leading dimension ld. The rectangle must lie within the matrix.
 */
tulle_status tulle__binsparse_read_block(tulle__binsparse *file, tulle__gate *gate, int64_t row, int64_t rows,
    int64_t col, int64_t cols, tulle_order order, int64_t ld, void *to);

/*
 * Reads the part-th of nparts equal shares of the stored entries, without mirroring, which is the
 * caller's. Blocks include the zeros that fill them; diagonal blocks of a half omit their lower
 * triangle. Initialises *entries, which the caller finishes even after a failure.
 */
tulle_status tulle__binsparse_parse(
    tulle__binsparse *file, int part, int nparts, tulle__gate *gate, tulle__entries *entries);

/*
 * Writer of a CSR, COO, BSR or dense file. The sizes are fixed at the start, so parts may be written in
 * any order; output.h describes close and abort. A dense file, DMATR or DMATC by `order`, has
 * values only.
 */
typedef struct tulle__binsparse_sparse {
    int64_t rows, cols, count; /* of the matrix; entries, or blocks */
    tulle_type type;
    int wide; /* indices of 64 bits, else 32; pointers always have 64 */
    tulle__binsparse_structure structure;
    int block;         /* BSR: its rows; 0: CSR, or coordinates */
    bool coo;          /* coordinates, by rows, with indices of 64 bits: written by put */
    int64_t nnz, span; /* of a half or of blocks, as in the header */
} tulle__binsparse_sparse;

typedef struct tulle__binsparse_writer tulle__binsparse_writer;
/* True if this build can write such files, checked before the work. */
tulle_status tulle__binsparse_can_write(const char *path);
tulle_status tulle__binsparse_writer_open(
    const char *path, const tulle__binsparse_sparse *sparse, tulle__binsparse_writer **writer);
tulle_status tulle__binsparse_writer_open_dense(
    const char *path, int64_t rows, int64_t cols, tulle_type type, tulle_order order, tulle__binsparse_writer **writer);
tulle_status tulle__binsparse_write_pointers(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int64_t *pointers);
tulle_status tulle__binsparse_write_indices(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int64_t *indices);
/* The same for a file with 32-bit indices. */
tulle_status tulle__binsparse_write_columns(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const int32_t *columns);
tulle_status tulle__binsparse_write_values(
    tulle__binsparse_writer *writer, int64_t first, int64_t count, const void *values);
/*
 * Writes a CSR or COO file entry by entry, row by row in order; buffered. put_end follows the last entry.
 */
tulle_status tulle__binsparse_put(tulle__binsparse_writer *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__binsparse_put_end(tulle__binsparse_writer *writer);
tulle_status tulle__binsparse_writer_close(tulle__binsparse_writer *writer, tulle_status status);
void tulle__binsparse_writer_abort(tulle__binsparse_writer *writer);

#endif
