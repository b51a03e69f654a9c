/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON description of a Binsparse file against data sets whose types and sizes the first bytes choose. (HDF5 itself
 * is not fuzzed: what it makes of damaged files is its own affair.)
 */
#include "base/memory.h"
#include "fuzz.h"
#include "io/binsparse/binsparse_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < TULLE__BINSPARSE_ARRAYS) return 0;
    tulle__binsparse_header head = {0};
    for (int w = 0; w < TULLE__BINSPARSE_ARRAYS; w++) {
        unsigned bits = data[w];
        head.array[w] = (tulle__binsparse_array){.present = (bits & 7) != 7,
            .kind = "iuf"[bits % 3],
            .size = 1 << (bits >> 3 & 3),
            .count = bits >> 5,
            .offset = 0};
        if (head.array[w].kind == 'f' && head.array[w].size < 4) head.array[w].size = 8;
        if (!head.array[w].present) head.array[w] = (tulle__binsparse_array){.offset = -1};
    }
    size -= TULLE__BINSPARSE_ARRAYS;
    char *text = malloc(size + 1);
    REQUIRE(text);
    memcpy(text, data + TULLE__BINSPARSE_ARRAYS, size);
    text[size] = '\0';
    if (tulle__binsparse_describe("file", text, &head) == TULLE_OK) {
        REQUIRE(head.rows >= 0 && head.cols >= 0 && head.stored >= 0);
        REQUIRE(head.array[TULLE__BINSPARSE_VALUES].present);
        REQUIRE(head.block >= 1 && head.block <= 64 && head.count >= 0 && head.nnz >= -1 && head.span >= -1);
        REQUIRE(head.structure == TULLE__BINSPARSE_GENERAL || head.rows == head.cols);
        REQUIRE(head.format > TULLE__BINSPARSE_BSR || head.array[TULLE__BINSPARSE_POINTERS].count > 0);
    } else {
        REQUIRE(tulle_error_message()[0]);
    }
    free(text);
    return 0;
}
