/* SPDX-License-Identifier: Apache-2.0 */
/* The operand "-", and others that can be read only once: /dev/stdin, <(...), named pipes. */
#ifndef TULLE_TOOL_STANDARD_INPUT_H
#define TULLE_TOOL_STANDARD_INPUT_H

#include "option.h"

/*
 * If an operand is "-" or a pipe, makes it a regular file that begins at the current position, as PEs
 * read parts of it. A pipe is read to its end into an unnamed file in TMPDIR or /tmp; the operand of a named
 * one becomes /dev/fd/N. For one process.
 */
tulle_status take_standard_input(struct options *options);

/*
 * TULLE_ERR_UNSUPPORTED if an operand is "-" or a pipe and there are several processes: a launcher passes it
 * to one only.
 */
tulle_status allow_standard_input(const struct options *options, int64_t processes);

#endif
