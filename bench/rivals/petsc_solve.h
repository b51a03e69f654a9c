/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_BENCH_PETSC_SOLVE_H
#define TULLE_BENCH_PETSC_SOLVE_H

/*
 * bench_petsc --op solve --matrix FILE.csr --method cg|gmres --precond none|jacobi|ic0|ilu0 [--tol X] [--restart M]
 * [--max-iterations N]: A x = b with b of ones from x = 0, on one rank; prints one line of JSON. PETSc has been
 * initialised. Residuals are unpreconditioned, GMRES is preconditioned from the right, factors are not shifted and in
 * the natural order: what tulle solve does.
 */
int petsc_solve(int argc, char **argv);

#endif
