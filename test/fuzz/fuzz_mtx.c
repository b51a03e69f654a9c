/* SPDX-License-Identifier: Apache-2.0 */
/* The first byte chooses options; then the quick parser in one part and the careful one in several must agree. */
#include "fuzz_mtx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    unsigned bits = data[0];
    const char *path = fuzz_file(data + 1, size - 1);
    tulle__mtx_options options = {.lenient = bits & 1,
        .zero_based = bits >> 1 & 1,
        .finite_only = bits >> 2 & 1,
        .drop_zeros = bits >> 3 & 1,
        .assume = (bits >> 4 & 3) == 3 ? "matrix coordinate real symmetric" : NULL};
    tulle_type type = bits >> 6 & 1 ? TULLE_F32 : TULLE_F64;
    struct outcome quick, careful;
    options.block = 4096;
    read_matrix(path, &options, 1, type, &quick);
    options.careful = 1;
    options.block = (int64_t)size / 4 + 1 + (bits >> 3 & 31); /* a few blocks: each is a system call */
    read_matrix(path, &options, 1 + (int)(bits >> 5 & 3), type, &careful);
    /* of several mistakes another may be found first: too many numbers are counted after each block or part */
    REQUIRE((quick.status == TULLE_OK) == (careful.status == TULLE_OK));
    if (!quick.array && !strstr(quick.message, "the size line") && !strstr(careful.message, "the size line"))
        REQUIRE(quick.status == careful.status);
    if (quick.status == TULLE_OK) {
        quick.stats.bytes = careful.stats.bytes; /* a newline may have been added */
        REQUIRE(quick.hash == careful.hash && memcmp(&quick.stats, &careful.stats, sizeof quick.stats) == 0);
    } else {
        REQUIRE(quick.message[0] || quick.array);
    }
    return 0;
}
