/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle stat: properties of a matrix, and the load balance of a grid. The load imbalance is max /
 * mean over the processes of an R x C grid that multiply A A (or A A^T) by stationary C: end to
 * end, and stage by stage, as if all met after each step of k (paper rdma-spmm-spgemm, Figure 1).
 * Level sets are those of paper sptrsv-zero-copy, Table I.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json_write.h"
#include "report/plural.h"
#include "verb.h"
#include "verbs/block_sizes.h"
#include "verbs/block_stat.h"
#include "verbs/level_sets.h"
#include "verbs/symmetry_hash.h"

enum { MAP_MOST = 4096 }; /* processes whose work is printed one by one */

struct facts {
    const struct options *options;
    tulle_read_options reading;
    int rows, cols; /* of --grid, 0: none */
    tulle_gidx m, n;
    int64_t nnz, least, most, empty, most_col, empty_cols, diagonal, zeros;
    int pattern_symmetric, value_symmetric;
    int64_t lower, levels, widest; /* of the strict lower part with a unit diagonal, if A is square */
    double nnz_imbalance, total, stage_plain, stage_offset, flops;
    /* [rows * cols] of the grid: multiplications in total, and in the worst stage; NULL: no grid */
    double *work, *stage;
    int in_blocks, known; /* --blocks; the size that the operand knows */
    struct block_stat blocks;
    char warnings[TULLE_WARNINGS_MAX];
};

static double value(const tulle_tile *t, int64_t e)
{
    return t->type == TULLE_F32 ? (double)((const float *)t->val)[e] : ((const double *)t->val)[e];
}

static tulle_gidx part_of(tulle_gidx x, tulle_gidx n, int parts)
{
    tulle_gidx p = (tulle_gidx)((double)x * parts / (double)n);
    while (p > 0 && (tulle_gidx)((__int128)n * p / parts) > x) p--;
    while (p + 1 < parts && (tulle_gidx)((__int128)n * (p + 1) / parts) <= x) p++;
    return p;
}

/*
 * Multiplications of item (i, k, j): sum over p in part k of (entries of column p in tile row i) x
 * (entries of row p of the right factor in tile column j).
 */
static tulle_status balance(struct facts *f, const int32_t *in_col, const int32_t *in_row)
{
    int R = f->rows, C = f->cols, K = R > C ? R : C;
    double *item = calloc((size_t)R * (size_t)K * (size_t)C, sizeof *item), most = 0, sum = 0;
    if (!item) return tulle_fail(TULLE_ERR_MEMORY, "out of memory for a grid of %d x %d", R, C);
    for (tulle_gidx p = 0; p < f->n; p++) {
        tulle_gidx k = part_of(p, f->n, K);
        for (int i = 0; i < R; i++) {
            double a = in_col[p * R + i];
            if (a == 0) continue;
            for (int j = 0; j < C; j++) item[((tulle_gidx)i * K + k) * C + j] += a * in_row[p * C + j];
        }
    }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) {
            double mine = 0;
            for (int k = 0; k < K; k++) mine += item[(i * K + k) * C + j];
            if (mine > most) most = mine;
            sum += mine;
            f->work[i * C + j] = mine;
        }
    f->flops = 2 * sum;
    f->total = sum > 0 ? most * R * C / sum : 1;
    double staged[2] = {0, 0}, worst = 0;
    for (int offset = 0; offset < 2; offset++)
        for (int t = 0; t < K; t++) {
            double largest = 0;
            for (int i = 0; i < R; i++)
                for (int j = 0; j < C; j++) {
                    double x = item[(i * K + (offset ? (i + j + t) % K : t)) * C + j];
                    if (x > largest) largest = x;
                }
            staged[offset] += largest;
            if (offset || largest <= worst) continue;
            worst = largest;
            for (int q = 0; q < R * C; q++) f->stage[q] = item[(q / C * K + t) * C + q % C];
        }
    f->stage_plain = sum > 0 ? staged[0] * R * C / sum : 1;
    f->stage_offset = sum > 0 ? staged[1] * R * C / sum : 1;
    free(item);
    return TULLE_OK;
}

