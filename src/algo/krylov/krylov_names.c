/* SPDX-License-Identifier: Apache-2.0 */
/* The words for methods, preconditioners and why a solve has ended. */
#include <tulle/krylov.h>

#include "base/arg.h"
#include "base/spec.h"

#define WORD(name, word, text) word,
static const char *const method_names[] = {TULLE_KRYLOV_LIST(WORD)};
static const char *const precond_names[] = {TULLE_PRECOND_LIST(WORD)};
static const char *const stop_names[] = {TULLE_STOP_LIST(WORD)};
#undef WORD

const char *tulle_krylov_name(tulle_krylov method)
{
    return (unsigned)method < TULLE_KRYLOV_COUNT ? method_names[method] : "unknown";
}

tulle_status tulle_krylov_parse(const char *name, tulle_krylov *method)
{
    if (TULLE__NULL(name) || TULLE__NULL(method)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("method", name, method_names, TULLE_KRYLOV_COUNT, &found);
    if (status == TULLE_OK) *method = (tulle_krylov)found;
    return status;
}

const char *tulle_precond_name(tulle_precond precond)
{
    return (unsigned)precond < TULLE_PRECOND_COUNT ? precond_names[precond] : "unknown";
}

tulle_status tulle_precond_parse(const char *name, tulle_precond *precond)
{
    if (TULLE__NULL(name) || TULLE__NULL(precond)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("preconditioner", name, precond_names, TULLE_PRECOND_COUNT, &found);
    if (status == TULLE_OK) *precond = (tulle_precond)found;
    return status;
}

const char *tulle_stop_name(tulle_stop stop)
{
    return (unsigned)stop < TULLE_STOP_COUNT ? stop_names[stop] : "unknown";
}
