/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/matfun/dense/function.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "algo/matfun/dense/step.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/spec.h"
#include "base/words/names.h"

static const char *const names[TULLE_FUNCTION_COUNT] = {TULLE_FUNCTION_LIST(TULLE__WORD) "user"};

const char *tulle_function_name(tulle_function_kind kind)
{
    return (unsigned)kind < TULLE_FUNCTION_COUNT ? names[kind] : "unknown";
}

static tulle_status read_parameters(tulle__spec_part *part, tulle_function *f)
{
    const char *keys[2] = {"mu", "kT"};
    int nkeys = f->kind == TULLE_FUNCTION_SIGN ? 1 : f->kind == TULLE_FUNCTION_FERMI ? 2 : 0;
    int64_t p = 0;
    if (f->kind == TULLE_FUNCTION_ROOT) {
        keys[0] = "p";
        nkeys = 1;
        TULLE_CALL(tulle__spec_int(part, "p", INT32_MIN, INT32_MAX, &p));
        f->p = (int)p;
    }
    if (nkeys && f->kind != TULLE_FUNCTION_ROOT) TULLE_CALL(tulle__spec_real(part, "mu", -1e300, 1e300, &f->mu));
    if (nkeys == 2) TULLE_CALL(tulle__spec_real(part, "kT", 0, 1e300, &f->kT));
    TULLE_CALL(tulle__spec_done(part, keys, nkeys));
    return tulle__function_check(f);
}

tulle_status tulle_function_parse(const char *text, tulle_function *function)
{
    if (TULLE__NULL(text) || TULLE__NULL(function)) return TULLE_ERR_ARG;
    TULLE__SCOPED tulle__spec *spec = NULL;
    tulle_function f = {.p = 0};
    int kind;
    TULLE_CALL(tulle__alloc(1, sizeof *spec, "a spec", &spec));
    TULLE_CALL(tulle__spec_parse(text, spec));
    if (spec->nparts != 1)
        TULLE_CALL(tulle__fail(TULLE_ERR_ARG, "a function has one part, '%s' has %d", text, spec->nparts));
    TULLE_CALL(tulle__name_parse("function", spec->part[0].name, names, TULLE_FUNCTION_USER, &kind));
    f.kind = (tulle_function_kind)kind;
    TULLE_CALL(read_parameters(&spec->part[0], &f));
    *function = f;
    return TULLE_OK;
}

tulle_status tulle__function_check(const tulle_function *f)
{
    if ((unsigned)f->kind >= TULLE_FUNCTION_COUNT)
        return tulle__fail(TULLE_ERR_ARG, "there is no function number %d", (int)f->kind);
    if (f->kind == TULLE_FUNCTION_ROOT && f->p == 0)
        return tulle__fail(TULLE_ERR_ARG, "root needs p, a whole number that is not 0");
    if (f->kind == TULLE_FUNCTION_FERMI && !(f->kT >= 0))
        return tulle__fail(TULLE_ERR_ARG, "fermi: kT is at least 0, not %g", f->kT);
    if (!isfinite(f->mu)) return tulle__fail(TULLE_ERR_ARG, "%s: mu is not finite", names[f->kind]);
    if (f->kind == TULLE_FUNCTION_USER && !f->value)
        return tulle__fail(TULLE_ERR_ARG, "the caller's function is missing");
    return TULLE_OK;
}

