/* SPDX-License-Identifier: Apache-2.0 */
/*
 * required_rows.h as a source: lists of rows, tiles cached for the node, and rows that others have
 * delegated.
 */
#ifndef TULLE_PRODUCT_REQUIRED_SOURCE_H
#define TULLE_PRODUCT_REQUIRED_SOURCE_H

#include "algo/product/source/required_rows.h"
#include "algo/product/source/source.h"

typedef struct tulle__required_source {
    tulle__source source;
    tulle__required *required;
    const tulle__operands *operands;
    tulle__waiting waiting;
} tulle__required_source;

tulle__source *tulle__required_source_init(
    tulle__required_source *source, tulle__source *below, tulle__required *required, const tulle__operands *operands);

#endif
