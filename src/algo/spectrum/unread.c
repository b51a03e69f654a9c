/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/spectrum/unread.h"

#include "base/error.h"

tulle_status tulle__spectrum_passes_alone(int passes, double tolerance, int64_t max_passes)
{
    if (!passes || (tolerance == 0 && !max_passes)) return TULLE_OK;
    return tulle__fail(TULLE_ERR_ARG,
        "options.%s is read without options.passes only, which are so many whatever the residuals are",
        max_passes ? "max_passes" : "tolerance");
}

tulle_status tulle__spectrum_unread(const tulle_spectrum_options *o)
{
    const struct {
        const char *option;
        bool unread;
        const char *reader;
    } rows[] = {{"degree", o->degree && !o->chebyshev, "with options.chebyshev"},
        {"sigma", o->sigma != 0 && !o->nearest, "with options.nearest"}, {"guess", o->guess, "by LOBPCG"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (rows[r].unread)
            return tulle__fail(TULLE_ERR_ARG, "options.%s is read %s only", rows[r].option, rows[r].reader);
    return tulle__spectrum_passes_alone(o->passes, o->tolerance, o->max_passes);
}
