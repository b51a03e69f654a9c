/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a solve, shared by the methods. Vectors are arrays of the PE's own rows; operands
 * of operators lie in matrices.
 */
#ifndef TULLE_KRYLOV_KRYLOV_H
#define TULLE_KRYLOV_KRYLOV_H

#include "algo/krylov/operator.h"
#include "mat/mat.h"
#include "mat/sweep/apply.h"

/* A matrix with one column, or some, and its own rows. */
typedef struct tulle__vector {
    tulle_mat *mat;
    void *val;
} tulle__vector;

/* One of `width` columns for an operator's products, row-major. Collective, agreed. */
tulle_status tulle__vector_new(const tulle_operator *A, int width, tulle__vector *v);

typedef struct tulle__krylov {
    tulle_comm *comm;
    const tulle_operator *A, *M; /* M: NULL if there is none */
    tulle_krylov_options options;
    tulle__space space;
    tulle__vector in, out;   /* A: out = A in */
    tulle__vector rest, pre; /* M: pre = M^-1 rest */
    void *bound_A, *bound_M;
    struct tulle__resident_vectors *resident; /* vectors on a device, while a method runs; or NULL */
    void *x, *b;                              /* the column and b, both divided by scale */
    void *stored; /* CG: p while `in` is used otherwise; GMRES: the basis, restart + 1 vectors */
    double *small;
    double scale, norm, limit; /* ||b||, and the limit of the residual, both scaled */
    double of_guess;           /* the largest magnitude in x0, infinite where one of them is not finite */
    tulle_gidx column;
    int width, active; /* columns solved together, and those that still run */
    int64_t start, product_ns, precond_ns;
    int64_t iteration, products;
    double residual, true_residual; /* scaled */
    tulle_stop stop;
    char why[160]; /* explains a stop, for the message */
    tulle_krylov_report *report;
} tulle__krylov;

/* out = A in; pre = M^-1 rest. Collective, agreed. */
tulle_status tulle__krylov_product(tulle__krylov *k);
tulle_status tulle__krylov_precondition(tulle__krylov *k);

/*
 * r = b - A x, its norm in true_residual; uses `in` and `out`. x = 0: without a product.
 * Collective, agreed.
 */
tulle_status tulle__krylov_residual(tulle__krylov *k, int zero, void *r);

/* Takes a residual of the recurrence. 0 if the solve stops here, as it is not finite. */
int tulle__krylov_take(tulle__krylov *k, double residual);

/* Reports the iteration to the callback; formed: x is its iterate. */
void tulle__krylov_report(const tulle__krylov *k, bool formed);

/* Both, of a method that forms x in each iteration. */
int tulle__krylov_step(tulle__krylov *k, double residual);

/* A limit on ||r|| / ||b||, or of a gradient: that of values of this type for 0, and 0 for TULLE_NONE. */
double tulle__krylov_tolerance(double given, tulle_type type);

/* Replaces zeros by defaults for vectors of this type, and TULLE_NONE by 0. */
void tulle__krylov_defaults(tulle_krylov_options *options, tulle_type type);

/* Stops the solve. */
void tulle__krylov_stop(tulle__krylov *k, tulle_stop stop, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Evaluates the true residual when the recurrence is within the limit: stops if the true one is
 * too. Otherwise counts failures to halve it since the last time, and stops after a few.
 */
typedef struct tulle__krylov_strikes {
    double before;
    int count;
} tulle__krylov_strikes;
int tulle__krylov_verdict(tulle__krylov *k, tulle__krylov_strikes *strikes);

/*
 * Copies b and x, divided by the scale of the larger of both, as the residual is; and computes the norm of b, which may
 * be far smaller than x, and the limit. Collective, agreed.
 */
tulle_status tulle__krylov_begin_column(tulle__krylov *k, const tulle_mat *B, const tulle_mat *X);

/* True, and the column has stopped, if b is 0, whose x is 0, or b or x0 is not finite. */
bool tulle__krylov_is_trivial(tulle__krylov *k);

/* The largest magnitude of x[r * ld], r < rows; infinite where one of them is not finite. Local. */
double tulle__largest_magnitude(tulle_type type, const void *x, int64_t rows, int64_t ld);

/* The reason to leave out a column with this norm of b and largest magnitude in x0; TULLE_STOP_COUNT: both are finite.
 */
tulle_stop tulle__krylov_not_finite(double norm, double of_guess, const char **why);

/* The report of a column: the seconds of all PEs. Collective, agreed. */
tulle_status tulle__krylov_totals(const tulle__krylov *k, tulle_krylov_report *report);

/* Solves one column from x (zero: it is 0); sets stop and why. Collective, agreed. */
tulle_status tulle__cg(tulle__krylov *k, int zero);
tulle_status tulle__gmres(tulle__krylov *k, int zero);

/* Vectors that a method stores, doubles beside them, and inner products at a time. */
typedef struct tulle__krylov_workspace {
    int64_t vectors, small;
    int dots;
} tulle__krylov_workspace;
tulle__krylov_workspace tulle__gmres_workspace(const tulle_krylov_options *options);

/* Vector v of these. */
static inline void *tulle__krylov_basis(const tulle__krylov *k, int64_t v)
{
    return (char *)k->stored + (size_t)(v * k->space.rows) * tulle_type_size(k->space.type);
}

static inline double tulle__krylov_epsilon(const tulle__krylov *k)
{
    return k->space.type == TULLE_F32 ? 0x1p-23 : 0x1p-52;
}

/* Collective: as tulle_krylov_check does it, of a matrix in memory or in a file; options are not NULL. */
tulle_status tulle__krylov_check_factor(const tulle__operand *A, const tulle_mat *B, const tulle_mat *X,
    const tulle_krylov_options *options, double *error);

/*
 * Judges a converged column as X has it, by its true residual: x may have overflowed or underflowed when its scale was
 * taken back (lost: on this PE), or squares of its residual before. Where b, x and the scale are far from the ends of
 * the range, and nothing is lost, the method's own judgement stands. Reads of k: comm, A, options, space, column,
 * scale, norm; stop becomes TULLE_STOP_RANGE if the residual is not within the tolerance. Collective, agreed.
 */
tulle_status tulle__krylov_judge_returned(tulle__krylov *k, const tulle_mat *B, const tulle_mat *X, bool lost);

/* Stops a solve whose x, with values up to `largest`, or residual is not within the numbers of the type. */
void tulle__krylov_leaves_range(tulle__krylov *k, tulle_type type, double largest);

/* The power of two above |x|, as far as that and its inverse are numbers; 1 for 0, infinity and NaN. */
double tulle__power_of_two(double x);

#endif
