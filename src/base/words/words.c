/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tulle/words.h>

#include "base/arg.h"
#include "base/decimal.h"
#include "base/error.h"
#include "base/spec.h"

tulle_status tulle_parse_int(const char *text, const char *what, int64_t low, int64_t high, int64_t *value)
{
    if (TULLE__NULL(text) || TULLE__NULL(what) || TULLE__NULL(value)) return TULLE_ERR_ARG;
    return tulle__parse_int(text, what, low, high, value);
}

tulle_status tulle_parse_real(const char *text, const char *what, double low, double high, double *value)
{
    if (TULLE__NULL(text) || TULLE__NULL(what) || TULLE__NULL(value)) return TULLE_ERR_ARG;
    return tulle__parse_real(text, what, low, high, value);
}

tulle_status tulle_parse_bytes(const char *text, const char *what, double *value)
{
    if (TULLE__NULL(text) || TULLE__NULL(what) || TULLE__NULL(value)) return TULLE_ERR_ARG;
    return tulle__parse_bytes(text, what, value);
}

tulle_status tulle_parse_type(const char *text, tulle_type *type)
{
    if (TULLE__NULL(text) || TULLE__NULL(type)) return TULLE_ERR_ARG;
    static const char *const names[TULLE_TYPE_COUNT] = {[TULLE_F32] = "f32", [TULLE_F64] = "f64"};
    int found;
    TULLE_CALL(tulle__name_parse("type", text, names, TULLE_TYPE_COUNT, &found));
    *type = (tulle_type)found;
    return TULLE_OK;
}

tulle_status tulle_parse_word(const char *text, const char *what, const char *const *words, int nwords, int *found)
{
    if (TULLE__NULL(text) || TULLE__NULL(what) || TULLE__NULL(words) || TULLE__NEGATIVE(nwords) || TULLE__NULL(found))
        return TULLE_ERR_ARG;
    return tulle__name_parse(what, text, words, nwords, found);
}

const char *tulle_nearest_word(const char *text, const char *const *words, int nwords)
{
    if (TULLE__NULL(text) || (nwords > 0 && TULLE__NULL(words))) return NULL;
    return tulle__nearest(text, words, nwords);
}

tulle_status tulle_fail(tulle_status status, const char *format, ...)
{
    char text[TULLE_MESSAGE_MAX];
    va_list args;
    if (TULLE__NULL(format) || TULLE__OUTSIDE(status, TULLE_STATUS_COUNT - 1)) return TULLE_ERR_ARG;
    va_start(args, format);
    tulle__decimal_vformat(text, sizeof text, format, args);
    va_end(args);
    return tulle__fail(status, "%s", text);
}
