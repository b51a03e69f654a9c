/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submatrices or iterations with the whole matrix: seconds of both, from A's pattern and spectrum.
 *
 * A submatrix of n rows takes a n^3 + b n^2 + c, as tridiagonalisations of few rows are far below the rate of those of
 * many.
 *
 * An iteration's number of steps is that of the scalar iteration from the eigenvalue that needs most, by bounds of
 * some Lanczos steps. A step's products have the fill of a polynomial of A: as many blocks a row as lie within d links
 * in a sample of rows, where d is the degree that the steps have reached, or, with a filter, the distance at which
 * f's blocks have decayed to it, if that is less. With the distance g of mu from the spectrum over the latter's half
 * width, a sign's blocks decay as e^(-g d) (a step's approximation as that of the width it resolves), and those of
 * powers with the condition k as e^(-2 d / k^(1/2)): Benzi and Razouk, ETNA 28 (2007); Demko, Moss and Smith, Math.
 * Comp. 43 (1984). Nor is the fill more than the filter leaves where a result's blocks fall by a factor e^3 a link from
 * the smallest of A's: an overlap matrix that the filter has cut stays as it is. A block product has a fixed cost
 * beside its operations.
 *
 * A submatrix is computed by one PE, an iteration by all. Where one is alone on many PEs, these wait for it, which
 * counts as their time: so an iteration takes its place there if that is faster.
 *
 * Constants are of one core; only ratios matter. They were fitted to cases of bench/matfun_auto.py.
 */
#ifndef TULLE_ALGO_MATFUN_METHOD_ESTIMATE_H
#define TULLE_ALGO_MATFUN_METHOD_ESTIMATE_H

#include <tulle/matfun.h>

#include "algo/matfun/submatrices.h"
#include "algo/matfun/whole/iterations.h"

enum { TULLE__REACH_MOST = 48 };

/* Facts of the pattern, of all PEs. */
typedef struct tulle__method_estimate {
    double submatrices; /* seconds of all PEs, those included that wait for the one with the largest submatrix */
    double sign;        /* of the iteration for a sign, if the gap at mu is a twentieth of the spectrum */
    double distance;    /* links beyond which blocks fall below the filter as A's do, INFINITY: no filter */
    double count;       /* submatrices */
    double columns;     /* block columns */
    double block;       /* values of a block, on average, to the power 3/2: operations of a product / 2 */
    double reach[TULLE__REACH_MOST]; /* blocks of a row within 1, 2, ... links, on average */
    int links;                       /* links beyond which nothing is added, or is known */
} tulle__method_estimate;

/* Collective, without agreement. */
tulle_status tulle__matfun_estimate(const tulle__submatrices *s, double filter, tulle__method_estimate *estimate);

/*
 * Forecasts the iteration that computes `function` of A, in tiles of rows, with that filter and order of Newton-Schulz
 * steps. Where even a spectrum that needs few steps would not make it worth a try, that is the forecast, and A is not
 * applied. Collective, agreed.
 */
tulle_status tulle__matfun_forecast(const tulle__method_estimate *estimate, const tulle_mat *A,
    const tulle_function *function, double filter, int order, tulle__forecast *forecast);

/* AUTO: whether an iteration is worth a try, which ends where its steps take longer than submatrices. */
bool tulle__matfun_worth_a_try(const tulle__forecast *forecast);

#endif
