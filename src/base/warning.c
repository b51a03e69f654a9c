/* SPDX-License-Identifier: Apache-2.0 */
#include "base/warning.h"
#include "base/decimal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tulle__warn(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    tulle__decimal_vformat(text + used, size - used, format, args);
    va_end(args);
    const size_t end = strlen(text);
    if (end + 1 < size) memcpy(text + end, "\n", 2);
}
