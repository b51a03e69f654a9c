/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input file of all rivals, little-endian: a header of 64 bytes (the magic "TULLECSR", int32 version 1, int32 type
 * 0 = f32 or 1 = f64, int64 m, n, nnz, the rest 0), int64 rowptr[m + 1], int32 colind[nnz], zeros up to a multiple of
 * 8, values[nnz]. Rows are in order, without repeats.
 */
#ifndef TULLE_BENCH_CSRFILE_H
#define TULLE_BENCH_CSRFILE_H

#include "rival.h"

/* Reads, converting values to f64 or f32. NULL, or what is wrong. Arrays are from malloc. */
const char *csrfile_read(const char *path, int f64, rival_csr *A);

const char *csrfile_write(const char *path, int f64, const rival_csr *A);

#endif
