/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Storage formats of a sparse matrix outside its tiles, for streams (memory from which slabs are
 * copied) and files: the syntax ("bsr:b=3,half"), and what it means for a given matrix.
 */
#ifndef TULLE_MAT_BLOCK_FORMAT_H
#define TULLE_MAT_BLOCK_FORMAT_H

#include "kernel/pool.h"
#include "mat/blocks/blocks.h"

enum { TULLE__BLOCK_LARGEST = 64, TULLE__EITHER = -1 };

/* A parsed format: "auto", "csr" or "bsr", with b=, half, index=, values=. */
typedef struct tulle__block_wanted {
    int plain;       /* csr without options */
    int automatic;   /* "auto": the library chooses */
    int bare;        /* a name without options */
    int64_t block;   /* 0: chosen by the library */
    int half;        /* TULLE__EITHER: if the matrix is symmetric */
    int index_bytes; /* 0: 2 where possible */
    tulle_type values;
} tulle__block_wanted;

/* text NULL means "csr"; type is the matrix's. TULLE_ERR_ARG. */
tulle_status tulle__block_wanted_parse(const char *text, tulle_type type, tulle__block_wanted *wanted);

typedef struct tulle__block_choice {
    int block, half;
    int pays; /* auto: the format is much smaller than CSR; otherwise 1 */
} tulle__block_choice;

/* True if the choice depends on the matrix's entries. */
int tulle__block_needs_inspection(const tulle__block_wanted *wanted);

/* Adds the statistics of some rows, computed by the threads of a pool. Local. */
tulle_status tulle__block_inspect(tulle__pool *pool, const tulle__tile_row *rows, tulle__blocks_facts *facts);

/*
 * Decides how the m x n matrix A, of one tile column, is stored. Collective. half_of_entries: 0
 * forbids auto to store half of a matrix of single entries. A size of blocks that is given need not
 * divide A; one that is chosen does. TULLE_ERR_ARG for half of a matrix that is not symmetric bit by bit.
 */
tulle_status tulle__block_choose(
    const tulle_mat *A, const tulle__block_wanted *wanted, int half_of_entries, tulle__block_choice *choice);

/*
 * The same from the statistics of the whole matrix, which are ignored where no inspection is
 * needed. Local.
 */
tulle_status tulle__block_decide(tulle_gidx m, tulle_gidx n, const tulle__blocks_facts *facts,
    const tulle__block_wanted *wanted, int half_of_entries, tulle_type type, tulle__block_choice *choice);

#endif