/* Eigenvalues are known up to `unsure`: one nearer to 0 than this may have either sign. */
static int one(const tulle_function *f, double x, double unsure, double *y)
{
    double shifted = x - f->mu;
    switch (f->kind) {
    case TULLE_FUNCTION_SIGN:
        *y = fabs(shifted) <= unsure ? 0 : shifted < 0 ? -1 : 1;
        return 1;
    case TULLE_FUNCTION_INVERSE:
        *y = 1 / x;
        return fabs(x) > unsure;
    case TULLE_FUNCTION_SQRT:
        *y = x > 0 ? sqrt(x) : 0;
        return x >= -unsure;
    case TULLE_FUNCTION_INVSQRT:
        *y = 1 / sqrt(x);
        return x > unsure;
    case TULLE_FUNCTION_ROOT:
        if (f->p % 2) { /* also of negative numbers */
            *y = copysign(pow(fabs(x), 1.0 / f->p), x);
            return f->p > 0 || fabs(x) > unsure;
        }
        *y = pow(x > 0 ? x : 0, 1.0 / f->p);
        return f->p > 0 ? x >= -unsure : x > unsure;
    case TULLE_FUNCTION_EXP:
        *y = exp(x);
        return 1;
    case TULLE_FUNCTION_FERMI:
        *y = f->kT <= 0 && fabs(shifted) <= unsure ? .5 : tulle__fermi(x, f->mu, f->kT);
        return 1;
    default:
        *y = f->value(x, f->context);
        return 1;
    }
}

int64_t tulle__function_values(
    const tulle_function *function, tulle_type type, int64_t n, const double *x, double *value)
{
    const bool single = type == TULLE_F32;
    double largest = n ? fmax(fabs(x[0]), fabs(x[n - 1])) : 0, epsilon = single ? FLT_EPSILON : DBL_EPSILON;
    int64_t bad = -1;
    for (int64_t i = 0; i < n; i++) {
        const int defined = one(function, x[i], 4 * epsilon * largest, &value[i]);
        const bool in_range = fabs(value[i]) <= (single ? FLT_MAX : DBL_MAX); /* and a number */
        if (!(defined && in_range) && bad < 0) bad = i;
    }
    return bad;
}

/* |f'(x)| of a function with a derivative, else 0. */
static double slope(const tulle_function *f, double x, double value)
{
    switch (f->kind) {
    case TULLE_FUNCTION_INVERSE:
        return value * value;
    case TULLE_FUNCTION_SQRT:
        return x > 0 ? fabs(value / x) / 2 : 0;
    case TULLE_FUNCTION_INVSQRT:
        return fabs(value / x) / 2;
    case TULLE_FUNCTION_ROOT:
        return x != 0 ? fabs(value / x / f->p) : 0;
    case TULLE_FUNCTION_EXP:
        return value;
    case TULLE_FUNCTION_FERMI:
        return f->kT > 0 ? value * (1 - value) / f->kT : 0;
    default:
        return 0;
    }
}

/* Distance that rounding, relative to the matrices, moves levels i and j against each other, times their part of F. */
static double movement(const tulle__pencil_norms *pencil, const double *x, double size, int64_t i, int64_t j)
{
    if (!pencil) return size;
    const double part = sqrt(pencil->square[i] * pencil->square[j]);
    return part * pencil->inverse * (pencil->H + fmax(fabs(x[i]), fabs(x[j])) * pencil->S);
}

double tulle__function_amplification(
    const tulle_function *function, int64_t n, const double *x, const double *value, const tulle__pencil_norms *pencil)
{
    const double size = fmax(fabs(x[0]), fabs(x[n - 1]));
    double steepest = 0, largest = 0;
    for (int64_t i = 0; i < n; i++) {
        const double rise = i ? fabs(value[i] - value[i - 1]) : 0, run = i ? x[i] - x[i - 1] : 1;
        largest = fmax(largest, fabs(value[i]) * (pencil ? pencil->square[i] : 1));
        steepest = fmax(steepest, slope(function, x[i], value[i]) * movement(pencil, x, size, i, i));
        if (rise > 0 && run > 4 * DBL_EPSILON * size)
            steepest = fmax(steepest, rise / run * movement(pencil, x, size, i, i - 1));
    }
    const double condition = largest > 0 ? steepest / largest : 1;
    return condition > 1 ? condition : 1;
}

double tulle__function_tolerance(tulle_type type, double filter, double amplification)
{
    static const double most = .1;
    const double precise = type == TULLE_F32 ? 1e-3 : 1e-8, epsilon = type == TULLE_F32 ? FLT_EPSILON : DBL_EPSILON;
    return fmin(most, precise + 100 * filter + (1000 * epsilon + filter) * amplification);
}
