/* SPDX-License-Identifier: Apache-2.0 */
/* The operand "-". */
#ifndef TULLE_TOOL_STANDARD_INPUT_H
#define TULLE_TOOL_STANDARD_INPUT_H

#include "option.h"

/*
 * If an operand is "-", makes standard input a regular file that begins where the input is: PEs read parts of it. What
 * comes through a pipe is read to its end and lies in a file without a name, in TMPDIR or /tmp. For one process.
 */
tulle_status take_standard_input(const struct options *options);

/* TULLE_ERR_UNSUPPORTED if an operand is "-" and there are several processes, of which a launcher gives it to one. */
tulle_status allow_standard_input(const struct options *options, int64_t processes);

#endif
