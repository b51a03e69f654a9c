/* SPDX-License-Identifier: Apache-2.0 */
/* Loads Matrix Market files, also of archives: each PE parses its part. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/warning.h"
#include "io/load.h"
#include "mat/assemble.h"

/*
 * The last part of a packed file takes longest, as every part is unpacked from the start: its
 * reader has the meter.
 */
static tulle__progress_meter *meter_of(const tulle__loading *load, const tulle__mtx *mtx)
{
    return tulle__comm_progress_meter(load->comm, tulle__mtx_head(mtx)->packed ? load->comm->size - 1 : 0);
}

static tulle_status parse_array(tulle__mtx *mtx, tulle__loading *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    tulle_status status;
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    int rank = load->comm->rank, size = load->comm->size;
    int64_t mine = 0, first = 0, *all = NULL;
    void *values = NULL;
    tulle_type type = load->options->type;
    memset(stats, 0, sizeof *stats);
    tulle__entries_init(entries, h->wide, 0, type);
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    status = tulle_comm_agree(load->comm, tulle__mtx_array_count(mtx, rank, size, &mine));
    if (status != TULLE_OK) return status;
    TULLE_TRY(tulle__alloc((size_t)size, sizeof *all, "counts", &all));
    TULLE_TRY(tulle_comm_allgather(load->comm, &mine, sizeof mine, all));
    for (int r = 0; r < rank; r++) first += all[r];
    TULLE_TRY(tulle__alloc((size_t)mine, tulle_type_size(type), "numbers of an array", &values));
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    TULLE_TRY(tulle__mtx_array_parse(mtx, rank, size, first, mine, type, values, stats));
    for (int64_t k = 0; k < mine && first + k < h->stored; k++) {
        int64_t row, col;
        double x = type == TULLE_F32 ? (double)((float *)values)[k] : ((double *)values)[k];
        tulle__mtx_array_place(h, first + k, &row, &col);
        TULLE_TRY(tulle__entries_add(entries, row, col, x));
    }
out:
    tulle__free(all);
    tulle__free(values);
    return status;
}

static tulle_status parse_coordinates(
    tulle__mtx *mtx, tulle__loading *load, tulle__entries *entries, tulle__mtx_stats *stats)
{
    tulle__mtx_watch(mtx, meter_of(load, mtx));
    return tulle__mtx_parse(mtx, load->comm->rank, load->comm->size, load->options->type, entries, stats);
}

static tulle_status sum_stats(tulle_comm *comm, tulle__mtx_stats *stats)
{
    int64_t words[sizeof *stats / sizeof(int64_t)];
    _Static_assert(sizeof words == sizeof(tulle__mtx_stats), "statistics are 64-bit counts");
    memcpy(words, stats, sizeof words);
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, (int)(sizeof words / sizeof *words), words);
    memcpy(stats, words, sizeof words);
    return status;
}

/* Names the lines of two duplicate entries. */
static tulle_status refuse_repeated(tulle__mtx *mtx, const tulle__assembly *assembly)
{
    int64_t line = tulle__mtx_locate(mtx, assembly->row, assembly->col, 1);
    int64_t other = line ? 0 : tulle__mtx_locate(mtx, assembly->col, assembly->row, 0);
    if (line)
        return tulle__fail(TULLE_ERR_FORMAT, "%s:%" PRId64 ": entry (%" PRId64 ", %" PRId64 ") occurs again",
            tulle__mtx_path(mtx), line, assembly->row + 1, assembly->col + 1);
    return tulle__fail(TULLE_ERR_FORMAT,
        "%s:%" PRId64 ": a symmetric file gives both (%" PRId64 ", %" PRId64 ") and (%" PRId64 ", %" PRId64 ")",
        tulle__mtx_path(mtx), other, assembly->row + 1, assembly->col + 1, assembly->col + 1, assembly->row + 1);
}

