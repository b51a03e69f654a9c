/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix Market files, plain, packed or in archives, read by N readers in N parts. Nothing here is collective:
 * every PE opens the file and parses its part; the assembly adds up the statistics and asks for the
 * verdict.
 *
 *   tulle__mtx_open            banner, comments, size line, and all refusals before memory is taken; of a
 *                              .csr file, which has none, a sweep over its entries
 *   tulle__mtx_parse           one part of a coordinate file -> entries as stored (the caller mirrors)
 *   tulle__mtx_array_count,    one part of an array file: the number of its numbers; then, with the
 *   tulle__mtx_array_parse       sum over the previous parts, the numbers
 *   tulle__mtx_stats_add       sums over parts
 *   tulle__mtx_check           the verdict on the whole: counts and symmetry
 *   tulle__mtx_warnings        harmless oddities
 *
 * Every message names file:line:column and the cause. Indices are zero-based from here on.
 */
#ifndef TULLE_IO_MTX_H
#define TULLE_IO_MTX_H

#include <stdint.h>

#include <tulle/types.h>

#include "base/progress_meter.h"
#include "io/file/entries.h"
#include "io/file/gate.h"
#include "io/file/tar.h"

typedef enum tulle__mtx_field { TULLE__MTX_REAL, TULLE__MTX_INTEGER, TULLE__MTX_PATTERN } tulle__mtx_field;
typedef enum tulle__mtx_symmetry { TULLE__MTX_GENERAL, TULLE__MTX_SYMMETRIC, TULLE__MTX_SKEW } tulle__mtx_symmetry;
typedef enum tulle__mtx_duplicates { TULLE__MTX_SUM, TULLE__MTX_ERROR, TULLE__MTX_LAST } tulle__mtx_duplicates;

typedef struct tulle__mtx_options {
    int lenient;        /* accept blanks before the banner and words behind it */
    int zero_based;     /* indices in the file begin at 0 */
    int finite_only;    /* refuse nan, inf and decimals beyond the largest number; else they are counted */
    int drop_zeros;     /* leave stored zeros out of the entries (they are counted) */
    const char *assume; /* "matrix coordinate real general": the banner of a file without one; NULL: refuse such */
    tulle__mtx_duplicates duplicates; /* for the assembly, which handles duplicates */
    /* for tests and measurements: */
    int careful;        /* use only the slow parser of single lines */
    int64_t block;      /* bytes a read, 0: default */
    const char *engine; /* that unpacks, NULL: the best */
    int no_thread;      /* unpack in the calling thread */
} tulle__mtx_options;

typedef struct tulle__mtx_header {
    int64_t rows, cols;
    int64_t stored; /* entries (lines) or, of an array, numbers in the file */
    int array;      /* numbers column by column, of a symmetric kind only the lower triangle */
    int vector;     /* object `vector`: one column, entries have one index */
    int hermitian;  /* with a real field: read as symmetric */
    int wide;       /* an index may need 64 bits */
    tulle__mtx_field field;
    tulle__mtx_symmetry symmetry;
    int packed;
    const char *packing; /* "gzip", "": none */
    int archive;         /* a member of a tar archive */
    int bare;            /* entries alone: no header */
    int64_t size_line;   /* line of the sizes */
    int64_t data;        /* (unpacked) offset of the first byte behind that line */
    char warnings[512];  /* from the header, one a line */
} tulle__mtx_header;

/* All are sums over parts. */
typedef struct tulle__mtx_stats {
    int64_t stored; /* entries, or numbers of an array, found */
    int64_t upper, lower, diagonal;
    int64_t zeros;
    int64_t dropped; /* zeros left out */
    tulle__value_counts values;
    int64_t pattern_values;   /* values ignored in a pattern file */
    int64_t blanks, comments; /* lines */
    int64_t bytes;            /* of text looked at */
} tulle__mtx_stats;

typedef struct tulle__mtx tulle__mtx;

/* options NULL: the defaults (all zero). */
tulle_status tulle__mtx_open(const char *path, const tulle__mtx_options *options, tulle__mtx **mtx);
void tulle__mtx_close(tulle__mtx *mtx);

/* True for the name of a file of entries alone: .csr. */
int tulle__mtx_is_bare(const char *path);

/* Names of the .mtx files beside the matrix of an archive, separated by ", "; "": none. */
tulle_status tulle__mtx_others(const tulle__mtx *mtx, char list[TULLE__TAR_LIST]);
const tulle__mtx_header *tulle__mtx_head(const tulle__mtx *mtx);

/*
 * Starts the progress meter (NULL: none): parsing advances it by the bytes of the file read. The
 * caller stops it.
 */
void tulle__mtx_watch(tulle__mtx *mtx, tulle__progress_meter *meter);
const char *tulle__mtx_path(const tulle__mtx *mtx);
/* The name of an archive's member without folders; "" for another file. */
const char *tulle__mtx_base(const tulle__mtx *mtx);
const char *tulle__mtx_field_name(tulle__mtx_field field);
const char *tulle__mtx_symmetry_name(tulle__mtx_symmetry symmetry);

/*
 * Parses the entries of part `part` of `nparts`, in the order of the file. Initialises *entries
 * (the caller finishes it, even after a failure) and *stats.
 */
tulle_status tulle__mtx_parse(
    tulle__mtx *mtx, int part, int nparts, tulle_type type, tulle__entries *entries, tulle__mtx_stats *stats);

/* The number of numbers in the part of an array file. */
tulle_status tulle__mtx_array_count(tulle__mtx *mtx, int part, int nparts, int64_t *numbers);

/*
 * Parses the numbers of a part, numbers first .. first + count - 1 of the file, into values[0 ..
 * count - 1] of type `type`; count is tulle__mtx_array_count's. tulle__mtx_array_place gives their
 * positions.
 */
tulle_status tulle__mtx_array_parse(tulle__mtx *mtx, int part, int nparts, int64_t first, int64_t count,
    tulle_type type, void *values, tulle__mtx_stats *stats);

/*
 * Row and column of number k of an array file: column by column, from the diagonal (skew: below it)
 * down.
 */
void tulle__mtx_array_place(const tulle__mtx_header *header, int64_t k, int64_t *row, int64_t *col);

void tulle__mtx_stats_add(tulle__mtx_stats *sum, const tulle__mtx_stats *part);

/* Checks the sums over all parts: too few or too many entries. */
tulle_status tulle__mtx_check(tulle__mtx *mtx, const tulle__mtx_stats *sum);

/* Writes the warnings, one a line, into text. */
void tulle__mtx_warnings(const tulle__mtx *mtx, const tulle__mtx_stats *sum, char *text, size_t size);

/*
 * The line of the occurrence-th (0: first) stored entry (row, col); 0 if there is none or reading
 * fails.
 */
int64_t tulle__mtx_locate(tulle__mtx *mtx, int64_t row, int64_t col, int64_t occurrence);

#endif
