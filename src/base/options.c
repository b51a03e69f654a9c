/* SPDX-License-Identifier: Apache-2.0 */
#include "base/options.h"

#include <string.h>

#include <tulle/status.h>

#include "base/error.h"

/* Larger than any options struct: a size above is uninitialised memory. */
enum { SIZE_MOST = 1 << 16 };

int tulle__options_read(const char *function, const void *given, size_t first, size_t known, void *options)
{
    size_t size = 0;
    memset(options, 0, known);
    if (!given) return 0;
    memcpy(&size, given, sizeof size);
    if (size == 0) size = first;
    if (size < first || size > SIZE_MOST) {
        tulle__fail(TULLE_ERR_ARG,
            "%s: options.size is %zu, but the options have at least %zu bytes; 0 stands for these", function, size,
            first);
        return 1;
    }
    const unsigned char *byte = given;
    for (size_t b = known; b < size; b++)
        if (byte[b]) {
            tulle__fail(TULLE_ERR_ARG, "%s: byte %zu of the options is set, but this library knows the first %zu only",
                function, b, known);
            return 1;
        }
    memcpy(options, given, size < known ? size : known);
    if (size > known) memcpy(options, &known, sizeof known); /* the copy has no more, and is passed on */
    return 0;
}

void tulle__options_write(void *given, size_t first, size_t known, const void *options)
{
    size_t size = 0;
    memcpy(&size, given, sizeof size);
    if (size == 0) size = first;
    const size_t bytes = size < known ? size : known;
    memcpy((char *)given + sizeof size, (const char *)options + sizeof size, bytes - sizeof size);
}
