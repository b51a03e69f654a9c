/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/option_readers.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum { METHODS = 32, NAMES = 400 };

/* "a, b and c" */
static const char *names_of(unsigned methods, const char *(*name)(int), char text[NAMES])
{
    int left = __builtin_popcount(methods);
    size_t at = 0;
    *text = '\0';
    for (int m = 0; m < METHODS; m++) {
        if (!(methods >> m & 1)) continue;
        at += (size_t)snprintf(text + at, NAMES - at, "%s%s", name(m), --left > 1 ? ", " : left ? " and " : "");
        if (at >= NAMES) return text;
    }
    return text;
}

tulle_status tulle__option_readers(const tulle__option_reader *options, int count, const char *(*name)(int method),
    int method, int automatic, unsigned *readers)
{
    char some[NAMES], others[NAMES];
    const tulle__option_reader *first = NULL;
    for (int i = 0; i < count; i++) {
        const tulle__option_reader *o = &options[i];
        if (!o->given) continue;
        if (method != automatic && !(o->readers >> method & 1))
            return tulle__fail(TULLE_ERR_ARG, "options.%s is read by %s only, not by %s", o->option,
                names_of(o->readers, name, some), name(method));
        if (!(*readers & o->readers))
            return first ? tulle__fail(TULLE_ERR_ARG, "options.%s is read by %s, and options.%s by %s: none reads both",
                               first->option, names_of(first->readers, name, some), o->option,
                               names_of(o->readers, name, others))
                         : tulle__fail(TULLE_ERR_ARG, "options.%s is read by %s only", o->option,
                               names_of(o->readers, name, some));
        *readers &= o->readers;
        first = o;
    }
    return TULLE_OK;
}
