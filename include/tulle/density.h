/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Density matrices of electronic structure by the submatrix method (tulle/matfun.h):
 *
 *   D = S^(-1/2) f(K) S^(-1/2),  K = S^(-1/2) H S^(-1/2),  f(x) = 1 / (e^((x - mu) / kT) + 1),
 *
 * of a symmetric H and a symmetric positive definite S with the same blocks. Each of S^(-1/2), f(K)
 * and the filters of S, K and D contributes an error. D is for one spin: electrons and energies are
 * `degeneracy` times its traces.
 */
#ifndef TULLE_DENSITY_H
#define TULLE_DENSITY_H

#include <tulle/matfun.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(name, word, text): how f(K) is computed. All but submatrix and auto are for kT = 0, with whole
 * matrices.
 */
#define TULLE_DENSITY_METHOD_LIST(X)                                                                                   \
    X(SUBMATRIX, "submatrix", "dense functions of submatrices")                                                        \
    X(NEWTON_SCHULZ, "newton-schulz", "the sign of K - mu I by iterations; for a given mu")                            \
    X(MCWEENY, "mcweeny", "purification by 3 P^2 - 2 P^3; for a given mu")                                             \
    X(TC2, "tc2", "purification by P^2 or 2 P - P^2; for a number of electrons")                                       \
    X(TRS4, "trs4", "purification by polynomials of degree 4; for a number of electrons")                              \
    X(AUTO, "auto", "submatrices, or the sign (mu) or trs4 (electrons), as a model of the cost says")

typedef enum tulle_density_method {
#define TULLE_DENSITY_METHOD_ENUM(name, word, text) TULLE_DENSITY_##name,
    TULLE_DENSITY_METHOD_LIST(TULLE_DENSITY_METHOD_ENUM)
#undef TULLE_DENSITY_METHOD_ENUM
        TULLE_DENSITY_METHOD_COUNT
} tulle_density_method;

/* "submatrix", ...; "unknown": no such method. */
TULLE_API const char *tulle_density_method_name(tulle_density_method method);
TULLE_API tulle_status tulle_density_method_parse(const char *name, tulle_density_method *method);

typedef struct tulle_density_options {
    size_t size;       /* of this struct; 0: as in the first release */
    double filter;     /* blocks of S, K and D off the diagonal with a smaller Frobenius norm are left out */
    double kT;         /* 0: a step */
    double degeneracy; /* electrons a state; 0: 2 */
    int combine;       /* as in tulle_matfun_options */
    tulle_density_method method;
    /*
     * of Newton-Schulz iterations, as in tulle_matfun_options; TULLE_ERR_ARG with AUTO where these are not tried: for a
     * number of electrons, with kT and with nonorthogonal
     */
    int order;
    /* NULL, or receives the iterations, on each PE that passes it */
    tulle_matfun_iteration *history;
    int64_t history_capacity; /* further ones are dropped */
    int check;                /* f(K) is checked as by tulle_matfun_check with that many samples; 0: not */
    /*
     * submatrices are of H and S together, each a generalised eigenvalue problem, and D's columns
     * come directly, without S^(-1/2) and products of whole matrices. For the method SUBMATRIX
     */
    bool nonorthogonal;
    bool mixed; /* as in tulle_matfun_options */
    /* as in tulle_matfun_options: of S^(-1/2) and f(K), or the pairs; for the method SUBMATRIX */
    const char *device;
} tulle_density_options;

