/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that nvcc compiles, as C calls them. Each call starts kernels in a stream and returns what the starts said.
 */
#ifndef TULLE_DEVICE_CUDA_CUDA_KERNELS_H
#define TULLE_DEVICE_CUDA_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Loads all kernels onto the current device, so that no launch does; whether there is code for it. `shared`: the most
 * shared memory that a block may ask for there. Each file of kernels has its own. */
cudaError_t tulle__cuda_load(size_t shared);
cudaError_t tulle__cuda_load_slab(void);
cudaError_t tulle__cuda_load_scan(void);
cudaError_t tulle__cuda_load_spgemm(size_t shared);
cudaError_t tulle__cuda_load_blocks(void);
cudaError_t tulle__cuda_load_spmm(void);
cudaError_t tulle__cuda_load_solve(void);
cudaError_t tulle__cuda_load_vectors(void);
cudaError_t tulle__cuda_load_tall(void);
cudaError_t tulle__cuda_load_columns(void);

/* ---- cuda_kernels.cu ---- */

/* Lines of `width` values, ld apart, times beta; 0 writes zeros. */
cudaError_t tulle__cuda_scale(
    cudaStream_t stream, int f64, int64_t lines, int64_t width, int64_t ld, double beta, void *Y);

/* ---- cuda_scan.cu ---- */

/*
 * data[i] becomes data[0] + .. + data[i - 1], of n numbers, none negative; *total is the sum of all. workspace: of
 * tulle__cuda_scan_room bytes, on the device as all of these.
 */
size_t tulle__cuda_scan_workspace(int64_t n);
cudaError_t tulle__cuda_scan(cudaStream_t stream, int64_t n, int32_t *data, int64_t *total, void *workspace);

/* ---- cuda_slab.cu ---- */

/* A slab with addresses of the device; f64: 1 of doubles. Y is given from its line 0 on. */
typedef struct tulle__cuda_slab {
    int f64, vectors_f64;
    int block, symmetric, index_bytes;
    int64_t first, m, n, cols, ldx, ldy;
    int64_t blocks, span; /* as those of tulle__slab */
    const int32_t *rowptr;
    const void *colind;
    const int32_t *base;
    const void *val, *X;
    void *Y;
    /* For a symmetric one, the blocks right of the diagonal by columns, counted from `first`. */
    const int32_t *mirror_ptr;
    const uint64_t *mirror; /* a row of the slab << 32 | the block */
} tulle__cuda_slab;

/* Any slab, sums in double: Y = A X, or of a symmetric one, which has been mirrored, Y += A X. */
cudaError_t tulle__cuda_multiply(cudaStream_t stream, const tulle__cuda_slab *slab);

/* Bytes for the blocks of a symmetric slab by columns; lists them in `workspace` and sets the slab's pointers to it. */
size_t tulle__cuda_mirror_workspace(const tulle__cuda_slab *slab);
void tulle__cuda_mirror_at(tulle__cuda_slab *slab, void *workspace);
cudaError_t tulle__cuda_mirror(cudaStream_t stream, tulle__cuda_slab *slab, void *workspace);

/* ---- cuda_vectors.cu: as tulle__device_dots and tulle__device_combine, with addresses of the device ---- */

enum { TULLE__CUDA_VECTORS = 32 };

typedef struct tulle__cuda_dots {
    int nx, ny;
    const void *x[TULLE__CUDA_VECTORS], *y[2];
    int64_t rows, first, block, stride;
    double *sums;
} tulle__cuda_dots;

typedef struct tulle__cuda_combine {
    int nx, ny;
    const void *x[TULLE__CUDA_VECTORS];
    void *y[2];
    double coef[2 * TULLE__CUDA_VECTORS], beta[2];
    int64_t rows;
} tulle__cuda_combine;

cudaError_t tulle__cuda_dots_start(cudaStream_t stream, const tulle__cuda_dots *D, int f64, int64_t pieces);
cudaError_t tulle__cuda_combine_start(cudaStream_t stream, const tulle__cuda_combine *C, int f64);

/* ---- cuda_tall.cu: as tulle__device_tsmttsm and tulle__device_tsmm, with addresses of the device ---- */

enum { TULLE__CUDA_TALL = 64, TULLE__CUDA_TERMS = 10 };

typedef struct tulle__cuda_tsmttsm {
    int m, n, symmetric;
    const void *X, *Y;
    int64_t ldx, ldy, rows, first, block, stride;
    double *sums;
} tulle__cuda_tsmttsm;