/* Entries of each stored column. */
static void look_at_columns(const struct counts *counts, struct facts *f)
{
    f->empty_cols = f->n - counts->n;
    for (tulle_gidx c = 0; c < counts->n; c++) {
        const int64_t count = (int64_t)counts_get(counts, c);
        if (count > f->most_col) f->most_col = count;
        f->empty_cols += !count;
    }
}

/* The first stored column from `own` on that is not before the row. */
static tulle_gidx column_from(const tulle_compressed *stored, tulle_gidx own, tulle_gidx row)
{
    while (own < stored->cols && stored->col[own] < row) own++;
    return own;
}

/* Rows that are not stored. */
static tulle_status add_empty_rows(struct facts *f, int64_t stored, struct level_sets *sets)
{
    if (stored == f->m) return TULLE_OK;
    f->empty += f->m - stored;
    f->least = 0;
    return sets ? level_sets_skip(sets, f->m - stored) : TULLE_OK;
}

/* PE 0 examines all tiles, one after the other. */
static tulle_status examine(const tulle_mat *A, struct facts *f)
{
    tulle_compressed stored;
    tulle_status status = tulle_mat_compressed(A, &stored);
    if (stored.inner) A = stored.inner;
    const tulle_layout *l = tulle_mat_layout(A);
    const tulle_gidx columns = tulle_mat_cols(A);
    int R = f->rows, C = f->cols, square = f->m == f->n;
    tulle_gidx own = 0; /* of stored columns: the first one that is not before the row */
    int64_t *tile_nnz = calloc((size_t)(R * C) + 1, sizeof *tile_nnz);
    struct counts counts = {.at = NULL};
    struct level_sets sets = {.lower = 0};
    int32_t *in_col = R ? calloc((size_t)f->n * (size_t)R + 1, sizeof *in_col) : NULL;
    int32_t *in_row = R ? calloc((size_t)f->n * (size_t)C + 1, sizeof *in_row) : NULL;
    if (R) {
        f->work = calloc((size_t)(R * C), sizeof *f->work);
        f->stage = calloc((size_t)(R * C), sizeof *f->stage);
    }
    if (!tile_nnz || (R && (!in_col || !in_row || !f->work || !f->stage)))
        status = tulle_fail(TULLE_ERR_MEMORY, "out of memory");
    if (status == TULLE_OK) status = counts_new(columns, &counts);
    if (status == TULLE_OK && square) status = level_sets_new(columns, &sets);
    f->least = INT64_MAX;
    for (int i = 0; i < tulle_layout_tile_rows(l) && status == TULLE_OK; i++) {
        tulle_fetch *fetch;
        tulle_tile t;
        status = tulle_mat_get_tile(A, i, 0, &fetch);
        if (status != TULLE_OK) break;
        status = tulle_fetch_wait(fetch, &t);
        for (tulle_gidx r = 0; status == TULLE_OK && r < t.m; r++) {
            tulle_gidx row = tulle_layout_row_cut(l)[i] + r;
            if (stored.inner) row = stored.row[row];
            own = stored.inner ? column_from(&stored, own, row) : row;
            const bool referred = !stored.inner || (own < columns && stored.col[own] == row);
            int64_t from = t.rowptr ? t.rowptr[r] : 0, to = t.rowptr ? t.rowptr[r + 1] : 0;
            tulle_gidx pi = R ? part_of(row, f->m, R) : 0, pj = R ? part_of(row, f->m, C) : 0;
            if (to - from < f->least) f->least = to - from;
            if (to - from > f->most) f->most = to - from;
            f->empty += to == from;
            if (square) status = level_sets_add(&sets, own, referred, to > from ? t.colind + from : NULL, to - from);
            for (int64_t e = from; e < to && status == TULLE_OK; e++) {
                tulle_gidx c = t.colind[e];
                status = counts_set(&counts, c, counts_get(&counts, c) + 1);
                f->diagonal += referred && c == own;
                f->zeros += value(&t, e) == 0;
                if (!R) continue;
                tile_nnz[pi * C + part_of(c, f->n, C)]++;
                in_col[c * R + pi]++;
                if (square)
                    in_row[row * C + part_of(c, f->n, C)]++;
                else
                    in_row[c * C + pj]++; /* row c of A^T */
            }
        }
        tulle_fetch_free(fetch);
    }
    if (status == TULLE_OK && stored.inner) status = add_empty_rows(f, stored.rows, square ? &sets : NULL);
    if (status == TULLE_OK) {
        int64_t most = 0;
        for (int t = 0; t < R * C; t++)
            if (tile_nnz[t] > most) most = tile_nnz[t];
        f->nnz_imbalance = f->nnz ? (double)most * R * C / (double)f->nnz : 1;
        look_at_columns(&counts, f);
        f->lower = sets.lower;
        f->levels = sets.levels;
        f->widest = sets.widest;
        if (R) status = balance(f, in_col, in_row);
        if (f->least == INT64_MAX) f->least = 0;
    }
    free(tile_nnz);
    counts_free(&counts);
    level_sets_free(&sets);
    free(in_col);
    free(in_row);
    return status;
}