typedef struct tulle_density_report {
    double mu;
    double electrons;     /* of f(K)'s columns: with a number of electrons that number, up to rounding */
    double stored;        /* degeneracy tr(D S), of the blocks of D that are stored */
    double energy;        /* degeneracy tr(K f(K)) of these columns: the sum over occupied states */
    double stored_energy; /* degeneracy tr(D H) */
    /*
     * HOMO and LUMO of the whole system: going away from mu, a level counts once the weights of levels reach half a
     * state. -INFINITY, INFINITY: there is none; both are the level that is filled in part. NAN with whole matrices
     */
    double below, above;
    double gap;                  /* above - below */
    double filled;               /* occupation of a level that is filled in part; 0: there is none */
    tulle_density_method method; /* the one used */
    double estimate[2];          /* AUTO: seconds by the model, of submatrices and of iterations; else 0 */
    int iterations;              /* of methods with whole matrices */
    double residual;             /* |P^2 - P| / |P^2| (Newton-Schulz: |X^2 - I| / |X^2|) before the last of them */
    double flops;                /* of their products: 2 x multiplications of all PEs */
    double error;                /* options.check: as of tulle_matfun_check */
    int64_t repeated;            /* submatrices whose columns were computed twice, as mu became known */
    double seconds[3];           /* S^(-1/2) and K; f(K); D */
    tulle_matfun_report overlap, function; /* of S^(-1/2), if there is S; of f(K) */
    bool nonorthogonal;                    /* the pairs H, S were used, as asked for, or as S^(-1/2) = Z was off */
    double overlap_error;                  /* |Z S Z v - v| / |v| for a vector v of signs; 0: there was no Z */
    /*
     * options.check: what patterns and filters cut off of D, for a vector v of signs. With G = H - mu S the larger of
     * |G D S v - S D G v| / |G v| and, at kT = 0, |D S D S v - D S v| / |D S v|, less what a level that is filled in
     * part adds to it
     */
    double truncation;
    /* of a block row of K (nonorthogonal: H - mu S) with others: the norm of a row without its block, on average; 0:
     * kT > 0, or whole matrices */
    double coupling;
} tulle_density_report;

/*
 * Collective. If S^(-1/2) of submatrices is off by more than 100 filters and 1e-6 (f32: 1e-3), the methods
 * SUBMATRIX and AUTO go on with the pairs (`nonorthogonal`), and the others with S^(-1/2) by iterations; if that, too,
 * is off, by 0.1 %, they are TULLE_ERR_CONVERGENCE. So is a number of electrons, found or stored, that is not the one
 * asked for, by more than 0.1 % or its smaller error. AUTO computes submatrices where an iteration does not converge.
 * H and S are VBSR with the same block cuts, or halves; S NULL: the identity. *D is a new matrix
 * in tiles of rows, all of it, the caller's. options and report may be NULL; the report is the same on all
 * PEs. TULLE_ERR_CHECK, with the block column, if options.check finds a difference; the
 * truncation is a figure of the report, which the caller judges.
 * TULLE_ERR_CONVERGENCE, with the residual, if a method with iterations does not converge.
 * TULLE_ERR_ARG for the reasons of tulle_matfun_execute, which include an S that is not positive
 * definite, and if H and S do not match. With `nonorthogonal` K and f(K) of the report are the pair H, S
 * and D's columns.
 */
TULLE_API tulle_status tulle_density_of_mu(const tulle_mat *H, const tulle_mat *S, double mu,
    const tulle_density_options *options, tulle_mat **D, tulle_density_report *report);

/*
 * The same with the mu that gives this number of electrons. N(mu) follows from the eigenvalues of
 * all submatrices and the squares of their eigenvectors' wanted components, so that mu is found
 * without another pass. For kT = 0 and a whole number of states mu lies in the middle of the gap. Where N is
 * not the number in the gap, as submatrices have slightly different levels, the level that N jumps over it
 * at is filled in part. TULLE_ERR_ARG for a number outside 0 ... degeneracy times the rows.
 */
TULLE_API tulle_status tulle_density_of_electrons(const tulle_mat *H, const tulle_mat *S, double electrons,
    const tulle_density_options *options, tulle_mat **D, tulle_density_report *report);

/*
 * The warnings of a result, as of tulle_matfun_warnings: diagonal blocks that H or S lack, electrons that D's pattern
 * or the filter cuts off, and a gap so small that blocks decay slowly. options: those of the call, or NULL.
 */
TULLE_API tulle_status tulle_density_warnings(
    const tulle_density_report *report, const tulle_density_options *options, char *warnings);

#ifdef __cplusplus
}
#endif
#endif
