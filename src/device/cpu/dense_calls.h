/* SPDX-License-Identifier: Apache-2.0 */
/* Dense blocks of a sparse triangle. */
#ifndef TULLE_DEVICE_CPU_DENSE_CALLS_H
#define TULLE_DEVICE_CPU_DENSE_CALLS_H

#include "device/kernel.h"

void tulle__dense_subtract(const tulle__dense_task *task);
void tulle__dense_substitute(const tulle__dense_task *task, int upper, int unit);
void tulle__dense_alone(void);

#endif