static tulle_status examine_blocks(tulle_mat *A, struct facts *f)
{
    struct block_sizes sizes;
    const tulle_gidx n[3] = {f->m, f->n, f->n};
    const int known[3] = {f->known, f->known, f->known};
    tulle_status status =
        block_sizes_read(options_word(f->options, "blocks", NULL), 2, tulle_mat_comm(A), n, known, &sizes);
    if (status == TULLE_OK) status = block_stat_of(A, &sizes.cut[0], &sizes.cut[1], &f->blocks);
    block_sizes_free(&sizes);
    return status;
}

static tulle_status body(tulle_comm *comm, void *arg)
{
    struct facts *shared = arg;
    /* PE 0 fills the shared facts: the others only read fields that it does not write */
    struct facts mine = {.options = shared->options,
        .reading = shared->reading,
        .rows = shared->rows,
        .cols = shared->cols,
        .in_blocks = shared->in_blocks,
        .known = shared->known};
    struct facts *f = tulle_comm_rank(comm) == 0 ? shared : &mine;
    tulle_mat *A = NULL;
    tulle_status status = tulle_mat_load(comm, f->options->operand[0], NULL, TULLE_CSR, &f->reading, f->warnings, &A);
    if (status != TULLE_OK) return status;
    f->m = tulle_mat_rows(A);
    f->n = tulle_mat_cols(A);
    f->nnz = tulle_mat_nnz(A);
    if (f->rows) status = tulle_mat_expand(A); /* the balance of a grid counts by all rows */
    if (status != TULLE_OK) return status;
    if (f->m == f->n) status = symmetry_of(A, &f->pattern_symmetric, &f->value_symmetric);
    if (status != TULLE_OK) return status;
    status = tulle_comm_agree(comm, tulle_comm_rank(comm) == 0 ? examine(A, f) : TULLE_OK);
    if (status == TULLE_OK && f->in_blocks) status = examine_blocks(A, f);
    if (status == TULLE_OK) tulle_mat_free(A);
    return status;
}

static void print_map(const char *name, const double *work, int n)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < n; i++) json_printf(stdout, "%s%.0f", i ? "," : "", work[i]);
    putchar(']');
}

/* Entries per row, and rows per level, of the lower triangle. */
static double dependency(const struct facts *f)
{
    return f->m ? (double)f->lower / (double)f->m : 0;
}

static double parallelism(const struct facts *f)
{
    return f->levels ? (double)f->m / (double)f->levels : 0;
}

