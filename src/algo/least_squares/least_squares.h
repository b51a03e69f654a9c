/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_LEAST_SQUARES_LEAST_SQUARES_H
#define TULLE_LEAST_SQUARES_LEAST_SQUARES_H

#include <tulle/krylov.h>

/* Replaces zeros by defaults, and TULLE_NONE by 0. */
void tulle__least_squares_defaults(tulle_least_squares_options *options, tulle_type type);

#endif
