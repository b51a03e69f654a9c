/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solve: what the methods share. Vectors are arrays of the PE's own rows; those that operators work on
 * lie in matrices. */
#ifndef TULLE_KRYLOV_KRYLOV_H
#define TULLE_KRYLOV_KRYLOV_H

#include "algo/krylov/operator.h"
#include "mat/mat.h"

/* A matrix of one column and its own rows. */
typedef struct tulle__vector {
    tulle_mat *mat;
    void *val;
} tulle__vector;

typedef struct tulle__krylov {
    tulle_comm *comm;
    const tulle_operator *A, *M; /* M: NULL if there is none */
    tulle_krylov_options options;
    tulle__space space;
    tulle__vector in, out;   /* A: out = A in */
    tulle__vector rest, pre; /* M: pre = M^-1 rest */
    void *bound_A, *bound_M;
    void *x, *b; /* the column, b divided by scale, and x with it */
    void *keep;  /* CG: p while `in` is used otherwise; GMRES: the basis, restart + 1 vectors */
    double *small;
    double scale, norm, limit; /* ||b|| and what the residual must come to, both scaled */
    tulle_gidx column;
    int64_t start, product_ns, precond_ns;
    int64_t iteration, products;
    double residual, true_residual; /* scaled */
    tulle_stop stop;
    char why[160]; /* what the message says of a stop */
    tulle_krylov_report *report;
} tulle__krylov;

/* Collective, agreed: out = A in; pre = M^-1 rest. */
tulle_status tulle__krylov_product(tulle__krylov *k);
tulle_status tulle__krylov_precondition(tulle__krylov *k);

/* Collective, agreed: r = b - A x and its norm into true_residual; `in` and `out` are used. x = 0: without a product.
 */
tulle_status tulle__krylov_residual(tulle__krylov *k, int zero, void *r);

/* A residual of the recurrence: to whom it may concern. 0 if the solve ends here, as it is not finite. */
int tulle__krylov_step(tulle__krylov *k, double residual);

/* Zeros become defaults, and TULLE_NONE becomes 0. */
void tulle__krylov_defaults(tulle_krylov_options *options);

/* The solve ends. */
void tulle__krylov_stop(tulle__krylov *k, tulle_stop stop, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Whether the true residual, which the recurrence has led to expect within the limit, is: stops if so. Else counts how
 * often it was not and had not at least become half of what it was before: after a few times it stops too.
 */
typedef struct tulle__krylov_strikes {
    double before;
    int count;
} tulle__krylov_strikes;
int tulle__krylov_verdict(tulle__krylov *k, tulle__krylov_strikes *strikes);

/* Collective, agreed: one column from x (zero: it is 0); stop and why are set on return. */
tulle_status tulle__cg(tulle__krylov *k, int zero);
tulle_status tulle__gmres(tulle__krylov *k, int zero);

/* Vectors that a method keeps, doubles beside them, inner products at a time. */
typedef struct tulle__krylov_room {
    int64_t vectors, small;
    int dots;
} tulle__krylov_room;
tulle__krylov_room tulle__gmres_room(const tulle_krylov_options *options);

/* Vector v of those. */
static inline void *tulle__krylov_kept(const tulle__krylov *k, int64_t v)
{
    return (char *)k->keep + (size_t)(v * k->space.rows) * tulle_type_size(k->space.type);
}

static inline double tulle__krylov_epsilon(const tulle__krylov *k)
{
    return k->space.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

#endif