static tulle_status assemble_mtx(
    tulle__loading *load, tulle__mtx *mtx, tulle__entries *entries, const tulle__mtx_stats *sum, tulle_mat **A)
{
    const tulle__mtx_header *h = tulle__mtx_head(mtx);
    tulle__entry_source source = tulle__load_source(entries);
    int both_halves = h->symmetry != TULLE__MTX_GENERAL && sum->upper > 0 && sum->lower > 0;
    tulle__assembly assembly = {
        .mirror = h->symmetry == TULLE__MTX_SYMMETRIC ? TULLE__MIRROR_SYMMETRIC
                  : h->symmetry == TULLE__MTX_SKEW    ? TULLE__MIRROR_SKEW
                                                      : TULLE__MIRROR_NONE,
        .duplicates = both_halves ? TULLE_DUPLICATES_ERROR : load->options->duplicates,
        .drop_zeros = load->options->drop_zeros,
    };
    tulle_mat *made;
    tulle_status status = tulle__assemble(load->comm, load->layout, load->options->type, &source, &assembly, &made);
    if (status == TULLE_ERR_FORMAT && assembly.repeated) status = refuse_repeated(mtx, &assembly);
    if (status != TULLE_OK) return status;
    int64_t repeated = assembly.repeated;
    status = tulle_comm_agree(load->comm, tulle_comm_reduce_int(load->comm, TULLE_SUM, 1, &repeated));
    if (status != TULLE_OK) {
        tulle__mat_drop(made);
        return status;
    }
    *A = made;
    tulle__mtx_warnings(mtx, sum, load->warnings, TULLE_WARNINGS_MAX);
    if (repeated)
        tulle__warn(load->warnings, TULLE_WARNINGS_MAX, "%s: %" PRId64 " %s and %s %s", tulle__mtx_path(mtx), repeated,
            tulle__plural(repeated, "entry repeats an earlier one", "entries repeat earlier ones"),
            tulle__plural(repeated, "is", "are"),
            load->options->duplicates == TULLE_DUPLICATES_LAST ? "taken instead of it" : "added to it");
    return status;
}

/* What else an archive holds: PE 0 looks. "" for a member that was asked for. */
static tulle_status list_others(const tulle__loading *load, const tulle__mtx *mtx, char list[TULLE__TAR_LIST])
{
    list[0] = '\0';
    if (!tulle__mtx_head(mtx)->archive || strstr(load->operand, tulle__mtx_base(mtx))) return TULLE_OK;
    tulle_status status = load->comm->rank == 0 ? tulle__mtx_others(mtx, list) : TULLE_OK;
    status = tulle_comm_agree(load->comm, status);
    return status == TULLE_OK ? tulle_comm_broadcast(load->comm, 0, list, TULLE__TAR_LIST) : status;
}

tulle_status tulle__load_mtx(tulle__loading *load, tulle_mat **A)
{
    tulle_comm *comm = load->comm;
    tulle__mtx_options options = tulle__mtx_options_for(load->options);
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats stats = {0};
    tulle__entries entries;
    char list[TULLE__TAR_LIST];
    tulle__entries_init(&entries, 0, 0, load->options->type);
    tulle_status status = tulle_comm_agree(comm, tulle__mtx_open(load->operand, &options, &mtx));
    if (status != TULLE_OK) goto out;
    if (tulle__mtx_head(mtx)->array)
        status = parse_array(mtx, load, &entries, &stats);
    else
        status = parse_coordinates(mtx, load, &entries, &stats);
    tulle__progress_meter_stop(meter_of(load, mtx), status == TULLE_OK);
    status = tulle_comm_agree(comm, status);
    if (status == TULLE_OK) status = tulle_comm_agree(comm, sum_stats(comm, &stats));
    if (status == TULLE_OK) status = tulle_comm_agree(comm, tulle__mtx_check(mtx, &stats));
    if (status == TULLE_OK) status = list_others(load, mtx, list);
    if (status == TULLE_OK) status = assemble_mtx(load, mtx, &entries, &stats, A);
    if (status == TULLE_OK && *list)
        tulle__warn(load->warnings, TULLE_WARNINGS_MAX, "%s: also holds %s, each an operand as in %s/%.*s",
            load->operand, list, load->operand, (int)strcspn(list, ","), list);
out:
    tulle__entries_fini(&entries);
    tulle__mtx_close(mtx);
    return status;
}
