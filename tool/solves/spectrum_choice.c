/* SPDX-License-Identifier: Apache-2.0 */
#include "solves/spectrum_choice.h"

#include <inttypes.h>
#include <string.h>

#include "readers.h"
#include "report/plural.h"

enum { COUNT = 6 };

static tulle_status read_tolerance(const struct options *o, double *tolerance)
{
    if (!options_flag(o, "tol")) return TULLE_OK;
    return tulle_parse_real(options_word(o, "tol", ""), "--tol", 1e-300, 1, tolerance);
}

/* ---- eigenpairs ---- */

tulle_status eig_options(const struct options *o, int lobpcg, tulle_spectrum_options *s)
{
    tulle_status status = tulle_spectrum_end_parse(options_word(o, "which", lobpcg ? "SA" : "LM"), &s->end);
    if (status == TULLE_OK) status = check_readers(o, "eig", "method", "auto");
    if (status == TULLE_OK) status = read_tolerance(o, &s->tolerance);
    s->size = sizeof *s;
    s->count = (int)options_int(o, "count", COUNT);
    s->block = (int)options_int(o, "block", 0);
    s->basis = (int)options_int(o, "basis", 0);
    s->degree = (int)options_int(o, "degree", 0);
    s->seed = (uint64_t)options_int(o, "seed", 1);
    if (status == TULLE_OK && lobpcg && s->basis)
        return tulle_fail(TULLE_ERR_ARG, "--method lobpcg does not go with --basis");
    if (status == TULLE_OK && lobpcg && s->end == TULLE_SPECTRUM_MAGNITUDE)
        return tulle_fail(TULLE_ERR_ARG, "lobpcg finds the smallest (SA) or the largest (LA) pairs, not LM");
    return status;
}

/* The ordinary method takes a filter's place where there is none whatever the values are. */
static void choose_filter(
    const struct options *o, const tulle_operand_shape *shape, int apart, tulle_spectrum_options *s)
{
    char narrowed[32];
    const char *method = chosen_word(o, "eig", "method", "auto", narrowed);
    const double stored = (double)shape->stored * (shape->symmetric ? 2 : 1);
    const int chosen = strcmp(method, "auto") == 0 && !apart && shape->stored >= 0 && !options_flag(o, "basis");
    s->chebyshev = strcmp(method, "chebyshev") == 0 || (chosen && tulle_spectrum_filter_pays(s, shape->m, stored));
}

tulle_status eig_choose(const struct options *o, const char *operand, const tulle_operand_shape *shape, int pes,
    int apart, int lobpcg, tulle_spectrum_options *s, tulle_spectrum_sizes *sizes)
{
    enum { BLOCK = 4 }; /* with a filter, too, where a pass takes long: that of a stream, and the wait for other PEs */
    if (shape->m != shape->n)
        return tulle_fail(TULLE_ERR_ARG, "%s is %" PRId64 " x %" PRId64 ": eigenpairs are those of a square matrix",
            operand, shape->m, shape->n);
    if (!options_flag(o, "count") && s->count > shape->m) s->count = (int)shape->m;
    if (s->count > shape->m)
        return tulle_fail(TULLE_ERR_ARG, "--count %d is more than the %" PRId64 " %s of %s", s->count, shape->m,
            plural(shape->m, "row", "rows"), operand);
    if (!s->block && !lobpcg && (apart || pes > 1)) s->block = BLOCK;
    if (s->block > shape->m) s->block = (int)shape->m;
    if (lobpcg) return tulle_lobpcg_choose(s, shape->m, sizes);
    choose_filter(o, shape, apart, s);
    const tulle_status status = tulle_spectrum_choose(s, shape->m, sizes);
    if (status == TULLE_OK) s->block = sizes->block;
    if (status == TULLE_OK && s->chebyshev) s->chebyshev = tulle_spectrum_filter_passes(s, shape->m, 1) > 0;
    return status;
}

double eig_memory(const tulle_spectrum_options *s, tulle_gidx n, tulle_type type, int pes)
{
    enum { MOST = 64 };
    const double columns = s->count < MOST ? s->count : MOST, vector = (double)n * (double)tulle_type_size(type),
                 plan = (double)tulle_spectrum_memory(s, n, n / pes + 1, type, pes);
    return plan > 0 ? plan + (2. / pes + 1) * columns * vector : 0;
}

