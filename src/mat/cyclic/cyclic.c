/* SPDX-License-Identifier: Apache-2.0 */
#include "mat/cyclic/cyclic.h"

#include <inttypes.h>
#include <limits.h>

#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"

tulle_gidx tulle__axis_below(const tulle__cyclic_axis *axis, int part, tulle_gidx index)
{
    tulle_gidx blocks = index / axis->block, rest = index % axis->block;
    int turn = (axis->parts + part - axis->source) % axis->parts; /* the part's turn in each round of blocks */
    tulle_gidx rounds = blocks / axis->parts, last = blocks % axis->parts;
    return rounds * axis->block + (turn < last ? axis->block : turn == last ? rest : 0);
}

int tulle__cyclic_position(const tulle_cyclic *x, int rank, int *row, int *col)
{
    for (int p = 0; p < x->grid_rows; p++)
        for (int q = 0; q < x->grid_cols; q++)
            if (tulle__cyclic_rank(x, p, q) == rank) {
                *row = p;
                *col = q;
                return 1;
            }
    return 0;
}

tulle_gidx tulle_cyclic_local_rows(const tulle_cyclic *cyclic, int rank)
{
    int p, q;
    if (TULLE__NULL(cyclic) || cyclic->row_block < 1 || !tulle__cyclic_position(cyclic, rank, &p, &q)) return 0;
    const tulle__cyclic_axis axis = tulle__axis_rows(cyclic);
    return tulle__axis_below(&axis, p, axis.n);
}

tulle_gidx tulle_cyclic_local_cols(const tulle_cyclic *cyclic, int rank)
{
    int p, q;
    if (TULLE__NULL(cyclic) || cyclic->col_block < 1 || !tulle__cyclic_position(cyclic, rank, &p, &q)) return 0;
    const tulle__cyclic_axis axis = tulle__axis_cols(cyclic);
    return tulle__axis_below(&axis, q, axis.n);
}

/* ---- descriptors ---- */

enum { DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD };
enum { DENSE_TYPE = 1 };

static const char *const entry_names[TULLE_DESCRIPTOR_LENGTH] = {
    "DTYPE_", "CTXT_", "M_", "N_", "MB_", "NB_", "RSRC_", "CSRC_", "LLD_"};

static tulle_status check_entry(const int *descriptor, int entry, int least, int most)
{
    if (descriptor[entry] >= least && descriptor[entry] <= most) return TULLE_OK;
    if (least == most)
        return tulle__fail(TULLE_ERR_ARG, "entry %d (%s) of the descriptor is %d instead of %d", entry + 1,
            entry_names[entry], descriptor[entry], least);
    if (most == INT_MAX)
        return tulle__fail(TULLE_ERR_ARG, "entry %d (%s) of the descriptor is %d: it must be at least %d", entry + 1,
            entry_names[entry], descriptor[entry], least);
    return tulle__fail(TULLE_ERR_ARG, "entry %d (%s) of the descriptor is %d: it must be from %d to %d", entry + 1,
        entry_names[entry], descriptor[entry], least, most);
}

tulle_status tulle_cyclic_from_descriptor(
    const int *descriptor, int grid_rows, int grid_cols, tulle_cyclic *cyclic, int64_t *ld)
{
    if (TULLE__NULL(descriptor) || TULLE__NEGATIVE(grid_rows) || TULLE__NEGATIVE(grid_cols) || TULLE__NULL(cyclic) ||
        TULLE__NULL(ld))
        return TULLE_ERR_ARG;
    if (!grid_rows || !grid_cols)
        return tulle__fail(TULLE_ERR_ARG, "a grid of %d x %d PEs is empty", grid_rows, grid_cols);
    const int *d = descriptor;
    TULLE_CALL(check_entry(d, DTYPE, DENSE_TYPE, DENSE_TYPE));
    TULLE_CALL(check_entry(d, M, 0, INT_MAX));
    TULLE_CALL(check_entry(d, N, 0, INT_MAX));
    TULLE_CALL(check_entry(d, MB, 1, INT_MAX));
    TULLE_CALL(check_entry(d, NB, 1, INT_MAX));
    TULLE_CALL(check_entry(d, RSRC, 0, grid_rows - 1));
    TULLE_CALL(check_entry(d, CSRC, 0, grid_cols - 1));
    TULLE_CALL(check_entry(d, LLD, 1, INT_MAX));
    *cyclic = (tulle_cyclic){.m = d[M],
        .n = d[N],
        .row_block = d[MB],
        .col_block = d[NB],
        .grid_rows = grid_rows,
        .grid_cols = grid_cols,
        .row_source = d[RSRC],
        .col_source = d[CSRC]};
    *ld = d[LLD];
    return TULLE_OK;
}

tulle_status tulle_cyclic_to_descriptor(const tulle_cyclic *cyclic, int context, int64_t ld, int *descriptor)
{
    if (TULLE__NULL(cyclic) || TULLE__NEGATIVE(context) || TULLE__NEGATIVE(ld) || TULLE__NULL(descriptor))
        return TULLE_ERR_ARG;
    const int64_t figure[TULLE_DESCRIPTOR_LENGTH] = {DENSE_TYPE, context, cyclic->m, cyclic->n, cyclic->row_block,
        cyclic->col_block, cyclic->row_source, cyclic->col_source, ld};
    int32_t entry[TULLE_DESCRIPTOR_LENGTH];
    for (int e = 0; e < TULLE_DESCRIPTOR_LENGTH; e++) {
        TULLE_CALL(tulle__narrow(figure[e], entry_names[e], &entry[e]));
    }
    for (int e = 0; e < TULLE_DESCRIPTOR_LENGTH; e++) descriptor[e] = entry[e];
    return TULLE_OK;
}

