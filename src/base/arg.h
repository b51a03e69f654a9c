/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of public functions' arguments. Each macro is true if the argument is wrong, and has then
 * set a message that names the function and the argument. A function begins with
 *
 *   if (TULLE__NULL(A) || TULLE__OUTSIDE(order, TULLE_COL_MAJOR)) return TULLE_ERR_ARG;
 *
 * or, if it is collective, with `return tulle__refuse(comm);` (comm/comm.h), which notifies the
 * other PEs.
 */
#ifndef TULLE_BASE_ARG_H
#define TULLE_BASE_ARG_H

#include <stdint.h>

/* All return 1. */
int tulle__arg_null(const char *function, const char *name);
int tulle__arg_outside(const char *function, const char *name, int value, int last);
int tulle__arg_negative(const char *function, const char *name, int64_t value);

/* `name`: if callers know it by another name */
#define TULLE__NULL_AS(pointer, name) (!(pointer) && tulle__arg_null(__func__, name))
#define TULLE__NULL(pointer) TULLE__NULL_AS(pointer, #pointer)
/* A value outside an enum's 0 ... last. */
#define TULLE__OUTSIDE(value, last)                                                                                    \
    ((unsigned)(value) > (unsigned)(last) && tulle__arg_outside(__func__, #value, (int)(value), (int)(last)))
#define TULLE__NEGATIVE(count) ((count) < 0 && tulle__arg_negative(__func__, #count, (int64_t)(count)))

#endif
