/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TOOL_PREDICT_WORDS_H
#define TULLE_TOOL_PREDICT_WORDS_H

#include "option.h"

/* The subject of a prediction: a product of A, or what the first operand names. */
enum predicted { PREDICT_PRODUCT, PREDICT_GEMM, PREDICT_EIG, PREDICT_LOBPCG, PREDICT_SVD, PREDICT_PCA, PREDICTED };

enum predicted predict_what(const struct options *o);
const char *predict_word(enum predicted what);

/* Refuses options that are not read for it, and names what they are for. */
tulle_status predict_check_options(const struct options *o, enum predicted what);

#endif
