/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices from files and generators, and into files. An operand is the name of a file or a generator's spec:
 *
 *   NAME.mtx, NAME.mtx.gz   Matrix Market: coordinate or array; real, integer or pattern; every symmetry
 *   -                       Matrix Market on standard input, which must be a regular file: the command makes it one
 *   NAME.npy                NumPy, dense
 *   NAME.npz                SciPy, sparse: CSR, CSC, COO or BSR, as scipy.sparse.save_npz writes them
 *   NAME.bsp.h5, NAME.h5    Binsparse over HDF5, sparse, also in blocks, or dense (DMATR, DMATC; DVEC is read as one
 *                           column)
 *   rmat:scale=17,...       a generator: see tulle_operand_generator
 *
 * Reading is collective: each PE parses its part. A malformed file is refused with its name, line, column and the
 * cause. Capitals in an ending mean the same as small letters.
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
    bool lenient;       /* accept blanks before a Matrix Market banner and words behind it */
    bool zero_based;    /* indices in the file begin at 0 */
    bool finite_only;   /* refuse nan and inf */
    bool drop_zeros;    /* leave stored zeros out */
    const char *assume; /* the banner of a file without one, such as "matrix coordinate real general" */
    tulle_duplicates duplicates;
} tulle_read_options;

typedef struct tulle_operand_shape {
    tulle_gidx m, n;
    int64_t stored;  /* entries in the file, an estimate for a generator; -1: unknown */
    bool dense;      /* an array */
    bool symmetric;  /* the file stores a half */
    bool skew;       /* of a matrix whose other half has the opposite signs */
    bool by_slabs;   /* tulle_operand_save writes it */
    char format[80]; /* "matrix market, coordinate, real, symmetric" */
} tulle_operand_shape;

/* Not collective: reads the header only. */
TULLE_API tulle_status tulle_operand_inspect(
    const char *operand, const tulle_read_options *options, tulle_operand_shape *shape);

/* Name and one sentence of generator i = 0, 1, ...; NULL past the last. */
TULLE_API const char *tulle_operand_generator(int i, const char **sentence);

/* Text of warnings of the last read, one a line: what was accepted but should be known. */
enum { TULLE_WARNINGS_MAX = 1024 };

/*
 * Collective. The operand as a CSR matrix, or a dense one (row-major), in the given layout (NULL: a tile of even rows a
 * PE). warnings, if not NULL, gets at most TULLE_WARNINGS_MAX bytes of text on every PE.
 */
TULLE_API tulle_status tulle_mat_load(tulle_comm *comm, const char *operand, const tulle_layout *layout,
    tulle_kind kind, const tulle_read_options *options, char *warnings, tulle_mat **A);

/*
 * Collective. Writes A in the format of the name's ending; CSR: .mtx, .mtx.gz, .npz, .bsp.h5; dense: .mtx and .mtx.gz
 * (array), .npy, .bsp.h5; TULLE_ERR_UNSUPPORTED for another. The file appears under its name when it is complete; after
 * a failure there is none, or the one that was there. "-" is standard output, as Matrix Market.
 */
TULLE_API tulle_status tulle_mat_save(const tulle_mat *A, const char *path);

/*
 * Collective. The same of a sparse A in a .bsp.h5 file of another format, which takes less room and is what a stream
 * (tulle/stream.h) then reads:
 *   "bsr:b=3"  blocks of 3 x 3 with one column index each, b up to 64; without b= of the size, 1 to 8, that takes
 *              fewest bytes. What the matrix does not have within a block is zero, and read again as such.
 *   "csr"      single entries, as tulle_mat_save; NULL means that, too
 *   "auto"     the one of these that takes fewest bytes
 * with `half`, of a symmetric matrix only what is on and right of the diagonal (auto: if it is symmetric), and
 * `values=f32`, values rounded. TULLE_ERR_ARG for a file with another ending, blocks that do not divide the matrix,
 * half of what is not symmetric bit by bit. A copy of A is made unless its tiles are whole rows of whole blocks.
 * Or, of any A, "general", "symmetric" or "skew-symmetric": what a Matrix Market file is to be. One that is not general
 * has one triangle only; TULLE_ERR_ARG if A is not such, bit by bit. Files of other formats hold all of A.
 */
TULLE_API tulle_status tulle_mat_save_as(const tulle_mat *A, const char *path, const char *format);

/*
 * Collective. The matrix of a generator into a .mtx, .mtx.gz, .npz or .bsp.h5 file as loading it and tulle_mat_save_as
 * would, but some rows at a time, which threads of PE 0 make: it need not fit in memory. Generators of which inspecting
 * says by_slabs (cantilevers); TULLE_ERR_UNSUPPORTED for others.
 */
TULLE_API tulle_status tulle_operand_save(
    tulle_comm *comm, const char *operand, tulle_type type, const char *path, const char *format);

/*
 * A sparse m x n matrix into a file piece by piece, for a result that does not fit in memory at once, such as that of
 * tulle_product_next: the file gets the entries of all matrices appended; no two of them may have an entry in the
 * same place. .mtx and .mtx.gz get them in that order, and their number, at the beginning, at the end, for which the
 * file must be a regular one. .npz and .bsp.h5 are CSR as tulle_mat_save writes it: until it is closed the entries lie
 * in a file beside it, so that there must be room for them twice. Another name is TULLE_ERR_UNSUPPORTED. All calls are
 * collective. A file that is not closed, as when its team is freed, leaves nothing behind.
 */
typedef struct tulle_writer tulle_writer;
TULLE_API tulle_status tulle_writer_open(
    tulle_comm *comm, const char *path, tulle_gidx m, tulle_gidx n, tulle_type type, tulle_writer **writer);
/* A: CSR, m x n, of the type given before. It stays the caller's. After a failure the file can only be closed. */
TULLE_API tulle_status tulle_writer_append(tulle_writer *writer, const tulle_mat *A);
/* Gives the complete file its name; TULLE_ERR_STATE, and no file, if a piece is missing. Frees the writer in any case.
 */
TULLE_API tulle_status tulle_writer_close(tulle_writer *writer);

/*
 * Local. Whether a file could be created or replaced under this name now: TULLE_OK, or TULLE_ERR_IO with the cause.
 * Nothing is changed or left behind. For outputs of work that takes long; it may still fail later.
 */
TULLE_API tulle_status tulle_output_try(const char *path);

/* Local. The same of what tulle_mat_save and tulle_writer_open write, "-" included: also the name's ending must suit.
 */
TULLE_API tulle_status tulle_output_try_matrix(const char *path, tulle_kind kind);

/* Local. TULLE_ERR_ARG if `path` is the same file as the operand, through links too: writing would replace it. */
TULLE_API tulle_status tulle_output_distinct(const char *path, const char *operand);

/* Local. A file of these bytes, which appears under its name when it is complete. */
TULLE_API tulle_status tulle_file_write(const char *path, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