typedef struct tulle__cuda_tsmm {
    int add, nterms, n;
    int k[TULLE__CUDA_TERMS];
    const void *X[TULLE__CUDA_TERMS], *B[TULLE__CUDA_TERMS];
    int64_t ldx[TULLE__CUDA_TERMS];
    void *Y;
    int64_t ldy, rows;
} tulle__cuda_tsmm;

cudaError_t tulle__cuda_tsmttsm_start(cudaStream_t stream, const tulle__cuda_tsmttsm *G, int f64, int64_t pieces);
cudaError_t tulle__cuda_tsmm_start(cudaStream_t stream, const tulle__cuda_tsmm *S, int f64);

/* ---- cuda_solve.cu ---- */

enum { TULLE__CUDA_PES = 16 };

/* Arguments for a triangle that PEs solve together by PUSH (tulle__device_together). */
typedef struct tulle__cuda_push {
    const void *inverse; /* NULL: all pivots are 1 */
    const int32_t *first, *target, *stop;
    void *ghosts[TULLE__CUDA_PES];
} tulle__cuda_push;

/* A triangle with addresses of the device, and what it is solved for: as tulle__device_triangle has it. */
typedef struct tulle__cuda_triangle {
    int f64, upper, unit, head, tail;
    int64_t n, cols, ldb;
    const int32_t *rowptr, *colind;
    const void *val, *B;
    void *X;
    const int32_t *order, *group;                   /* as those of tulle__device_starts; order NULL: of solving */
    int64_t row, rows_end, first_group, groups_end; /* the stretch that is begun: positions, and groups */
    int64_t tickets;                                /* that were taken before */
    tulle__cuda_push push;                          /* of the part of a PE */
} tulle__cuda_triangle;

/* ticket: a word of the device. Before the first stretch; then each, which counts the tickets that it takes. */
cudaError_t tulle__cuda_solve_arm(cudaStream_t stream, const tulle__cuda_triangle *A, unsigned long long *ticket);
cudaError_t tulle__cuda_solve(cudaStream_t stream, tulle__cuda_triangle *A, int apart, unsigned long long *ticket);
/* The part of a PE, by kernels that take no more of the GPU than a share of 1 / sharers; armed before. */
cudaError_t tulle__cuda_solve_push(
    cudaStream_t stream, tulle__cuda_triangle *A, int processors, int sharers, unsigned long long *ticket);

/* ---- cuda_columns.cu: OWN_SUMS and ONE_SUM of tulle__device_together ---- */

typedef struct tulle__cuda_columns {
    int f64, one, rank, size;
    int64_t nown, cols;
    const int32_t *colptr, *rowind;
    const void *val, *inverse, *B;
    void *X;
    const int32_t *row, *line, *far, *stop;
    int32_t *left; /* entries of own lines in own columns that are not added yet */
    void *sum;
    void *sums[TULLE__CUDA_PES];
    int32_t *counts[TULLE__CUDA_PES];
} tulle__cuda_columns;

cudaError_t tulle__cuda_solve_columns(
    cudaStream_t stream, const tulle__cuda_columns *P, int processors, int sharers, unsigned long long *ticket);

/* ---- cuda_spmm.cu ---- */

enum { TULLE__CUDA_CHAIN = 16 };

typedef struct tulle__cuda_chain_pair {
    const int32_t *rowptr, *colind;
    const void *val, *B;
    int64_t b_row, b_col;     /* strides of B */
    uint32_t packed_row;      /* the start's: bytes from row to row */
    const int64_t *offset;    /* in blocks: where their values begin */
    const int64_t *col_block; /* in blocks: cuts of columns */
} tulle__cuda_chain_pair;

/* C = alpha sum_p A_p B_p + beta C, all A in CSR, or in blocks; C is row-major with lines ldc apart; beta = 0 does not
 * read it. */
typedef struct tulle__cuda_chain {
    tulle__cuda_chain_pair pair[TULLE__CUDA_CHAIN];
    int npairs, packed; /* packed: all B can be read by whole vectors of columns; set by the start */
    int64_t m, n, ldc;
    const int64_t *row_block; /* in blocks: cuts of rows, block_rows + 1; C begins at the row-th of these rows */
    int64_t block_rows, row;
    void *C;
    double alpha, beta;
} tulle__cuda_chain;

cudaError_t tulle__cuda_spmm(cudaStream_t stream, const tulle__cuda_chain *P, int f64);
cudaError_t tulle__cuda_spmm_blocks(cudaStream_t stream, const tulle__cuda_chain *P, int f64);

