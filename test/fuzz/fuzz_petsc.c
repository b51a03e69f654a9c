/* SPDX-License-Identifier: Apache-2.0 */
/* PETSc's files: whatever opens is read by one part and by three alike, with indices inside of the matrix. */
#include "../gate.h"
#include "base/memory.h"
#include "fuzz.h"
#include "io/petsc/petsc.h"

/* A sum over all entries that depends on their order; 0: reading failed. */
static uint64_t read_parts(tulle__petsc *petsc, int nparts)
{
    const tulle__petsc_header *head = tulle__petsc_head(petsc);
    uint64_t hash = 1;
    tulle_status status = TULLE_OK;
    for (int p = 0; p < nparts && status == TULLE_OK; p++) {
        tulle__entries e;
        status = tulle__petsc_parse(petsc, p, nparts, open_gate(TULLE_F64), &e);
        for (int64_t i = 0; i < e.count && status == TULLE_OK; i++) {
            int64_t row = tulle__entries_row(&e, i), col = tulle__entries_col(&e, i);
            double value = tulle__entries_val(&e, i);
            uint64_t bits;
            REQUIRE(row >= 0 && row < head->rows && col >= 0 && col < head->cols);
            memcpy(&bits, &value, sizeof bits);
            hash = ((hash * 31 + (uint64_t)row) * 31 + (uint64_t)col) * 31 + bits;
        }
        tulle__entries_fini(&e);
    }
    REQUIRE(status == TULLE_OK || tulle_error_message()[0]);
    return status == TULLE_OK ? hash | 1 : 0;
}

static void read_dense(tulle__petsc *petsc)
{
    static double to[1 << 16];
    const tulle__petsc_header *head = tulle__petsc_head(petsc);
    if (head->stored > 1 << 16) return;
    REQUIRE(tulle__petsc_read(petsc, open_gate(TULLE_F64), 0, head->rows, 0, head->cols, TULLE_ROW_MAJOR, head->cols,
                to) == TULLE_OK);
}

/* A strict reader refuses exactly the entries that the other one counts. */
static void read_strictly(tulle__petsc *petsc)
{
    tulle__entries e;
    tulle__gate *gate = open_gate(TULLE_F64);
    const tulle_status status = tulle__petsc_parse(petsc, 0, 1, gate, &e);
    tulle__entries_fini(&e);
    if (status != TULLE_OK) return;
    REQUIRE((tulle__petsc_parse(petsc, 0, 1, strict_gate(TULLE_F64), &e) == TULLE_OK) == (refused_counts(gate) == 0));
    tulle__entries_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    tulle__petsc *petsc;
    if (tulle__petsc_open(path, &petsc) != TULLE_OK) {
        REQUIRE(tulle_error_message()[0] && tulle__account_blocks(tulle__account_current()) == 0);
        return 0;
    }
    const tulle__petsc_header *head = tulle__petsc_head(petsc);
    REQUIRE(head->rows >= 0 && head->cols >= 0 && head->stored >= 0);
    if (head->dense)
        read_dense(petsc);
    else {
        REQUIRE(read_parts(petsc, 1) == read_parts(petsc, 3));
        read_strictly(petsc);
    }
    tulle__petsc_close(petsc);
    REQUIRE(tulle__account_blocks(tulle__account_current()) == 0);
    return 0;
}
