/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar types, index types and memory orders shared by all headers. */
#ifndef TULLE_TYPES_H
#define TULLE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t tulle_gidx; /* global rows, columns and counts of non-zeros */
typedef int32_t tulle_lidx; /* a column inside a tile */

typedef enum tulle_type { TULLE_F64, TULLE_F32, TULLE_TYPE_COUNT } tulle_type;
typedef enum tulle_order { TULLE_ROW_MAJOR, TULLE_COL_MAJOR } tulle_order;
typedef enum tulle_uplo { TULLE_LOWER, TULLE_UPPER } tulle_uplo;
typedef enum tulle_diag { TULLE_DIAG_STORED, TULLE_DIAG_UNIT } tulle_diag; /* UNIT: ones, whatever is stored */
typedef enum tulle_op { TULLE_OP_N, TULLE_OP_T } tulle_op;                 /* op(A) = A, or its transpose */

/*
 * Numeric options. 0 is always the default. TULLE_AUTO: the library's choice, where that is not the
 * default. TULLE_NONE: none, where 0 means the default. Every options struct begins with its size,
 * sizeof the struct; 0 means the struct of the first release.
 */
enum { TULLE_AUTO = -1, TULLE_NONE = -2 };

TULLE_API size_t tulle_type_size(tulle_type type);
TULLE_API const char *tulle_type_name(tulle_type type); /* "f32", "f64" */

#ifdef __cplusplus
}
#endif
#endif
