/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of command lines for shells, from the verbs' tables. */
#ifndef TULLE_TOOL_COMPLETION_H
#define TULLE_TOOL_COMPLETION_H

#include "verb.h"

/* Prints the script of a shell, bash or zsh; TULLE_ERR_ARG for any other. */
tulle_status completion(const char *shell, const struct verb *const *verbs, int nverbs, FILE *file);

#endif