/* ---- checks ---- */

/* The ranks of the grid are PEs of the comm, and differ. */
static tulle_status check_ranks(const tulle_cyclic *x, const char *name, int npes)
{
    tulle_status status = TULLE_OK;
    char *seen = NULL;
    if (!x->rank) return TULLE_OK;
    TULLE_TRY(tulle__alloc_zero((size_t)npes, 1, "ranks of a grid", &seen));
    for (int at = 0; at < x->grid_rows * x->grid_cols; at++) {
        int rank = x->rank[at];
        if (rank < 0 || rank >= npes || seen[rank]) {
            status = tulle__fail(TULLE_ERR_ARG, "%s: rank %d of its grid %s", name, rank,
                rank < 0 || rank >= npes ? "is no PE of the team" : "is there twice");
            break;
        }
        seen[rank] = 1;
    }
out:
    tulle__free(seen);
    return status;
}

static tulle_status check_shape(const tulle_cyclic *x, const char *name, int npes)
{
    if (x->m < 0 || x->n < 0)
        return tulle__fail(TULLE_ERR_ARG, "%s: a matrix cannot be %" PRId64 " x %" PRId64, name, x->m, x->n);
    if (x->row_block < 1 || x->col_block < 1)
        return tulle__fail(TULLE_ERR_ARG, "%s: blocks of %" PRId64 " x %" PRId64 " elements: at least 1 x 1", name,
            x->row_block, x->col_block);
    if (x->grid_rows < 1 || x->grid_cols < 1 || (int64_t)x->grid_rows * x->grid_cols > npes)
        return tulle__fail(
            TULLE_ERR_ARG, "%s: a grid of %d x %d does not fit %d PEs", name, x->grid_rows, x->grid_cols, npes);
    if (x->row_source < 0 || x->row_source >= x->grid_rows || x->col_source < 0 || x->col_source >= x->grid_cols)
        return tulle__fail(TULLE_ERR_ARG, "%s: the first block lies at (%d, %d) of a grid of %d x %d", name,
            x->row_source, x->col_source, x->grid_rows, x->grid_cols);
    return check_ranks(x, name, npes);
}

tulle_status tulle__cyclic_check(
    const char *function, const tulle_cyclic_part *part, const char *name, int npes, int rank, const void *val)
{
    int p = 0, q = 0;
    const tulle_cyclic *x = part->cyclic;
    TULLE_CALL(check_shape(x, name, npes));
    if (part->row < 0 || part->col < 0 || part->m < 0 || part->n < 0 || part->row > x->m || part->col > x->n ||
        part->m > x->m - part->row || part->n > x->n - part->col)
        return tulle__fail(TULLE_ERR_ARG,
            "%s: a part of %" PRId64 " x %" PRId64 " at (%" PRId64 ", %" PRId64 ") is outside of %" PRId64
            " x %" PRId64,
            name, part->m, part->n, part->row, part->col, x->m, x->n);
    if (!tulle__cyclic_position(x, rank, &p, &q)) return TULLE_OK;
    const tulle__cyclic_axis rows = tulle__axis_rows(x), cols = tulle__axis_cols(x);
    tulle_gidx local = tulle__axis_below(&rows, p, x->m);
    if (part->ld < 1 || part->ld < local)
        return tulle__fail(TULLE_ERR_ARG,
            "%s: its leading dimension (LLD_) is %" PRId64 ", but PE %d has %" PRId64 " local %s", name, part->ld, rank,
            local, tulle__plural(local, "row", "rows"));
    int64_t own = (tulle__axis_below(&rows, p, part->row + part->m) - tulle__axis_below(&rows, p, part->row)) *
                  (tulle__axis_below(&cols, q, part->col + part->n) - tulle__axis_below(&cols, q, part->col));
    if (own && !val) return tulle__arg_null(function, name), TULLE_ERR_ARG;
    return TULLE_OK;
}

/* Order-dependent; equal inputs give equal results. */
static uint64_t mixed(uint64_t hash, int64_t value)
{
    hash = (hash ^ (uint64_t)value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

tulle_status tulle__cyclic_same(tulle_comm *comm, int parts, const tulle_cyclic_part *const *part)
{
    uint64_t hash = 0;
    for (int i = 0; i < parts; i++) {
        const tulle_cyclic *x = part[i]->cyclic;
        const int64_t figure[] = {x->m, x->n, x->row_block, x->col_block, x->grid_rows, x->grid_cols, x->row_source,
            x->col_source, part[i]->row, part[i]->col, part[i]->m, part[i]->n};
        for (size_t f = 0; f < sizeof figure / sizeof *figure; f++) hash = mixed(hash, figure[f]);
        for (int at = 0; at < x->grid_rows * x->grid_cols; at++)
            hash = mixed(hash, tulle__cyclic_rank(x, at / x->grid_cols, at % x->grid_cols));
    }
    int64_t most[2] = {(int64_t)(hash >> 1), -(int64_t)(hash >> 1)};
    TULLE_CALL(tulle_comm_reduce_int(comm, TULLE_MAX, 2, most));
    if (most[0] != -most[1]) return tulle__fail(TULLE_ERR_ARG, "PEs pass different distributions or parts of a matrix");
    return TULLE_OK;
}
