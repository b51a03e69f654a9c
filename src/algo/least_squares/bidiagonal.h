/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a solve of least squares for several columns of B. bidiagonal.c explains the names. */
#ifndef TULLE_LEAST_SQUARES_BIDIAGONAL_H
#define TULLE_LEAST_SQUARES_BIDIAGONAL_H

#include <tulle/krylov.h>

#include "algo/krylov/krylov.h"
#include "algo/spectrum/gram.h"

typedef struct tulle__fit_column {
    tulle__krylov k; /* x, figures, why it stopped; b lies in U alone */
    char *vectors;
    void *v, *y, *d;   /* alpha v; A^T u; the lower part of u, with damp */
    void *w, *h, *bar; /* LSQR: w; LSMR: h, the same, and hbar */
    void *saved;       /* x of the last start */
    void *variance;    /* sums of squares of w / rho; NULL: not wanted */
    double alpha, beta;
    double rho, rho_bar, phi_bar;                           /* LSQR; rho and rho_bar: LSMR, too */
    double alpha_bar, zeta, zeta_bar, cosine_bar, sine_bar; /* LSMR */
    double beta_d, beta_dd, rho_d, tau_tilde, theta_tilde;  /* LSMR: ||r|| */
    double norm, condition;                                 /* ||A||; its condition */
    double of_B, of_D, w_square;                            /* LSQR: squares of ||B||_F and ||D||_F; of w's length */
    double most, least;                                     /* LSMR: pivots */
    double gradient, plain, solution;                       /* computed from x */
    double saved_residual, saved_gradient, saved_plain;     /* those of `saved` */
    bool starts, due;                                       /* due: it should be solved */
    bool limited;                                           /* its condition is above the limit */
    int64_t begun;                                          /* the iteration from which this bidiagonal matrix is */
    tulle_stop ends; /* why the column stops at the start; TULLE_STOP_COUNT: it need not */
    tulle__krylov_strikes strikes;
} tulle__fit_column;

typedef struct tulle__fit {
    tulle_comm *comm;
    const tulle_least_squares_options *options;
    tulle__row_passes *rows;
    tulle__gram *gram;
    tulle__space of_rows, of_columns; /* vectors of m and of n rows */
    tulle__fit_column *column;
    int columns, going, list[TULLE__TALL_MOST]; /* of those that run */
    const tulle_mat *B, *X;                     /* in the layouts of both */
    tulle_mat *variance;                        /* in X's layout, or NULL */
    void *U;                                    /* lines of beta u, `columns` apart, of those that run in order */
    void *in, *out;                             /* lines of directions, and of A^T u */
    double damp;
    int64_t passes, product_ns;
} tulle__fit;

/* All columns from their x until they stop. Collective, agreed. */
tulle_status tulle__fit_run(tulle__fit *f);

/* Judges the chosen columns by their x in X; they run on if they are not solved. Collective, agreed. */
tulle_status tulle__fit_judge(tulle__fit *f, const bool *chosen);

/* A recurrence from the first alpha and beta; and a step after new ones, from the former alpha. Local. */
void tulle__fit_begin(tulle__fit *f, tulle__fit_column *c);
void tulle__fit_step(tulle__fit *f, tulle__fit_column *c, double alpha);

/* ||r|| and ||g|| by the recurrence. */
double tulle__fit_residual(const tulle__fit *f, const tulle__fit_column *c);
double tulle__fit_gradient(const tulle__fit *f, const tulle__fit_column *c);

#endif
