/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that multiplied on a device, where they are not the ones that were asked for. */
#ifndef TULLE_TOOL_KERNELS_H
#define TULLE_TOOL_KERNELS_H

#include <stdio.h>

/* refused: bits of tulle_refused. A line "BEFOREkernels: own (cuSPARSE does not support ...)"; nothing if it is 0. */
void kernels_text(const char *before, int refused, FILE *file);

/* The member "kernels" of a JSON object: the same words, or null; with a comma before it. */
void kernels_json(int refused, FILE *file);

#endif
