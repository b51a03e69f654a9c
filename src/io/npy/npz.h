/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse matrices in SciPy's .npz files (scipy.sparse.save_npz): a zip file of NumPy arrays, stored
 * or compressed. CSR, CSC, BSR and COO are read, with integer indices of any width and values as in
 * .npy files; CSR is written. Nothing here is collective: each PE opens the file and parses its
 * part of the entries, and the assembly checks the sums over all parts.
 *
 *   format        csr, csc, bsr, coo        shape     rows and columns
 *   data          values; of bsr blocks     indices, indptr (compressed ones); row, col or coords (coo)
 */
#ifndef TULLE_IO_NPZ_H
#define TULLE_IO_NPZ_H

#include "base/progress_meter.h"
#include "io/file/entries.h"
#include "io/file/gate.h"
#include "io/file/zip.h"

typedef enum tulle__npz_format { TULLE__NPZ_CSR, TULLE__NPZ_CSC, TULLE__NPZ_BSR, TULLE__NPZ_COO } tulle__npz_format;

typedef struct tulle__npz_header {
    tulle__npz_format format;
    int64_t rows, cols;
    int64_t stored;                 /* values in the file */
    int64_t block_rows, block_cols; /* of bsr, else 1 */
} tulle__npz_header;

typedef struct tulle__npz tulle__npz;

/* Checks all but the arrays' contents. */
tulle_status tulle__npz_open(const char *path, tulle__npz **npz);
void tulle__npz_close(tulle__npz *npz);
const tulle__npz_header *tulle__npz_head(const tulle__npz *npz);
const char *tulle__npz_format_name(tulle__npz_format format);

/* Starts the progress meter (NULL: none) for a reader of one part of n. */
void tulle__npz_watch(tulle__npz *npz, tulle__progress_meter *meter, int nparts);

/* Checksums of one part of the arrays that all parts share. */
enum { TULLE__NPZ_SHARED = 3 };
typedef struct tulle__npz_sums {
    tulle__zip_sum array[TULLE__NPZ_SHARED];
} tulle__npz_sums;

/*
 * Reads the entries of part `part` of `nparts`, in the order of the file. Initialises *entries,
 * which the caller finishes even after a failure.
 */
tulle_status tulle__npz_parse(
    tulle__npz *npz, int part, int nparts, tulle__gate *gate, tulle__entries *entries, tulle__npz_sums *sums);

/* Combines the checksums of all parts, in order, and compares them with the file's. */
tulle_status tulle__npz_check(const tulle__npz *npz, int nparts, const tulle__npz_sums *sums);

/* A sparse file to be written. */
typedef struct tulle__npz_sparse {
    int64_t rows, cols, count; /* of the matrix; entries */
    tulle_type type;
    bool coo; /* coordinates, else CSR */
} tulle__npz_sparse;

/*
 * Writes CSR or coordinates: entries by rows, and by columns within a row, exactly `count`. output.h describes
 * close and abort.
 */
typedef struct tulle__npz_writer tulle__npz_writer;
tulle_status tulle__npz_writer_open(const char *path, const tulle__npz_sparse *sparse, tulle__npz_writer **writer);
tulle_status tulle__npz_put(tulle__npz_writer *writer, int64_t row, int64_t col, const void *val);
tulle_status tulle__npz_writer_close(tulle__npz_writer *writer, tulle_status status);
void tulle__npz_writer_abort(tulle__npz_writer *writer);

#endif
