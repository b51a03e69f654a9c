/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_BENCH_PETSC_KRYLOV_H
#define TULLE_BENCH_PETSC_KRYLOV_H

/*
 * bench_petsc --op krylov --matrix FILE.csr --method cg|gmres --precond none|jacobi|ic0|ilu0 [--tol X] [--restart M]
 * [--max-iterations N]: A x = b with b of ones from x = 0, on one rank; prints one line of JSON. PETSc has been
 * initialised. Residuals are unpreconditioned, GMRES is preconditioned from the right, factors are not shifted and in
 * the natural order: what tulle solve does.
 */
int petsc_krylov(int argc, char **argv);

#endif
