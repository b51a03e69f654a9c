/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ends of a spectrum. */
#include <tulle/spectrum.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/spec.h"

#define WORD(name, word, text) word,
static const char *const end_names[] = {TULLE_SPECTRUM_END_LIST(WORD)};
#undef WORD

const char *tulle_spectrum_end_name(tulle_spectrum_end end)
{
    return (unsigned)end < TULLE_SPECTRUM_END_COUNT ? end_names[end] : "unknown";
}

tulle_status tulle_spectrum_end_parse(const char *name, tulle_spectrum_end *end)
{
    if (TULLE__NULL(name) || TULLE__NULL(end)) return TULLE_ERR_ARG;
    int found = 0;
    tulle_status status = tulle__name_parse("end of the spectrum", name, end_names, TULLE_SPECTRUM_END_COUNT, &found);
    if (status == TULLE_OK) *end = (tulle_spectrum_end)found;
    return status;
}
