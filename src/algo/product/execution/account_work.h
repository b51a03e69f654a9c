/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work account of the local kernels of a product, for engines with virtual time, which make time of it. Each function
 * adds to the work that the engine has not received yet; nothing is counted where time is real.
 */
#ifndef TULLE_PRODUCT_ACCOUNT_WORK_H
#define TULLE_PRODUCT_ACCOUNT_WORK_H

#include "comm/comm.h"
#include "tile/tile_csr.h"

typedef struct tulle__work_account {
    tulle_comm *comm;
    tulle_type type;  /* of the matrices */
    tulle__work work; /* that the engine has not received */
} tulle__work_account;

/* As the format of A says. */
void tulle__work_chain(tulle__work_account *account, const tulle__chain_task *task);

/*
 * Memory: entries of A and C, and one of B a multiplication (paper section 4, as rows of B are
 * rarely met again soon); nnz: entries of C.
 */
void tulle__work_spgemm(tulle__work_account *account, const tulle__spgemm_task *task, int64_t nnz);

/* beta C */
void tulle__work_scale(tulle__work_account *account, const tulle_own_tile *C, double beta);
/* Bytes added to C, copied. */
void tulle__work_add(tulle__work_account *account, int64_t bytes);
void tulle__work_copy(tulle__work_account *account, int64_t bytes);

/* Ends a kernel (tulle__kernel_end) that has done all of that; returns the time. */
int64_t tulle__work_end(tulle__work_account *account);

#endif
