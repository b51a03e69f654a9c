/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a plan for eigenpairs. */
#ifndef TULLE_SPECTRUM_PLAN_H
#define TULLE_SPECTRUM_PLAN_H

#include <tulle/spectrum.h>

#include "algo/krylov/krylov.h"
#include "algo/spectrum/basis.h"
#include "algo/spectrum/chebyshev.h"
#include "algo/spectrum/pencil.h"

/* The order of a projected matrix, whose work space LAPACK counts in int: 1 + 6 n + 2 n^2. */
enum { TULLE__BASIS_MOST = 32766 };

struct tulle_spectrum {
    tulle__owned owned;
    tulle_comm *comm;
    tulle_operator op; /* the caller's */
    const tulle_operator *A;
    tulle__chebyshev filter;
    bool apart;                     /* a second plan, by tulle__pencil_apart */
    tulle__pencil *pencil;          /* A is one's transformed operator; NULL: the caller's */
    tulle_spectrum_options options; /* with defaults */
    tulle__basis basis;
    int most;              /* directions before a restart; the basis has room for a block more */
    tulle__vector in, out; /* block columns each: out = A in */
    void *bound;
    double *T;                         /* [most + block]^2, column-major: V^T A V */
    double *work, *U, *theta;          /* the same for T's copy; its eigenvectors and eigenvalues */
    int *order;                        /* [most + block]: of theta, the wanted ones first */
    double (*H)[TULLE__TALL_MOST];     /* V^T A W */
    double (*share)[TULLE__TALL_MOST]; /* A W = V H + Q share */
    double *wanted;                    /* [count]: values of what is locked, or found */
    tulle__pair *pair;                 /* [count]: what is found in the end */
    int locked;                        /* first columns of V that stay as they are, without the rest of T */
    int found;                         /* pairs, in the end */
    int tied;                          /* V's columns before the last block, which A's product with it has parts of */
    int solved, width;                 /* order of T's last decomposition; columns of its last block */
    double norm;                       /* the largest |theta| or |h| so far */
    double noise;   /* A = S^T S, of which S x has this rounding however small it is: beside the squares of A's norm */
    double dropped; /* the Frobenius norm of D, A V = V T + Q R + D: directions dropped since a probe's beginning */
    double worst;   /* the largest residual over its limit */
    double least;   /* the smallest of these at restarts, */
    int stuck;      /* and restarts since */
    double missed;  /* the chance that there is a better pair; 1: unknown */
    int converged;
    void (*last_pass)(void *arg, int at); /* called before a last pass of columns from `at` on; NULL: none */
    void *last_arg;
    uint64_t stream; /* of random directions */
    int64_t allowed; /* passes, max_passes of the options or fewer */
    int64_t passes, columns, restarts, probes, begun, product_ns;
};

/* The defaults of options, for n rows, an operator of at most `cols` columns, 0: any, and so many PEs. */
void tulle__spectrum_defaults(tulle_spectrum_options *options, tulle_gidx n, tulle_type type, tulle_gidx cols, int pes);

/* Refuses options, with defaults, for n rows and an operator of at most `cols` columns, 0: any. */
tulle_status tulle__spectrum_check(const tulle_spectrum_options *options, tulle_gidx n, tulle_gidx cols);

static inline double tulle__spectrum_epsilon(const tulle_spectrum *s)
{
    return s->A->type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

/* Refuses an argument that is NULL on some PEs only. Collective, agreed. */
tulle_status tulle__spectrum_presence(tulle_comm *comm, const void *given, const char *name);

/* The residual at which a value has converged. */
double tulle__spectrum_limit(const tulle_spectrum *s, double theta);

/* The residual ||H x - theta S x|| at which a pair of a pencil has converged. */
double tulle__pencil_limit(const tulle_spectrum *s, const tulle__pair *pair);

/* Iterates until the first `found` columns of the basis are the wanted vectors, `wanted` their values. Agreed. */
tulle_status tulle__spectrum_iterate(tulle_spectrum *s);

/* Forgets the basis and what is known by it, but not the passes. Local. */
void tulle__spectrum_clear(tulle_spectrum *s);

/*
 * Steps from random directions, *width of them, decomposed, whatever has converged. *next: columns of the next block,
 * from which tulle__spectrum_resume goes on as tulle__spectrum_iterate. Collective, agreed.
 */
tulle_status tulle__spectrum_sample(tulle_spectrum *s, int64_t steps, int *width, int *next);
tulle_status tulle__spectrum_resume(tulle_spectrum *s, int next);

/* The method goes on from *next columns until so many passes were made in all, or all pairs have converged. Agreed. */
tulle_status tulle__spectrum_settle(tulle_spectrum *s, int64_t passes, int *next);

/* The pairs of A in the span of the `found` first columns of the basis take their place. Collective, agreed. */
tulle_status tulle__spectrum_rayleigh(tulle_spectrum *s);

/* A pass: out = A in, `columns` of which count. Collective, agreed. */
tulle_status tulle__spectrum_pass(tulle_spectrum *s, void *bound, int columns);

#endif
