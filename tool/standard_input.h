/* SPDX-License-Identifier: Apache-2.0 */
/* The operand "-". */
#ifndef TULLE_TOOL_STANDARD_INPUT_H
#define TULLE_TOOL_STANDARD_INPUT_H

#include "option.h"

/*
 * If an operand is "-", makes standard input a regular file that begins at the current position, as
 * PEs read parts of it. A pipe is read to its end into an unnamed file in TMPDIR or /tmp. For one
 * process.
 */
tulle_status take_standard_input(const struct options *options);

/*
 * TULLE_ERR_UNSUPPORTED if an operand is "-" and there are several processes: a launcher passes it
 * to one only.
 */
tulle_status allow_standard_input(const struct options *options, int64_t processes);

#endif
