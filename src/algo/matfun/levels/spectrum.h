/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The eigenvalues of all submatrices with the weights of their wanted columns: with eigenvector q of
 * eigenvalue x, the sum of q_j^2 over these columns j. The trace of a function's columns is the sum
 * of weight f(x), so that mu follows from the number of electrons without eigenvectors.
 */
#ifndef TULLE_ALGO_MATFUN_LEVELS_SPECTRUM_H
#define TULLE_ALGO_MATFUN_LEVELS_SPECTRUM_H

#include <tulle/team.h>

typedef struct tulle__spectrum {
    tulle_comm *comm;
    double kT;
    /*
     * [submatrices + 1] that this PE has computed or may: those of submatrix k begin at first[k]; there are
     * rows[k], none if another PE computed it
     */
    int64_t *first, *rows;
    double *level, *weight;
    int64_t submatrices;
    double rounding;  /* of a level, relative to the magnitude of its submatrix */
    double tolerance; /* levels at mu that are as near to each other are filled alike: rounding of those near mu */
    /*
     * If only levels in (low, high] are known of some submatrices, mu is there, and base are the traces of
     * these submatrices below
     */
    bool bracketed;
    double low, high, base[2];
    bool settled; /* N is the number asked for at mu already, kT = 0 */
    double mu;
    double frontier[2]; /* N at the highest occupied level, and at the lowest unoccupied one, is at least this */
} tulle__spectrum;

/* Occupation of a level: 1 up to `low`, 0 from `high` on, else `part`; with kT > 0 Fermi's function of mu. */
typedef struct tulle__occupation {
    double mu, kT, low, high, part;
} tulle__occupation;

/* Local: `count` more submatrices of so many rows, which have no levels yet. After a failure too, fini frees. */
tulle_status tulle__spectrum_add(tulle__spectrum *x, int64_t count, const int64_t *rows);
void tulle__spectrum_fini(tulle__spectrum *x);

double tulle__occupy(const tulle__occupation *o, double level);
/* A step at mu. */
tulle__occupation tulle__occupation_at(double mu, double kT);

/* sums[0] = trace of the function, sums[1] = trace of level times function; of all PEs. Collective. */
tulle_status tulle__spectrum_sums(const tulle__spectrum *x, const tulle__occupation *o, double sums[2]);

/* N up to mu: the weights of all levels until there. Collective. */
tulle_status tulle__spectrum_count(const tulle__spectrum *x, double mu, double *number);

/*
 * The lowest level at which N is at least `number`, within the bounds of the spectrum; infinite if it lies beyond.
 * Collective.
 */
tulle_status tulle__spectrum_level(const tulle__spectrum *x, double number, double *level);

/* The occupation whose trace is `states`. Collective, agreed. */
tulle_status tulle__spectrum_find(const tulle__spectrum *x, double states, tulle__occupation *o);

/* A guess of mu from submatrix k of this PE: the middle between levels. Local. */
double tulle__spectrum_guess(const tulle__spectrum *x, int64_t k, double states);

#endif