static void print_json(const struct facts *f)
{
    printf("{\"operand\":");
    json_text(f->options->operand[0], stdout);
    json_printf(stdout,
        ",\"m\":%" PRId64 ",\"n\":%" PRId64 ",\"nnz\":%" PRId64 ",\"row_min\":%" PRId64
        ",\"row_mean\":%.6g,\"row_max\":%" PRId64 ",\"col_max\":%" PRId64 ",\"empty_rows\":%" PRId64
        ",\"empty_cols\":%" PRId64 ",\"diagonal\":%" PRId64 ",\"zeros\":%" PRId64,
        f->m, f->n, f->nnz, f->least, f->m ? (double)f->nnz / (double)f->m : 0, f->most, f->most_col, f->empty,
        f->empty_cols, f->diagonal, f->zeros);
    printf(",\"pattern_symmetric\":%s,\"symmetric\":%s", f->pattern_symmetric ? "true" : "false",
        f->value_symmetric ? "true" : "false");
    if (f->m == f->n)
        json_printf(stdout,
            ",\"lower_nnz\":%" PRId64 ",\"levels\":%" PRId64 ",\"dependency\":%.6g,\"parallelism\":%.9g"
            ",\"widest_level\":%" PRId64,
            f->lower, f->levels, dependency(f), parallelism(f), f->widest);
    if (f->rows)
        json_printf(stdout,
            ",\"grid\":[%d,%d],\"nnz_imbalance\":%.6g,\"flops\":%.6g,\"flops_imbalance\":%.6g,"
            "\"stage_imbalance\":%.6g,\"stage_imbalance_offset\":%.6g",
            f->rows, f->cols, f->nnz_imbalance, f->flops, f->total, f->stage_plain, f->stage_offset);
    if (f->rows && f->rows * f->cols <= MAP_MOST) {
        print_map("work_per_pe", f->work, f->rows * f->cols);
        print_map("stage_work_per_pe", f->stage, f->rows * f->cols);
    }
    if (f->in_blocks) block_stat_json(&f->blocks, f->nnz, stdout);
    printf("}\n");
}

static void print_text(const struct facts *f, const tulle_operand_shape *shape)
{
    double mb = 1e-6, m = (double)f->m, n = (double)f->n, nnz = (double)f->nnz;
    printf("%s (%s)\n", f->options->operand[0], shape->format);
    printf("  size           %" PRId64 " x %" PRId64 ", %" PRId64 " %s (%" PRId64 " on the diagonal, %" PRId64
           " stored %s)\n",
        f->m, f->n, f->nnz, plural(f->nnz, "entry", "entries"), f->diagonal, f->zeros,
        plural(f->zeros, "zero", "zeros"));
    printf("  entries a row  min %" PRId64 ", mean %.2f, max %" PRId64 "; %" PRId64 " empty %s\n", f->least,
        m > 0 ? nnz / m : 0, f->most, f->empty, plural(f->empty, "row", "rows"));
    printf("  a column       max %" PRId64 "; %" PRId64 " empty %s\n", f->most_col, f->empty_cols,
        plural(f->empty_cols, "column", "columns"));
    printf("  symmetry       %s\n", f->m != f->n           ? "not square"
                                    : f->value_symmetric   ? "symmetric"
                                    : f->pattern_symmetric ? "pattern symmetric, values not"
                                                           : "none");
    printf("  memory, MB     csr f64 %.1f, csr f32 %.1f, coordinates f64 %.1f, dense f64 %.1f\n",
        (nnz * 12 + 8 * m) * mb, (nnz * 8 + 8 * m) * mb, nnz * 16 * mb, m * n * 8 * mb);
    if (f->m == f->n)
        printf("  lower, unit    %" PRId64 " %s, %" PRId64 " %s, the widest of %" PRId64
               " %s;\n                 dependency %.2f, parallelism %.2f\n",
            f->lower, plural(f->lower, "entry", "entries"), f->levels, plural(f->levels, "level", "levels"), f->widest,
            plural(f->widest, "row", "rows"), dependency(f), parallelism(f));
    if (f->in_blocks) block_stat_text(&f->blocks, f->nnz, stdout);
    if (!f->rows) return;
    printf("  grid %dx%d, load imbalance (max / mean) of %s\n", f->rows, f->cols, f->m == f->n ? "A A" : "A A^T");
    printf("    entries of A                   %.3f\n", f->nnz_imbalance);
    printf("    flops (%.3g), end to end   %.3f\n", f->flops, f->total);
    printf(
        "    flops, stage by stage          %.3f, with the iteration offset %.3f\n", f->stage_plain, f->stage_offset);
}

