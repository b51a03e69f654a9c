/* SPDX-License-Identifier: Apache-2.0 */
/* A NumPy file: whatever opens can be read, the whole and a part of it alike. */
#include "../gate.h"
#include "base/memory.h"
#include "fuzz.h"
#include "io/npy/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static double whole[1 << 16], part[1 << 16];
    const char *path = fuzz_file(data, size);
    tulle__npy *npy;
    if (tulle__npy_open(path, &npy) != TULLE_OK) {
        REQUIRE(tulle_error_message()[0] && tulle__account_blocks(tulle__account_current()) == 0);
        return 0;
    }
    const tulle__npy_header *head = tulle__npy_head(npy);
    REQUIRE(head->rows >= 0 && head->cols >= 0);
    if (head->rows < 1 << 16 && head->cols < 1 << 16 && head->rows * head->cols <= 1 << 16) {
        tulle__gate *gate = open_gate(TULLE_F64);
        int64_t r = head->rows / 3, c = head->cols / 2, nr = head->rows - r, nc = head->cols - c;
        REQUIRE(
            tulle__npy_read(npy, gate, 0, head->rows, 0, head->cols, TULLE_ROW_MAJOR, head->cols, whole) == TULLE_OK);
        const int64_t odd = refused_counts(gate);
        REQUIRE((tulle__npy_read(npy, strict_gate(TULLE_F64), 0, head->rows, 0, head->cols, TULLE_ROW_MAJOR, head->cols,
                     part) == TULLE_OK) == (odd == 0));
        REQUIRE(tulle__npy_read(npy, open_gate(TULLE_F64), r, nr, c, nc, TULLE_COL_MAJOR, nr, part) == TULLE_OK);
        for (int64_t i = 0; i < nr; i++)
            for (int64_t j = 0; j < nc; j++)
                REQUIRE(memcmp(&part[j * nr + i], &whole[(r + i) * head->cols + c + j], sizeof(double)) == 0);
    }
    tulle__npy_close(npy);
    REQUIRE(tulle__account_blocks(tulle__account_current()) == 0);
    return 0;
}
