/* SPDX-License-Identifier: Apache-2.0 */
/* Names of methods, preconditioners and reasons to stop. */
#include <tulle/krylov.h>

#include "algo/krylov/precond.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/spec.h"
#include "base/words/names.h"

TULLE__WORDS(methods, TULLE_KRYLOV_METHOD_LIST);
TULLE__NAME(tulle_krylov_method, method, methods)
TULLE__PARSE(tulle_krylov_method, method, methods, "method")

TULLE__WORDS(kinds, TULLE_PRECOND_KIND_LIST);
TULLE__NAME(tulle_precond_kind, precond, kinds)
TULLE__PARSE(tulle_precond_kind, precond, kinds, "preconditioner")

TULLE__WORDS(stops, TULLE_STOP_LIST);
TULLE__NAME(tulle_stop, stop, stops)

/* A number of at least `low`, or auto. */
static tulle_status read_amount(tulle__spec_part *part, const char *key, double most, double automatic, double *value)
{
    const char *word = NULL;
    TULLE_CALL(tulle__spec_word(part, key, &word));
    if (!word) return TULLE_OK;
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
    tulle__spec spec;
    tulle_precond_kind found;
    tulle_precond_options chosen = *options;
    int64_t rows = chosen.block;
    TULLE_CALL(tulle__spec_parse(text, &spec));
    if (spec.nparts != 1) return tulle__fail(TULLE_ERR_ARG, "'%s' is not a single preconditioner", text);
    tulle__spec_part *part = &spec.part[0];
    TULLE_CALL(tulle_precond_kind_parse(part->name, &found));
    int key = keys_of[found]; /* its key; 0: none */
    if (key == 1) TULLE_CALL(tulle__spec_int(part, keys[0], 1, TULLE__BLOCK_MOST, &rows));
    if (key == 2) TULLE_CALL(read_amount(part, keys[1], 1e6, TULLE_AUTO, &chosen.shift));
    if (key == 3) TULLE_CALL(read_amount(part, keys[2], 1, TULLE_AUTO, &chosen.floor));
    TULLE_CALL(tulle__spec_done(part, keys + (key ? key - 1 : 0), key != 0));
    chosen.block = (int)rows;
    *precond = found;
    *options = chosen;
    return TULLE_OK;
}
