/* SPDX-License-Identifier: Apache-2.0 */
/* Singular or plural: "1 entry", "2 entries". */
#ifndef TULLE_TOOL_PLURAL_H
#define TULLE_TOOL_PLURAL_H

#include <stdint.h>

static inline const char *plural(int64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

#endif
