/* SPDX-License-Identifier: Apache-2.0 */
/* --help and the man pages, from the verbs' tables. */
#ifndef TULLE_TOOL_VERB_HELP_H
#define TULLE_TOOL_VERB_HELP_H

#include "verb.h"

/* Help of the command, with its verbs; of a verb. Within 80 columns, but for examples. */
void help_all(const struct verb *const *verbs, int nverbs, FILE *file);
void help_verb(const struct verb *v, FILE *file);

/* The same as man pages in mdoc. */
void man_all(const struct verb *const *verbs, int nverbs, FILE *file);
void man_verb(const struct verb *v, FILE *file);

#endif
