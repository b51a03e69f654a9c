/* SPDX-License-Identifier: Apache-2.0 */
/* The output files of a verb. */
#ifndef TULLE_TOOL_OUTPUTS_H
#define TULLE_TOOL_OUTPUTS_H

#include "option.h"

/*
 * Refuses, before any work, outputs that cannot be written or are also inputs: the matrix (NULL:
 * none), --history and --trace; and two outputs with one name. With several processes the first one checks; open_team
 * distributes the result.
 */
tulle_status try_outputs(const struct options *options, const char *matrix, tulle_kind kind);

/* The same for one file that is not a matrix, and its input files. */
tulle_status try_output(const char *path, const char *const *operand, int noperands);

/* The stream for reports: standard output, unless a matrix is written there. */
FILE *report_file(const struct options *options);

#endif