/* ---- cuda_spgemm.cu: steps of a product into a sparse tile, which cuda_product.c puts together ---- */

enum { TULLE__CUDA_PAIRS = 64, TULLE__CUDA_BINS = 7, TULLE__CUDA_LISTS = (TULLE__CUDA_BINS + 1) / 2 };

typedef struct tulle__cuda_pair {
    const int32_t *a_rowptr, *a_colind; /* NULL: A is the identity */
    const void *a_val;
    const int32_t *b_rowptr, *b_colind;
    const void *b_val;
    double scale;
} tulle__cuda_pair;

typedef struct tulle__cuda_product {
    tulle__cuda_pair pair[TULLE__CUDA_PAIRS];
    int64_t n;
    int npairs, f64;
} tulle__cuda_product;

/* Rows of C in bins by their size, count[b] of bin b, in TULLE__CUDA_LISTS lists of m. The first `tables` bins have
 * room in registers or tables in shared memory. */
typedef struct tulle__cuda_rows {
    int64_t m;
    int32_t *list, *count;
    int tables;
} tulle__cuda_rows;

/* Number of bins with such workspace where a block may have so many bytes of shared memory. */
int tulle__cuda_tables(size_t shared);

/* Rows in bins by a bound of their entries, with counts that were 0; all multiplications are added to the last. */
cudaError_t tulle__cuda_product_bound(cudaStream_t stream, const tulle__cuda_product *P, const tulle__cuda_rows *rows,
    unsigned long long *multiplications);
/* The same by the entries that C has. */
cudaError_t tulle__cuda_product_sort(cudaStream_t stream, const tulle__cuda_rows *rows, const int32_t *rowptr);
/* The entries of each row that is in a bin, into counts (colind is NULL); or their columns, ascending, into colind.
 * in_bin: what the host knows of the counts of bins. */
cudaError_t tulle__cuda_product_structure(cudaStream_t stream, const tulle__cuda_product *P,
    const tulle__cuda_rows *rows, const int32_t *in_bin, int32_t *counts, const int32_t *rowptr, int32_t *colind);
/* The values of a C whose structure is there. */
cudaError_t tulle__cuda_product_values(cudaStream_t stream, const tulle__cuda_product *P, const tulle__cuda_rows *rows,
    const int32_t *in_bin, const int32_t *rowptr, const int32_t *colind, void *val);

/* ---- cuda_blocks.cu: steps of a product of tiles in blocks, which cuda_block_product.c puts together ---- */

typedef struct tulle__cuda_block_pair {
    const int32_t *a_rowptr, *a_colind; /* NULL: A is the identity */
    const int64_t *a_offset, *inner;    /* inner: cuts of A's columns */
    const double *a_norm;
    const void *a_val;
    const int32_t *b_rowptr, *b_colind;
    const int64_t *b_offset;
    const double *b_norm;
    const void *b_val;
    double scale;
} tulle__cuda_block_pair;

typedef struct tulle__cuda_blocks {
    const tulle__cuda_block_pair *pair; /* on the device */
    int npairs;
    int64_t m, n;
    const int64_t *row_cut, *col_cut;
    const double *least;        /* NULL: no filter */
    const int32_t *pattern_ptr; /* NULL: none */
    const int32_t *pattern;     /* NULL: none */
    /* half: only blocks that a half stores; where C's first block is among all of a matrix (kernel/stored_half.h) */
    int half, half_shift;
    int64_t first_row, first_col;
} tulle__cuda_blocks;

typedef struct tulle__cuda_block_result {
    int64_t blocks;
    int32_t *rowptr, *values; /* of rows: counted, or where they begin */
    int32_t *colind;          /* NULL: to be counted */
    int64_t *offset;
    double *norm;
    void *val;
    unsigned long long *multiplications, *skipped; /* counts are added */
} tulle__cuda_block_result;

/* Counts the blocks and values of each row, or lists them; of at least one row. */
cudaError_t tulle__cuda_blocks_structure(
    cudaStream_t stream, const tulle__cuda_blocks *P, const tulle__cuda_block_result *C);
/* The values and norms of a C whose structure is there. rows, cols: of its largest block; fixed: all blocks of all
 * operands have that many of both. */
cudaError_t tulle__cuda_blocks_values(cudaStream_t stream, const tulle__cuda_blocks *P,
    const tulle__cuda_block_result *C, int f64, int64_t rows, int64_t cols, int fixed);

#ifdef __cplusplus
}
#endif

#endif
