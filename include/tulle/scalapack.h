/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and redistributions with ScaLAPACK's arguments, for programs that use ScaLAPACK and its
 * BLACS. Not part of tulle.h, nor of libtulle: link the library for your MPI's ScaLAPACK,
 * tulle_scalapack_openmpi or tulle_scalapack_mpich, and libtulle.
 *
 * The first call on a process grid opens a team of its processes, later ones find it, also by
 * another context of the same processes. Teams are freed by MPI_Finalize, or by
 * tulle_scalapack_free. The environment variable TULLE_SCALAPACK_TEAM is the spec of such a team
 * (default "mpi", see tulle/team.h), TULLE_SCALAPACK_MEMORY the memory that all its processes may use
 * for copies of operands together, such as 4G (default four fifths of what is available when it
 * opens); both must be equal in all processes. MPICH opens a team the faster, the less memory it has.
 */
#ifndef TULLE_SCALAPACK_H
#define TULLE_SCALAPACK_H

#include <tulle/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TULLE_PBLAS_API TULLE_API

/*
 * sub(C) = alpha op(sub(A)) op(sub(B)) + beta sub(C), as PDGEMM: op is A ('N') or its transpose ('T',
 * 'C'); sub(C) is the m x n part of C from row ic and column jc on, counted from 1; k is the inner
 * size; desca, descb, descc are descriptors of nine entries in one BLACS context. A, B, C are the
 * local arrays, column-major. With beta = 0 C is not read. Parts of one array are fine as long as C
 * has no element in common with A or B.
 *
 * Collective over the processes of the context's grid. Every process returns the same status;
 * TULLE_ERR_ARG, with the argument and the entry of the descriptor in the message, if one is wrong.
 * A process that is not in the grid returns TULLE_ERR_ARG at once.
 */
TULLE_PBLAS_API tulle_status tulle_pdgemm(char transa, char transb, int m, int n, int k, double alpha, const double *A,
    int ia, int ja, const int *desca, const double *B, int ib, int jb, const int *descb, double beta, double *C, int ic,
    int jc, const int *descc);
TULLE_PBLAS_API tulle_status tulle_psgemm(char transa, char transb, int m, int n, int k, float alpha, const float *A,
    int ia, int ja, const int *desca, const float *B, int ib, int jb, const int *descb, float beta, float *C, int ic,
    int jc, const int *descc);

/*
 * The same for Fortran: CALL TULLE_PDGEMM(TRANSA, TRANSB, M, N, K, ALPHA, A, IA, JA, DESCA, B, IB,
 * JB, DESCB, BETA, C, IC, JC, DESCC). A failure is printed, and ends the job like PXERBLA.
 */
TULLE_PBLAS_API void tulle_pdgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
    const double *alpha, const double *A, const int *ia, const int *ja, const int *desca, const double *B,
    const int *ib, const int *jb, const int *descb, const double *beta, double *C, const int *ic, const int *jc,
    const int *descc);
TULLE_PBLAS_API void tulle_psgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
    const float *alpha, const float *A, const int *ia, const int *ja, const int *desca, const float *B, const int *ib,
    const int *jb, const int *descb, const float *beta, float *C, const int *ic, const int *jc, const int *descc);

/*
 * sub(B) = sub(A), as PDGEMR2D: the m x n part of A from row ia and column ja on goes to that of B
 * from row ib and column jb on, whatever the blocks, sources and grids of both. desca and descb may
 * be of two contexts; a process outside of the grid of one gives -1 for entry 2 (CTXT_) of its
 * descriptor, which is read no further, and any pointer for its array. context is that of a grid
 * with all processes of both grids, each at any place.
 *
 * Collective over the processes of context's grid; statuses and messages as tulle_pdgemm's.
 * TULLE_ERR_ARG also if sub(A) and sub(B) have an element in common. See tulle_cyclic_redistribute in
 * tulle/cyclic.h for its cost.
 */
TULLE_PBLAS_API tulle_status tulle_pdgemr2d(int m, int n, const double *A, int ia, int ja, const int *desca, double *B,
    int ib, int jb, const int *descb, int context);
TULLE_PBLAS_API tulle_status tulle_psgemr2d(int m, int n, const float *A, int ia, int ja, const int *desca, float *B,
    int ib, int jb, const int *descb, int context);

/* The same for Fortran, as PDGEMR2D and PSGEMR2D. */
TULLE_PBLAS_API void tulle_pdgemr2d_(const int *m, const int *n, const double *A, const int *ia, const int *ja,
    const int *desca, double *B, const int *ib, const int *jb, const int *descb, const int *context);
TULLE_PBLAS_API void tulle_psgemr2d_(const int *m, const int *n, const float *A, const int *ia, const int *ja,
    const int *desca, float *B, const int *ib, const int *jb, const int *descb, const int *context);

/* Frees all teams, by all processes that made calls above. The next call opens one again. */
TULLE_PBLAS_API void tulle_scalapack_free(void);

#ifdef __cplusplus
}
#endif
#endif
