/* SPDX-License-Identifier: Apache-2.0 */
/* Names of methods, preconditioners and reasons to stop. */
#include <tulle/krylov.h>

#include "algo/krylov/precond.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/spec.h"

#define WORD(name, word, text) word,
static const char *const method_names[] = {TULLE_KRYLOV_METHOD_LIST(WORD)};
static const char *const precond_names[] = {TULLE_PRECOND_KIND_LIST(WORD)};
static const char *const stop_names[] = {TULLE_STOP_LIST(WORD)};
#undef WORD

const char *tulle_krylov_method_name(tulle_krylov_method method)
{
    return (unsigned)method < TULLE_KRYLOV_METHOD_COUNT ? method_names[method] : "unknown";
}

tulle_status tulle_krylov_method_parse(const char *name, tulle_krylov_method *method)
{
    if (TULLE__NULL(name) || TULLE__NULL(method)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("method", name, method_names, TULLE_KRYLOV_METHOD_COUNT, &found);
    if (status == TULLE_OK) *method = (tulle_krylov_method)found;
    return status;
}

const char *tulle_precond_kind_name(tulle_precond_kind precond)
{
    return (unsigned)precond < TULLE_PRECOND_KIND_COUNT ? precond_names[precond] : "unknown";
}

tulle_status tulle_precond_kind_parse(const char *name, tulle_precond_kind *precond)
{
    if (TULLE__NULL(name) || TULLE__NULL(precond)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("preconditioner", name, precond_names, TULLE_PRECOND_KIND_COUNT, &found);
    if (status == TULLE_OK) *precond = (tulle_precond_kind)found;
    return status;
}

/* A number of at least `low`, or auto. */
static tulle_status read_amount(tulle__spec_part *part, const char *key, double most, double automatic, double *value)
{
    const char *word = NULL;
    tulle_status status = tulle__spec_word(part, key, &word);
    if (status != TULLE_OK || !word) return status;
    if (!tulle__word_same(word, "auto")) return tulle__parse_real(word, key, 0, most, value);
    *value = automatic;
    return TULLE_OK;
}

tulle_status tulle_precond_parse_spec(const char *text, tulle_precond_kind *precond, tulle_precond_options *options)
{
    if (TULLE__NULL_AS(text, "spec") || TULLE__NULL(precond) || TULLE__NULL(options)) return TULLE_ERR_ARG;
    static const char *const keys[] = {"n", "shift", "floor"};
    static const int keys_of[TULLE_PRECOND_KIND_COUNT] = {
        [TULLE_PRECOND_BLOCK_JACOBI] = 1, [TULLE_PRECOND_IC0] = 2, [TULLE_PRECOND_ILU0] = 3};
    tulle_status status;
    tulle__spec spec;
    tulle_precond_kind found;
    tulle_precond_options chosen = *options;
    int64_t rows = chosen.block;
    TULLE_TRY(tulle__spec_parse(text, &spec));
    if (spec.nparts != 1) TULLE_TRY(tulle__fail(TULLE_ERR_ARG, "'%s' is not a single preconditioner", text));
    tulle__spec_part *part = &spec.part[0];
    TULLE_TRY(tulle_precond_kind_parse(part->name, &found));
    int key = keys_of[found]; /* its key; 0: none */
    if (key == 1) TULLE_TRY(tulle__spec_int(part, keys[0], 1, TULLE__BLOCK_MOST, &rows));
    if (key == 2) TULLE_TRY(read_amount(part, keys[1], 1e6, TULLE_AUTO, &chosen.shift));
    if (key == 3) TULLE_TRY(read_amount(part, keys[2], 1, TULLE_AUTO, &chosen.floor));
    TULLE_TRY(tulle__spec_done(part, keys + (key ? key - 1 : 0), key != 0));
    chosen.block = (int)rows;
    *precond = found;
    *options = chosen;
out:
    return status;
}

const char *tulle_stop_name(tulle_stop stop)
{
    return (unsigned)stop < TULLE_STOP_COUNT ? stop_names[stop] : "unknown";
}
