/* SPDX-License-Identifier: Apache-2.0 */
#include "verb.h"
static tulle_status run(const struct options *options) { (void)options; return TULLE_OK; }
static const struct option options[] = {OPTION_HELP, {.name = NULL}};
const struct verb verb_plot = {.name = "plot", .operands = "", .summary = "", .description = "", .examples = "", .options = options, .run = run};
