/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/krylov/krylov.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "algo/krylov/resident/resident_vectors.h"
#include "base/decimal.h"
#include "base/error.h"
#include "tile/element.h"

double tulle__krylov_tolerance(double given, tulle_type type)
{
    if (given == 0) return type == TULLE_F32 ? 1e-5 : 1e-8;
    return given == TULLE_NONE ? 0 : given;
}

void tulle__krylov_defaults(tulle_krylov_options *o, tulle_type type)
{
    o->tolerance = tulle__krylov_tolerance(o->tolerance, type);
    o->max_iterations = o->max_iterations == 0 ? 10000 : o->max_iterations == TULLE_NONE ? 0 : o->max_iterations;
    if (o->restart == 0) o->restart = 30;
}

double tulle__power_of_two(double x)
{
    enum { MOST = 1000 };
    int exponent = 0;
    if (isfinite(x) && x != 0) frexp(x, &exponent);
    return ldexp(1, exponent > MOST ? MOST : exponent < -MOST ? -MOST : exponent);
}

double tulle__largest_magnitude(tulle_type type, const void *x, int64_t rows, int64_t ld)
{
    double most = 0;
    for (int64_t r = 0; r < rows; r++) {
        const double size = fabs(tulle__element(type, x, r * ld));
        if (!(size <= most)) most = isfinite(size) ? size : INFINITY;
    }
    return most;
}

tulle_stop tulle__krylov_not_finite(double norm, double of_guess, const char **why)
{
    *why = !isfinite(norm) ? "b is not finite" : "the initial guess is not finite";
    if (!isfinite(norm)) return TULLE_STOP_RHS_NOT_FINITE;
    return isfinite(of_guess) ? TULLE_STOP_COUNT : TULLE_STOP_GUESS_NOT_FINITE;
}

/* ---- calls of the methods ---- */

tulle_status tulle__krylov_product(tulle__krylov *k)
{
    int64_t start = tulle__now(k->comm);
    tulle_status status;
    if (k->space.resident) {
        tulle__device_place x = tulle__resident_place(k->resident, k->in.val),
                            y = tulle__resident_place(k->resident, k->out.val);
        status = tulle__resident_of(k->A)->apply(k->bound_A, &x, &y);
    } else
        status = k->A->apply(k->bound_A);
    k->products++;
    tulle__part_end(k->comm, "product", start, &k->product_ns);
    return status;
}

tulle_status tulle__krylov_precondition(tulle__krylov *k)
{
    int64_t start = tulle__now(k->comm);
    tulle_status status;
    if (k->space.resident) {
        void *to = k->options.method == TULLE_KRYLOV_GMRES ? k->in.val : k->pre.val;
        tulle__device_place x = tulle__resident_place(k->resident, k->rest.val),
                            y = tulle__resident_place(k->resident, to);
        status = tulle__resident_of(k->M)->apply(k->bound_M, &x, &y);
    } else
        status = k->M->apply(k->bound_M);
    tulle__part_end(k->comm, "precondition", start, &k->precond_ns);
    return status;
}

tulle_status tulle__krylov_residual(tulle__krylov *k, int zero, void *r)
{
    double square, minus = -1;
    const void *vector = r;
    tulle__space_scale(&k->space, 1, k->b, r);
    if (!zero) {
        const void *product = k->out.val;
        tulle__space_scale(&k->space, 1, k->x, k->in.val);
        TULLE_CALL(tulle__krylov_product(k));
        tulle__space_combine(&k->space, 1, &minus, &product, 1, r);
    }
    TULLE_CALL(tulle__space_dots(&k->space, 1, &vector, &vector, &square));
    k->true_residual = sqrt(square);
    return TULLE_OK;
}

void tulle__krylov_stop(tulle__krylov *k, tulle_stop stop, const char *format, ...)
{
    va_list args;
    k->stop = stop;
    va_start(args, format);
    tulle__decimal_vformat(k->why, sizeof k->why, format, args);
    va_end(args);
}

int tulle__krylov_take(tulle__krylov *k, double residual)
{
    const tulle_krylov_options *o = &k->options;
    k->residual = residual;
    if (k->column == 0 && o->history && k->iteration < o->history_capacity)
        o->history[k->iteration] = residual * k->scale;
    if (isfinite(residual)) return 1;
    tulle__krylov_stop(k, TULLE_STOP_NOT_FINITE, "the residual is not finite");
    return 0;
}

void tulle__krylov_report(const tulle__krylov *k, bool formed)
{
    const tulle_krylov_options *o = &k->options;
    tulle_krylov_step step = {.column = k->column,
        .iteration = k->iteration,
        .residual = k->residual * k->scale,
        .norm = k->norm * k->scale,
        .limit = k->limit * k->scale,
        .seconds = (double)(tulle__now(k->comm) - k->start) * 1e-9,
        .width = k->width,
        .active = k->active,
        .x = formed && !k->space.resident ? k->x : NULL,
        .stride = 1,
        .scale = k->scale};
    if (o->watch && k->comm->rank == 0) o->watch(o->arg, &step);
}

int tulle__krylov_step(tulle__krylov *k, double residual)
{
    const int finite = tulle__krylov_take(k, residual);
    tulle__krylov_report(k, true);
    return finite;
}

int tulle__krylov_verdict(tulle__krylov *k, tulle__krylov_strikes *strikes)
{
    enum { STRIKES = 3 };
    if (!isfinite(k->true_residual)) {
        tulle__krylov_stop(k, TULLE_STOP_NOT_FINITE, "the residual is not finite");
        return 1;
    }
    if (k->true_residual <= k->limit) {
        tulle__krylov_stop(k, TULLE_STOP_CONVERGED, " ");
        return 1;
    }
    if (strikes->before > 0 && k->true_residual > strikes->before / 2) strikes->count++;
    strikes->before = k->true_residual;
    if (strikes->count < STRIKES) return 0;
    tulle__krylov_stop(k, TULLE_STOP_STAGNATED, "the true residual stays at %.3g: the precision of the type is used up",
        k->true_residual * k->scale);
    return 1;
}
