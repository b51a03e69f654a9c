/* SPDX-License-Identifier: Apache-2.0 */
/* Width and style of a report on the terminal that it goes to. */
#ifndef TULLE_TOOL_TERMINAL_H
#define TULLE_TOOL_TERMINAL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* True if lines of so many columns fit: always into a file or a pipe, and with --wide. */
int terminal_fits(FILE *file, int columns, int wide);

/* "passed" or "FAILED"; green or red on a terminal, unless NO_COLOR is set or it has no colours. */
const char *passed_word(int passed, FILE *file);

/* ", 2 rows not finite"; "" for none; returns text. */
const char *infinite_rows(int64_t rows, char *text, size_t size);

#endif
