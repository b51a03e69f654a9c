/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the methods for least squares. */
#include <tulle/krylov.h>

#include "base/arg.h"
#include "base/spec.h"
#include "base/words/names.h"

TULLE__WORDS(methods, TULLE_LEAST_SQUARES_METHOD_LIST);
TULLE__NAME(tulle_least_squares_method, method, methods)
TULLE__PARSE(tulle_least_squares_method, method, methods, "method")