tulle_status eig_needs(const struct options *o, const tulle_operand_shape *shape, tulle_type type,
    const tulle_spectrum_options *s, int factorised, const struct streaming *streaming)
{
    struct needs n;
    const int whole = !streaming || !streaming->from_file;
    needs_begin(&n, o, type);
    const double A = needs_bytes(&n, shape, 0), rows = (double)shape->m, vector = needs_dense(&n, rows, 1);
    if (whole) needs_matrix(&n, A);
    if (whole) needs_reading(&n, A);
    if (factorised) needs_matrix(&n, 6 * A); /* H - sigma S and its copies, S and a factor without fill */
    if (options_flag(o, "output")) needs_matrix(&n, s->count * vector);
    const double method = n.pes * eig_memory(s, shape->m, type, n.pes);
    const double product = streaming ? streaming_needs(streaming, &n, A, rows) + (n.pes + 1) * vector
                                     : 2 * A + n.pes * vector + 4e6 + 2e6 * n.pes;
    needs_stage(&n, method + product);
    return needs_check(&n, "eig");
}

/* ---- singular values ---- */

tulle_status svd_options(const struct options *o, int components, tulle_svd_options *s)
{
    enum { PASSES = 4 }; /* of principal components, unless a tolerance is asked for */
    s->size = sizeof *s;
    s->centre = components;
    s->scores = components;
    s->scale = components && options_flag(o, "scale");
    s->passes = (int)options_int(o, "passes", components && !options_flag(o, "tol") ? PASSES : 0);
    s->count = (int)options_int(o, "count", COUNT);
    s->block = (int)options_int(o, "block", 0);
    s->basis = (int)options_int(o, "basis", 0);
    s->seed = (uint64_t)options_int(o, "seed", 1);
    if (options_flag(o, "tol") && options_flag(o, "passes"))
        return tulle_fail(TULLE_ERR_ARG, "--passes takes so many whatever the residuals are, and --tol as many as it "
                                         "needs: give one of them");
    if (s->passes && options_has(o, "max-passes") && options_flag(o, "max-passes"))
        return tulle_fail(TULLE_ERR_ARG,
            "--max-passes is of a run to convergence, which %s asks for: there are %d passes",
            components ? "--tol" : "leaving out --passes", s->passes);
    return read_tolerance(o, &s->tolerance);
}

tulle_status svd_choose(const struct options *o, const char *operand, const tulle_operand_shape *shape,
    tulle_svd_options *s, tulle_spectrum_sizes *sizes)
{
    const tulle_gidx most = shape->m < shape->n ? shape->m : shape->n;
    if (!options_flag(o, "count") && s->count > most) s->count = (int)most;
    if (s->count > most)
        return tulle_fail(TULLE_ERR_ARG,
            "--count %d is more than the %" PRId64 " singular %s of %s, %" PRId64 " x %" PRId64, s->count, most,
            plural(most, "value", "values"), operand, shape->m, shape->n);
    return tulle_svd_choose(s, shape->m, shape->n, sizes);
}

int svd_turned(const tulle_svd_options *s, const tulle_operand_shape *shape, int from_file)
{
    return !from_file && !s->centre && shape->m < shape->n;
}

double svd_memory(const tulle_svd_options *s, const tulle_operand_shape *shape, tulle_type type, int pes, int from_file)
{
    const int turned = svd_turned(s, shape, from_file);
    return (double)tulle_svd_memory(s, turned ? shape->n : shape->m, turned ? shape->m : shape->n, type, pes);
}

tulle_status svd_needs(const struct options *o, const char *verb, const tulle_operand_shape *shape, tulle_type type,
    const tulle_svd_options *s, int from_file, int left, int right)
{
    struct needs n;
    needs_begin(&n, o, type);
    const double A = needs_bytes(&n, shape, 0), rows = (double)shape->m;
    if (!from_file) needs_matrix(&n, A);
    if (!from_file) needs_reading(&n, A);
    if (svd_turned(s, shape, from_file)) needs_matrix(&n, A);
    if (left) needs_matrix(&n, needs_dense(&n, rows, s->count));
    if (right) needs_matrix(&n, needs_dense(&n, (double)shape->n, s->count));
    needs_stage(&n, n.pes * svd_memory(s, shape, type, n.pes, from_file) + (from_file ? 8 * rows : 0));
    return needs_check(&n, verb);
}
