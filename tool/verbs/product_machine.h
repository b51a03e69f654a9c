/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of this machine that a product's bound and prediction take: kept, measured now, or of its kind. */
#ifndef TULLE_TOOL_PRODUCT_MACHINE_H
#define TULLE_TOOL_PRODUCT_MACHINE_H

#include "verbs/product_operands.h"

/*
 * Seconds that one product may take with figures of the kind of processor, from sizes alone. Entries
 * of a sparse product meet by chance in this estimate; where rows are of unequal length they meet
 * some ten times as often, which is what it assumes.
 */
double product_work(const struct product *p, const tulle_operand_shape shape[2]);

/*
 * Sets p->machine for so many threads: the figures that are kept, else measured ones, which are kept
 * then. Work of fewer seconds than the measurement, --memory below what that takes, or no place to
 * keep them: those of the kind of processor. More threads than cores perform like as many threads
 * as cores: measuring them would measure their waits.
 */
tulle_status product_machine(struct product *p, double work, int all);

#endif
