/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ends of a spectrum. */
#include <tulle/spectrum.h>

#include "base/arg.h"
#include "base/spec.h"
#include "base/words/names.h"

TULLE__WORDS(ends, TULLE_SPECTRUM_END_LIST);
TULLE__NAME(tulle_spectrum_end, end, ends)
TULLE__PARSE(tulle_spectrum_end, end, ends, "end of the spectrum")
