/* SPDX-License-Identifier: Apache-2.0 */
/* SciPy's sparse files: whatever opens is read by one part and by three alike, with indices inside the matrix. */
#include "../gate.h"
#include "base/memory.h"
#include "fuzz.h"
#include "io/npy/npz.h"

/* A sum over all entries that depends on their order; 0: reading failed. */
static uint64_t read_parts(tulle__npz *npz, int nparts)
{
    const tulle__npz_header *head = tulle__npz_head(npz);
    tulle__npz_sums sums[3];
    uint64_t hash = 1;
    tulle_status status = TULLE_OK;
    for (int p = 0; p < nparts && status == TULLE_OK; p++) {
        tulle__entries e;
        status = tulle__npz_parse(npz, p, nparts, open_gate(TULLE_F64), &e, &sums[p]);
        for (int64_t i = 0; i < e.count && status == TULLE_OK; i++) {
            int64_t row = tulle__entries_row(&e, i), col = tulle__entries_col(&e, i);
            double value = tulle__entries_val(&e, i);
            uint64_t bits;
            REQUIRE(row >= 0 && row < head->rows && col >= 0 && col < head->cols);
            memcpy(&bits, &value, sizeof bits);
            hash = hash * 31 + (uint64_t)row;
            hash = hash * 31 + (uint64_t)col;
            hash = hash * 31 + bits;
        }
        tulle__entries_fini(&e);
    }
    if (status == TULLE_OK) status = tulle__npz_check(npz, nparts, sums);
    REQUIRE(status == TULLE_OK || tulle_error_message()[0]);
    return status == TULLE_OK ? hash | 1 : 0;
}

/* A strict reader refuses exactly the entries that the other one counts. */
static void read_strictly(tulle__npz *npz)
{
    tulle__entries e;
    tulle__npz_sums sums;
    tulle__gate *gate = open_gate(TULLE_F64);
    const tulle_status status = tulle__npz_parse(npz, 0, 1, gate, &e, &sums);
    tulle__entries_fini(&e);
    if (status != TULLE_OK) return;
    REQUIRE(
        (tulle__npz_parse(npz, 0, 1, strict_gate(TULLE_F64), &e, &sums) == TULLE_OK) == (refused_counts(gate) == 0));
    tulle__entries_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    tulle__npz *npz;
    if (tulle__npz_open(path, &npz) != TULLE_OK) {
        REQUIRE(tulle_error_message()[0] && tulle__account_blocks(tulle__account_current()) == 0);
        return 0;
    }
    const tulle__npz_header *head = tulle__npz_head(npz);
    REQUIRE(head->rows >= 0 && head->cols >= 0 && head->stored >= 0);
    if (head->stored <= 1 << 16) {
        REQUIRE(read_parts(npz, 1) == read_parts(npz, 3));
        read_strictly(npz);
    }
    tulle__npz_close(npz);
    REQUIRE(tulle__account_blocks(tulle__account_current()) == 0);
    return 0;
}
