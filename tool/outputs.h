/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a verb writes. */
#ifndef TULLE_TOOL_OUTPUTS_H
#define TULLE_TOOL_OUTPUTS_H

#include "option.h"

/*
 * Refuses, before any work, what could not be written or is one of the files that are read: the matrix (NULL: none is
 * written), --history and --trace. Of several processes the first looks; open_team tells the others.
 */
tulle_status try_outputs(const struct options *options, const char *matrix, tulle_kind kind);

/* The same of one file that is no matrix and of the files that it is made of. */
tulle_status try_output(const char *path, const char *const *operand, int noperands);

/* Where reports go: standard output, unless that is where the matrix of -o goes. */
FILE *report_file(const struct options *options);

#endif
