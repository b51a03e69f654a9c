/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices from files and generators, and to files. An operand is the name of a file or a
 * generator's spec:
 *
 *   NAME.mtx, NAME.mtx.gz   Matrix Market: coordinate or array; real, integer or pattern; every
 *                           symmetry; also packed with bzip2, xz or zstd, where the build has these
 *   NAME.tar, NAME.tar.gz   an archive, packed or not: its matrix, NAME/NAME.mtx or the only .mtx file;
 *                           NAME.tar.gz/MEMBER is another member
 *   -                       standard input, which must be a regular file (the command makes it one)
 *   NAME.npy                NumPy, dense
 *   NAME.npz                SciPy, sparse: CSR, CSC, COO or BSR, as scipy.sparse.save_npz writes them
 *   NAME.petsc              PETSc's binary format: AIJ, dense or a vector (one column); of several objects
 *                           the first
 *   NAME.bsp.h5, NAME.h5    Binsparse over HDF5: sparse, also in blocks, or dense (DMATR, DMATC; DVEC
 *                           is one column)
 *   NAME.h5ad, NAME.h5      AnnData's X, or 10x Genomics' matrix with cells as rows, sparse;
 *                           NAME.h5ad:layers/counts is another group
 *   NAME.csr                CP2K's text (KS_CSR_WRITE): `row col value` a line, no header; square, of the
 *                           largest index; read_options.assume: another symmetry than general, or pattern,
 *                           for lists of edges; lines that begin with # or % are comments
 *   rmat:scale=17,...       a generator: see tulle_operand_generator
 *
 * Contents are looked at first: files that are recognised are read whatever their names, or refused with
 * what to do (TULLE_ERR_UNSUPPORTED); names decide about others.
 *
 * Reading is collective: each PE parses its part. A malformed file is refused with its name, line,
 * column and the cause. Endings are case-insensitive.
 */
#ifndef TULLE_IO_H
#define TULLE_IO_H

#include <stdbool.h>

#include <tulle/mat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tulle_read_options {
    size_t size; /* of this struct; 0: as in the first release */
    tulle_type type;
    bool lenient;       /* accept blanks before a Matrix Market banner and words after it */
    bool zero_based;    /* indices in the file begin at 0 */
    bool finite_only;   /* refuse nan and inf */
    bool drop_zeros;    /* omit stored zeros */
    const char *assume; /* the banner of a file without one, such as "matrix coordinate real general" */
    tulle_duplicates duplicates;
} tulle_read_options;

typedef struct tulle_operand_shape {
    tulle_gidx m, n;
    int64_t stored;  /* entries in the file, an estimate for a generator; -1: unknown */
    bool dense;      /* an array */
    bool symmetric;  /* the file stores one half */
    bool skew;       /* the other half has opposite signs */
    bool by_slabs;   /* tulle_operand_save can write it */
    char format[80]; /* "matrix market, coordinate, real, symmetric" */
    int block;       /* rows and columns of the dense blocks of which a generator makes it; 0: unknown */
} tulle_operand_shape;

/* Reads the header only. Not collective. */
TULLE_API tulle_status tulle_operand_inspect(
    const char *operand, const tulle_read_options *options, tulle_operand_shape *shape);

/* Name and one sentence of generator i = 0, 1, ...; NULL past the last. */
TULLE_API const char *tulle_operand_generator(int i, const char **sentence);

/*
 * Collective. Loads the operand as a CSR or a dense (row-major) matrix in the given layout (NULL:
 * one tile of even rows a PE). warnings, if not NULL, receives harmless oddities of the input, as
 * TULLE_WARNINGS_MAX says, on every PE.
 */
TULLE_API tulle_status tulle_mat_load(tulle_comm *comm, const char *operand, const tulle_layout *layout,
    tulle_kind kind, const tulle_read_options *options, char *warnings, tulle_mat **A);

/*
 * Collective. Writes A in the format of the name's ending. CSR: .mtx, .mtx.gz, .npz, .petsc,
 * .bsp.h5; dense: .mtx and .mtx.gz (array), .npy, .petsc, .bsp.h5; TULLE_ERR_UNSUPPORTED for others. The file
 * appears under its name when complete; after a failure there is none, or the previous one. "-" is
 * standard output, as Matrix Market.
 */
