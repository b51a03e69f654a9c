/* SPDX-License-Identifier: Apache-2.0 */
#include "solves/rhs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/plural.h"
#include "verb.h"

enum { RHS_TEXT = 256 };

static tulle_status fill_ones(tulle_mat *B)
{
    const tulle_layout *l = tulle_mat_layout(B);
    tulle_status status = TULLE_OK;
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_own_tile t;
        if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(B))) continue;
        status = tulle_mat_own_tile(B, i, 0, &t);
        for (int64_t e = 0; status == TULLE_OK && e < t.m * t.n; e++)
            if (t.type == TULLE_F32)
                ((float *)t.val)[e] = 1;
            else
                ((double *)t.val)[e] = 1;
    }
    return tulle_comm_agree(tulle_mat_comm(B), status);
}

/* The generator of right-hand sides with the operand's keys: a cantilever's load. */
static tulle_status load_of(const char *operand, char *load, size_t size)
{
    static const char name[] = "cantilever:", its[] = "cantilever-load:";
    if (strncmp(operand, name, sizeof name - 1) != 0)
        return tulle_fail(TULLE_ERR_ARG, "--rhs load is for cantilever:..., not for %s", operand);
    if ((size_t)snprintf(load, size, "%s%s", its, operand + sizeof name - 1) >= size)
        return tulle_fail(TULLE_ERR_ARG, "%.60s... is too long", operand);
    return TULLE_OK;
}

/* Resolves --rhs: a file or a generator, or random columns; and their number. */
static tulle_status find_rhs(const struct options *options, const tulle_read_options *reading, char load[RHS_TEXT],
    const char **rhs, tulle_gidx rows, const char *whose, int64_t *cols)
{
    tulle_operand_shape shape;
    tulle_status status = TULLE_OK;
    *rhs = options_word(options, "rhs", "random");
    *cols = 1;
    if (strncmp(*rhs, "random:", 7) == 0) return tulle_parse_int(*rhs + 7, "--rhs random:K", 1, 1 << 20, cols);
    if (strcmp(*rhs, "ones") == 0 || strcmp(*rhs, "random") == 0) return TULLE_OK;
    if (strcmp(*rhs, "load") == 0) {
        status = load_of(options->operand[0], load, RHS_TEXT);
        *rhs = load;
    }
    if (status == TULLE_OK) status = tulle_operand_inspect(*rhs, reading, &shape);
    if (status != TULLE_OK) return status;
    *cols = shape.n;
    if (shape.m == rows) return TULLE_OK;
    return tulle_fail(TULLE_ERR_ARG, "%s has %" PRId64 " %s, %s %" PRId64, *rhs, shape.m,
        plural(shape.m, "row", "rows"), whose, rows);
}

tulle_status rhs_columns(const struct options *options, const tulle_read_options *reading, tulle_gidx rows,
    const char *whose, tulle_gidx *cols)
{
    char load[RHS_TEXT];
    const char *rhs;
    return find_rhs(options, reading, load, &rhs, rows, whose, cols);
}

/* Rows like `like`, or all on PE 0; `cols` columns. */
static tulle_status layout_of_rhs(
    tulle_comm *comm, tulle_gidx rows, tulle_gidx cols, const tulle_layout *like, tulle_layout **layout)
{
    int first = 0, mt = like ? tulle_layout_tile_rows(like) : 1, *owner = malloc((size_t)mt * sizeof *owner);
    if (!owner) return tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    for (int i = 0; i < mt; i++) owner[i] = like ? tulle_layout_owner(like, i, 0) : first;
    tulle_layout_spec spec = {.m = rows,
        .n = cols,
        .tile_rows = mt,
        .tile_cols = 1,
        .row_cut = like ? tulle_layout_row_cut(like) : NULL,
        .owner = owner};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), layout);
    free(owner);
    return status;
}

tulle_status read_rhs(const struct options *options, const tulle_read_options *reading, tulle_comm *comm,
    tulle_gidx rows, const char *whose, const tulle_layout *like, char *warnings, tulle_mat **B)
{
    char load[RHS_TEXT];
    const char *rhs;
    int64_t cols;
    tulle_layout *layout = NULL;
    tulle_status status = find_rhs(options, reading, load, &rhs, rows, whose, &cols);
    if (status == TULLE_OK) status = layout_of_rhs(comm, rows, cols, like, &layout);
    status = tulle_comm_agree(comm, status);
    if (status != TULLE_OK) return status;
    if (strcmp(rhs, "ones") != 0 && strncmp(rhs, "random", 6) != 0) {
        status = load_operand(comm, rhs, layout, TULLE_DENSE, reading, warnings, B);
    } else {
        status = tulle_mat_new_dense_undefined(comm, layout, reading->type, TULLE_ROW_MAJOR, B);
        if (status == TULLE_OK)
            status = strcmp(rhs, "ones") == 0 ? fill_ones(*B)
                                              : tulle_mat_fill_random(*B, (uint64_t)options_int(options, "seed", 1));
    }
    tulle_layout_free(layout);
    return status;
}
