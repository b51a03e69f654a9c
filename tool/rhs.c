/* SPDX-License-Identifier: Apache-2.0 */
#include "rhs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plural.h"

static tulle_status fill_ones(tulle_mat *B)
{
    tulle_tile t;
    tulle_status status = TULLE_OK;
    if (tulle_comm_rank(tulle_mat_comm(B)) == 0) {
        status = tulle_mat_tile(B, 0, 0, &t);
        for (int64_t e = 0; status == TULLE_OK && e < t.m * t.n; e++)
            if (t.type == TULLE_F32)
                ((float *)t.val)[e] = 1;
            else
                ((double *)t.val)[e] = 1;
    }
    return tulle_comm_agree(tulle_mat_comm(B), status);
}

/* What a generator of right-hand sides with the operand's keys is called: a cantilever's load. */
static tulle_status load_of(const char *operand, char *load, size_t size)
{
    static const char name[] = "cantilever:", its[] = "cantilever-load:";
    if (strncmp(operand, name, sizeof name - 1) != 0)
        return tulle_fail(TULLE_ERR_ARG, "--rhs load goes with cantilever:..., not with %s", operand);
    if ((size_t)snprintf(load, size, "%s%s", its, operand + sizeof name - 1) >= size)
        return tulle_fail(TULLE_ERR_ARG, "%.60s... is too long", operand);
    return TULLE_OK;
}

tulle_status read_rhs(const struct options *options, const tulle_read_options *reading, tulle_comm *comm,
    tulle_gidx rows, const char *whose, tulle_mat **B)
{
    const char *rhs = options_word(options, "rhs", "random");
    static const int first = 0;
    char load[256];
    int64_t cols = 1;
    int given = strcmp(rhs, "ones") == 0 || strncmp(rhs, "random", 6) == 0;
    tulle_mat *read = NULL;
    tulle_layout *layout = NULL;
    tulle_status status = TULLE_OK;
    if (strcmp(rhs, "load") == 0) {
        status = load_of(options->operand[0], load, sizeof load);
        rhs = load;
    }
    if (strncmp(rhs, "random:", 7) == 0) status = tulle_parse_int(rhs + 7, "--rhs random:K", 1, 1 << 20, &cols);
    if (status == TULLE_OK && !given) {
        status = tulle_mat_load(comm, rhs, NULL, TULLE_DENSE, reading, NULL, &read);
        if (status == TULLE_OK) cols = tulle_mat_cols(read);
    }
    if (status != TULLE_OK) return status;
    tulle_layout_spec spec = {.m = rows, .n = cols, .tile_rows = 1, .tile_cols = 1, .owner = &first};
    if (read && tulle_mat_rows(read) != spec.m)
        return tulle_fail(TULLE_ERR_ARG, "%s has %" PRId64 " %s, %s %" PRId64, rhs, tulle_mat_rows(read),
            plural(tulle_mat_rows(read), "row", "rows"), whose, rows);
    status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status == TULLE_OK && read)
        status = tulle_mat_redistribute(read, layout, B);
    else if (status == TULLE_OK)
        status = tulle_mat_new_dense(comm, layout, reading->type, TULLE_ROW_MAJOR, B);
    if (status == TULLE_OK && given)
        status = strcmp(rhs, "ones") == 0 ? fill_ones(*B)
                                          : tulle_mat_fill_random(*B, (uint64_t)options_int(options, "seed", 1));
    tulle_layout_free(layout);
    if (status == TULLE_OK) tulle_mat_free(read);
    return status;
}
