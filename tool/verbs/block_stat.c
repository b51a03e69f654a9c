/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/block_stat.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/json_write.h"
#include "report/plural.h"

enum { LEAST_DECADE = -20 };

static void list_sizes(const tulle_block_cuts *cuts, struct block_side *side)
{
    for (tulle_gidx b = 0; b < cuts->count; b++) {
        const tulle_gidx size = cuts->cut[b + 1] - cuts->cut[b];
        int at = 0;
        while (at < side->count && side->size[at] < size) at++;
        if ((at < side->count && side->size[at] == size) || side->count == BLOCK_SIZES_MOST) continue;
        memmove(side->size + at + 1, side->size + at, (size_t)(side->count - at) * sizeof *side->size);
        side->size[at] = size;
        side->count++;
    }
}

static int find_size(const struct block_side *side, tulle_gidx size)
{
    int at = 0;
    while (at + 1 < side->count && side->size[at] < size) at++;
    return at;
}

/* 0, 1, 2 for 2 and 3, 3 for 4 to 7, ... */
static int distance_class(int64_t distance)
{
    int c = 0;
    for (; distance > 0; distance >>= 1) c++;
    return c;
}

static void add_block(struct block_stat *s, const tulle_tile *t, int64_t r, int64_t e, int64_t distance)
{
    const double norm = sqrt(t->norm[e]);
    const int64_t c = t->colind[e];
    const int i = find_size(&s->row, t->row_block[r + 1] - t->row_block[r]),
              j = find_size(&s->col, t->col_block[c + 1] - t->col_block[c]), d = distance_class(distance);
    s->shape[i * BLOCK_SIZES_MOST + j]++;
    s->blocks++;
    s->values += t->offset[e + 1] - t->offset[e];
    s->at_distance[d]++;
    s->squares[d] += t->norm[e];
    if (norm > s->largest[d]) s->largest[d] = norm;
    if (norm == 0) {
        s->zero++;
        return;
    }
    const double decade = norm > 0 ? floor(log10(norm)) - LEAST_DECADE : 0; /* NaN: the first */
    s->decade[decade < 0 ? 0 : decade < BLOCK_DECADES ? (int)decade : BLOCK_DECADES - 1]++;
}

static tulle_gidx first_block(const tulle_block_cuts *cuts, tulle_gidx index)
{
    tulle_gidx low = 0, high = cuts->count;
    while (low < high) {
        const tulle_gidx middle = low + (high - low) / 2;
        if (cuts->cut[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static tulle_status add_tiles(
    const tulle_mat *V, const tulle_block_cuts *rows, const tulle_block_cuts *cols, struct block_stat *s)
{
    const tulle_layout *l = tulle_mat_layout(V);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            tulle_tile t;
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(V))) continue;
            tulle_status status = tulle_mat_tile(V, i, j, &t);
            if (status != TULLE_OK) return status;
            const int64_t apart =
                first_block(rows, tulle_layout_row_cut(l)[i]) - first_block(cols, tulle_layout_col_cut(l)[j]);
            for (int64_t r = 0; t.blocks && r < t.block_rows; r++)
                for (int64_t e = t.rowptr[r]; e < t.rowptr[r + 1]; e++) {
                    const int64_t distance = apart + r - t.colind[e];
                    add_block(s, &t, r, e, distance < 0 ? -distance : distance);
                }
        }
    return TULLE_OK;
}

static tulle_status sum_all(tulle_comm *comm, struct block_stat *s)
{
    int64_t total[3] = {s->blocks, s->values, s->zero};
    tulle_status status = tulle_comm_reduce_int(comm, TULLE_SUM, 3, total);
    if (status == TULLE_OK)
        status = tulle_comm_reduce_int(comm, TULLE_SUM, BLOCK_SIZES_MOST * BLOCK_SIZES_MOST, s->shape);
    if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_SUM, BLOCK_DECADES, s->decade);
    if (status == TULLE_OK) status = tulle_comm_reduce_int(comm, TULLE_SUM, BLOCK_DISTANCES, s->at_distance);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(comm, TULLE_SUM, BLOCK_DISTANCES, s->squares);
    if (status == TULLE_OK) status = tulle_comm_reduce_real(comm, TULLE_MAX, BLOCK_DISTANCES, s->largest);
    s->blocks = total[0];
    s->values = total[1];
    s->zero = total[2];
    return status;
}

