/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sparse matrix is kept as, outside of its tiles: the words a user has for it ("bsr:b=3,half"), and what they
 * become for a given matrix. For streams (memory that slabs are copied from) and files.
 */
#ifndef TULLE_MAT_BLOCK_FORMAT_H
#define TULLE_MAT_BLOCK_FORMAT_H

#include "kernel/pool.h"
#include "mat/blocks/blocks.h"

enum { TULLE__BLOCK_LARGEST = 64, TULLE__EITHER = -1 };

/* "auto", "csr" or "bsr", with b=, half, index=, values=. */
typedef struct tulle__block_wanted {
    int plain;       /* csr alone */
    int chosen;      /* auto */
    int bare;        /* no more is said */
    int64_t block;   /* 0: what suits */
    int half;        /* TULLE__EITHER: if the matrix is symmetric */
    int index_bytes; /* 0: 2 where that does */
    tulle_type values;
} tulle__block_wanted;

/* text: NULL is "csr"; type: of the matrix. TULLE_ERR_ARG. */
tulle_status tulle__block_wanted_parse(const char *text, tulle_type type, tulle__block_wanted *wanted);

typedef struct tulle__block_choice {
    int block, half;
    int pays; /* auto: it takes much less than CSR; else 1 */
} tulle__block_choice;

/* Whether anything must be known of the matrix to choose. */
int tulle__block_must_look(const tulle__block_wanted *wanted);

/* Local: facts of some rows, found by the threads of a pool, joined to others'. */
tulle_status tulle__block_look(tulle__pool *pool, const tulle__tile_row *rows, tulle__blocks_facts *facts);

/*
 * Collective: what the m x n matrix A, of one tile column, is to become. half_of_entries: 0 if auto is not to keep
 * half of single entries. TULLE_ERR_ARG for half of what is not symmetric bit by bit, and blocks that do not divide A.
 */
tulle_status tulle__block_choose(
    const tulle_mat *A, const tulle__block_wanted *wanted, int half_of_entries, tulle__block_choice *choice);

/* The same from facts of all of the matrix, which need not be known where nothing must be; local. */
tulle_status tulle__block_settle(tulle_gidx m, tulle_gidx n, const tulle__blocks_facts *facts,
    const tulle__block_wanted *wanted, int half_of_entries, tulle_type type, tulle__block_choice *choice);

#endif
