/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TOOL_PREDICT_GEMM_H
#define TULLE_TOOL_PREDICT_GEMM_H

#include "option.h"

/* tulle predict gemm: the grid of a dense product, its volume, memory and time. */
tulle_status predict_gemm(const struct options *options);

#endif