tulle_status block_stat_of(
    const tulle_mat *A, const tulle_block_cuts *rows, const tulle_block_cuts *cols, struct block_stat *s)
{
    tulle_comm *comm = tulle_mat_comm(A);
    tulle_layout *layout = NULL;
    tulle_mat *V = NULL;
    memset(s, 0, sizeof *s);
    s->rows = rows->count;
    s->cols = cols->count;
    list_sizes(rows, &s->row);
    list_sizes(cols, &s->col);
    tulle_status status = tulle_comm_agree(comm, tulle_layout_in_blocks(tulle_mat_layout(A), rows, cols, &layout));
    if (status == TULLE_OK) status = tulle_mat_to_vbsr(A, layout, &V);
    if (status == TULLE_OK) status = tulle_comm_agree(comm, add_tiles(V, rows, cols, s));
    if (status == TULLE_OK) status = tulle_comm_agree(comm, sum_all(comm, s));
    if (status == TULLE_OK) s->bytes = (int64_t)tulle_mat_bytes(V);
    if (status == TULLE_OK) tulle_mat_free(V);
    tulle_layout_free(layout);
    return status;
}

static double occupation(const struct block_stat *s)
{
    return s->rows && s->cols ? (double)s->blocks / (double)s->rows / (double)s->cols : 0;
}

/* The largest size stands for all beyond the room. */
static const char *beyond(const struct block_side *side, int i)
{
    return side->count == BLOCK_SIZES_MOST && i == BLOCK_SIZES_MOST - 1 ? "+" : "";
}

void block_stat_text(const struct block_stat *s, int64_t nnz, FILE *file)
{
    fprintf(file,
        "  blocks         %" PRId64 " x %" PRId64 ", %" PRId64 " stored: occupation %.4g; %.4g of their values are "
        "entries; %.1f MB\n",
        s->rows, s->cols, s->blocks, occupation(s), s->values ? (double)nnz / (double)s->values : 0,
        (double)s->bytes * 1e-6);
    for (int i = 0; i < s->row.count; i++)
        for (int j = 0; j < s->col.count; j++)
            if (s->shape[i * BLOCK_SIZES_MOST + j])
                fprintf(file, "    %" PRId64 "%s x %" PRId64 "%s        %" PRId64 " %s\n", s->row.size[i],
                    beyond(&s->row, i), s->col.size[j], beyond(&s->col, j), s->shape[i * BLOCK_SIZES_MOST + j],
                    plural(s->shape[i * BLOCK_SIZES_MOST + j], "block", "blocks"));
    fprintf(file, "  norms          blocks with a Frobenius norm from\n");
    double above = 0;
    for (int d = BLOCK_DECADES - 1; d >= 0; d--) {
        above += (double)s->decade[d];
        if (s->decade[d])
            fprintf(file, "    1e%+03d        %" PRId64 "; occupation from there %.4g\n", d + LEAST_DECADE,
                s->decade[d], above / (double)s->rows / (double)s->cols);
    }
    if (s->zero) fprintf(file, "    0            %" PRId64 "\n", s->zero);
    fprintf(
        file, "  distance       from the diagonal, in blocks: blocks, their mean (root of squares) and largest norm\n");
    for (int d = 0; d < BLOCK_DISTANCES; d++)
        if (s->at_distance[d])
            fprintf(file, "    from %-7" PRId64 " %" PRId64 ", %.3g, %.3g\n", d ? INT64_C(1) << (d - 1) : 0,
                s->at_distance[d], sqrt(s->squares[d] / (double)s->at_distance[d]), s->largest[d]);
}

void block_stat_json(const struct block_stat *s, int64_t nnz, FILE *file)
{
    const char *comma = "";
    json_printf(file,
        ",\"blocks\":{\"rows\":%" PRId64 ",\"cols\":%" PRId64 ",\"stored\":%" PRId64
        ",\"occupation\":%.9g,\"fill\":%.9g,\"bytes\":%" PRId64 ",\"zero\":%" PRId64 ",\"sizes\":[",
        s->rows, s->cols, s->blocks, occupation(s), s->values ? (double)nnz / (double)s->values : 0, s->bytes, s->zero);
    for (int i = 0; i < s->row.count; i++)
        for (int j = 0; j < s->col.count; j++)
            if (s->shape[i * BLOCK_SIZES_MOST + j]) {
                fprintf(file, "%s[%" PRId64 ",%" PRId64 ",%" PRId64 "]", comma, s->row.size[i], s->col.size[j],
                    s->shape[i * BLOCK_SIZES_MOST + j]);
                comma = ",";
            }
    fprintf(file, "],\"norm_decades\":[");
    comma = "";
    for (int d = 0; d < BLOCK_DECADES; d++)
        if (s->decade[d]) {
            fprintf(file, "%s[%d,%" PRId64 "]", comma, d + LEAST_DECADE, s->decade[d]);
            comma = ",";
        }
    fprintf(file, "],\"distances\":[");
    comma = "";
    for (int d = 0; d < BLOCK_DISTANCES; d++)
        if (s->at_distance[d]) {
            json_printf(file, "%s{\"from\":%" PRId64 ",\"blocks\":%" PRId64 ",\"mean\":%.9g,\"largest\":%.9g}", comma,
                d ? INT64_C(1) << (d - 1) : 0, s->at_distance[d], sqrt(s->squares[d] / (double)s->at_distance[d]),
                s->largest[d]);
            comma = ",";
        }
    fprintf(file, "]}");
}
