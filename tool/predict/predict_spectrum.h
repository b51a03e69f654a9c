/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TOOL_PREDICT_SPECTRUM_H
#define TULLE_TOOL_PREDICT_SPECTRUM_H

#include "option.h"

/* 1: the word is eig, lobpcg, svd or pca. */
int predict_spectrum_word(const char *word);

/* tulle predict WORD A: passes over A, their bytes and time, and the memory of a PE. Only the header of A is read. */
tulle_status predict_spectrum(const struct options *options);

#endif