static tulle_status run(const struct options *options)
{
    tulle_team *team = NULL;
    tulle_operand_shape shape;
    struct facts f = {.options = options, .in_blocks = options_word(options, "blocks", NULL) != NULL};
    const char *grid = options_word(options, "grid", NULL);
    char rest;
    tulle_status status = reading_options(options, &f.reading);
    if (status == TULLE_OK && grid &&
        (sscanf(grid, "%dx%d%c", &f.rows, &f.cols, &rest) != 2 || f.rows < 1 || f.cols < 1 || f.rows > 4096 ||
            f.cols > 4096))
        status = tulle_fail(TULLE_ERR_ARG, "--grid is RxC, as in 16x16, not '%s'", grid);
    if (status == TULLE_OK) status = tulle_operand_inspect(options->operand[0], &f.reading, &shape);
    if (status == TULLE_OK) f.known = shape.block;
    status = open_team(options, "", status, &team);
    if (status == TULLE_OK) status = run_team(options, team, body, &f);
    if (status == TULLE_OK && tulle_team_leads(team)) {
        show_warnings(options, f.warnings);
        if (options_flag(options, "json"))
            print_json(&f);
        else
            print_text(&f, &shape);
    }
    tulle_team_free(team);
    free(f.work);
    free(f.stage);
    return status;
}

static const struct option options[] = {{.name = "grid",
                                            .group = GROUP_TUNING,
                                            .kind = KIND_WORD,
                                            .argument = "RxC",
                                            .text = "also the load imbalance of A A on this grid"},
    {.name = "blocks",
        .kind = KIND_WORD,
        .argument = "B|FILE",
        .text = "also A as dense blocks: their size, or a file of sizes, one a line; auto: a generator's"},
    OPTION_JSON("print one JSON object"), OPTION_PES, OPTION_COMM, OPTION_TYPE, OPTION_MEMORY, OPTIONS_READING,
    OPTION_QUIET, OPTION_HELP, {.name = NULL}};

const struct verb verb_stat = {
    .name = "stat",
    .operands = "A",
    .summary = "Describe a sparse matrix and how balanced a grid of processes would be",
    .description =
        "Sizes, entries of rows and columns, symmetry, and the memory of each format. For a square matrix also the\n"
        "solve with its strict lower part and a unit diagonal: levels (rows of the longest chain of dependent rows),\n"
        "rows of the widest level, dependency (entries / rows) and parallelism (rows / levels). With --grid, the load\n"
        "imbalance of A A (A A^T if A is not square) by stationary C with even tiles: of the entries, of the\n"
        "multiplications end to end, and if all processes met after each of the stages, without and with the "
        "iteration\n"
        "offset. With --blocks, the occupation by blocks, their sizes and bytes, and their Frobenius norms by decades "
        "and\n"
        "by the distance from the diagonal.",
    .examples = "tulle stat matrix.mtx.gz\ntulle stat "
                "rmat:scale=17,a=0.6,b=0.14,c=0.13,d=0.13,relabel=on --grid 16x16",
    .options = options,
    .least = 1,
    .most = 1,
    .inputs = 1,
    .run = run,
};
