/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TOOL_PREDICT_SPECTRUM_H
#define TULLE_TOOL_PREDICT_SPECTRUM_H

#include "option.h"

/* tulle predict WORD A: passes over A, their bytes and time, and the memory of a PE. Only the header of A is read. */
tulle_status predict_spectrum(const struct options *options);

#endif
