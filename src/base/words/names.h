/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a public enum, from its list of X(name, word, text): a table, and the functions tulle_X_name and
 * tulle_X_parse over it.
 */
#ifndef TULLE_BASE_NAMES_H
#define TULLE_BASE_NAMES_H

#include "base/arg.h"
#include "base/spec.h"

#define TULLE__WORD(name, word, text) word,

/* static const char *const table[] */
#define TULLE__WORDS(table, LIST) static const char *const table[] = {LIST(TULLE__WORD)}

/* The word of a value of `type`; "unknown" outside the table. */
#define TULLE__NAME(type, value, table)                                                                                \
    const char *type##_name(type value)                                                                                \
    {                                                                                                                  \
        return (size_t)value < sizeof table / sizeof *table ? table[value] : "unknown";                                \
    }

/* The value of a word in any case; TULLE_ERR_ARG, with `what` and all words, for others. */
#define TULLE__PARSE(type, value, table, what)                                                                         \
    tulle_status type##_parse(const char *name, type *value)                                                           \
    {                                                                                                                  \
        int found = 0;                                                                                                 \
        if (TULLE__NULL(name) || TULLE__NULL(value)) return TULLE_ERR_ARG;                                             \
        const tulle_status status = tulle__name_parse(what, name, table, (int)(sizeof table / sizeof *table), &found); \
        if (status == TULLE_OK) *value = (type)found;                                                                  \
        return status;                                                                                                 \
    }

#endif