TULLE_API tulle_status tulle_mat_save(const tulle_mat *A, const char *path);

/*
 * Collective. Writes a sparse A to a .bsp.h5 file in a smaller format, which a stream
 * (tulle/stream.h) can read:
 *
 *   "bsr:b=3"  blocks of 3 x 3 with one column index each, b up to 64; without b= the size, 1 to 8,
 *              with the fewest bytes. Missing entries of a block are zeros, and are read as zeros.
 *   "csr"      single entries, as tulle_mat_save; NULL means this too
 *   "auto"     the format with the fewest bytes
 *
 * Options are `half`, the upper half of a symmetric matrix (auto: if it is symmetric), and
 * `values=f32`, rounded values. The last blocks of a matrix that is no multiple of the blocks
 * are padded with zeros, which are no part of it for any reader here. TULLE_ERR_ARG for a file with
 * another ending, and half of a matrix that is not symmetric bit by bit. A is copied unless its tiles
 * are whole rows of whole blocks.
 *
 * Or, for any A, "general", "symmetric" or "skew-symmetric": the symmetry of a Matrix Market file.
 * The latter two store one triangle; TULLE_ERR_ARG if A does not have the symmetry bit by bit.
 * Files of other formats hold all of A. Of a half (tulle/mat.h) NULL, and tulle_mat_save, mean its symmetry.
 */
TULLE_API tulle_status tulle_mat_save_as(const tulle_mat *A, const char *path, const char *format);

/*
 * Collective. Writes the matrix of a generator to a .mtx, .mtx.gz, .npz, .petsc or .bsp.h5 file, like
 * loading it and tulle_mat_save_as, but some rows at a time, generated by threads of PE 0: the
 * matrix need not fit in memory. For generators with by_slabs in their inspection (cantilevers);
 * TULLE_ERR_UNSUPPORTED for others.
 */
TULLE_API tulle_status tulle_operand_save(
    tulle_comm *comm, const char *operand, tulle_type type, const char *path, const char *format);

/*
 * Writes a sparse m x n matrix piece by piece, for a result that does not fit in memory at once,
 * such as that of tulle_product_next. The file contains the entries of all appended matrices, no
 * two of which may share a position. In .mtx and .mtx.gz they are in that order; their number, at
 * the beginning, is written at the end, so the file must be a regular one. .npz, .petsc and .bsp.h5 are CSR
 * as tulle_mat_save writes it; until the writer is closed the entries are in a file beside the
 * output, so the disk must hold them twice. Other names are TULLE_ERR_UNSUPPORTED. All calls are
 * collective. A writer that is never closed, as when its team is freed, leaves no file.
 */
typedef struct tulle_writer tulle_writer;
TULLE_API tulle_status tulle_writer_open(
    tulle_comm *comm, const char *path, tulle_gidx m, tulle_gidx n, tulle_type type, tulle_writer **writer);
/*
 * A: sparse, in any format, m x n, of the writer's type, the caller's; elements of blocks that are 0 are
 * no entries, and of a half all entries are written. After a failure the writer can only be closed.
 */
TULLE_API tulle_status tulle_writer_append(tulle_writer *writer, const tulle_mat *A);
/*
 * Completes the file under its name; TULLE_ERR_STATE, and no file, if a piece is missing. Frees the
 * writer in any case.
 */
TULLE_API tulle_status tulle_writer_close(tulle_writer *writer);

/*
 * Local. Whether a file could be created or replaced under this name now: TULLE_OK, or TULLE_ERR_IO
 * with the cause. Nothing is changed. For outputs of long work, which may still fail later.
 */
TULLE_API tulle_status tulle_output_try(const char *path);

/*
 * Local. The same for what tulle_mat_save and tulle_writer_open write, "-" included; the name's
 * ending must suit too.
 */
TULLE_API tulle_status tulle_output_try_matrix(const char *path, tulle_kind kind);

/*
 * Local. TULLE_ERR_ARG if `path` is the same file as the operand, also through links: writing would
 * replace it.
 */
TULLE_API tulle_status tulle_output_distinct(const char *path, const char *operand);

/* Local. Writes a file of these bytes, which appears under its name when complete. */
TULLE_API tulle_status tulle_file_write(const char *path, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
