/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in formats other than single entries: written, loaded, streamed, and their diagonal blocks,
 * compared with the formula: test_stream_file SPEC PES DEVICE. Layouts that cut blocks, halves that
 * reach other PEs' rows, both types; refusals; files whose contents contradict their description.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <tulle/device.h>
#include <tulle/io.h>

#include "io/binsparse/binsparse.h"
#include "streams.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

struct cases {
    enum shape shape;
    int64_t m, n;
    int tiles, tile_cols, cyclic; /* of A */
    tulle_type type;
    const char *format, *told; /* the file's format; expected in the plan's description */
    const char *device;
    int slabs, separate;
};

static double value_of(const struct cases *c, int64_t i, int64_t j)
{
    return entry_at(c->shape, i, j);
}

/*
 * The number of wrong entries of this PE's tiles of A within diagonal blocks of `block` rows (0:
 * everywhere).
 */
static int64_t wrong_entries(const struct cases *c, const tulle_mat *A, int64_t block)
{
    int64_t wrong = 0;
    for (int i = 0; i < A->layout->mt; i++) {
        if (!tulle__tile_is_mine(A, i, 0)) continue;
        tulle_tile tile = tulle__tile_in_place(A, i, 0);
        for (int64_t r = 0; r < tile.m; r++) {
            int64_t row = A->layout->row_cut[i] + r;
            int64_t e = tile.rowptr ? tile.rowptr[r] : 0, end = tile.rowptr ? tile.rowptr[r + 1] : 0;
            for (int64_t j = 0; j < c->n; j++) {
                double v = 0;
                int there = e < end && tile.colind[e] == j;
                if (there) v = get(tile.val, tile.type, e++);
                wrong += v != (!block || j / block == row / block ? value_of(c, row, j) : 0);
            }
            wrong += e != end;
        }
    }
    return wrong;
}

static tulle_status write_file(tulle_comm *comm, const struct cases *c, int64_t *nnz)
{
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    tulle_status status;
    int size = tulle_comm_size(comm);
    tulle_layout_spec spec = {.m = c->m,
        .n = c->n,
        .tile_rows = c->tiles ? c->tiles : size,
        .tile_cols = c->tile_cols ? c->tile_cols : 1,
        .grid_rows = size,
        .grid_cols = 1,
        .map = c->cyclic ? TULLE_CYCLIC : TULLE_BLOCK};
    TULLE_TRY(tulle_layout_new(&spec, size, &layout));
    TULLE_TRY(make_matrix(comm, c->shape, layout, c->type, &A));
    *nnz = tulle_mat_nnz(A);
    status = tulle_mat_save_as(A, path, c->format);
out:
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

static tulle_status load_file(tulle_comm *comm, const struct cases *c, int64_t nnz)
{
    tulle_mat *A = NULL;
    tulle_read_options options = {0};
    tulle_status status;
    options.drop_zeros = 1;
    TULLE_TRY(tulle_mat_load(comm, path, NULL, TULLE_CSR, &options, NULL, &A));
    EXPECT(tulle_mat_nnz(A) == nnz && wrong_entries(c, A, 0) == 0);
out:
    tulle_mat_free(A);
    return status;
}

static tulle_status find_diagonals(const struct cases *c, tulle_rows *rows)
{
    static const int sizes[] = {1, 2, 3, 4, 7, 60};
    tulle_mat *D = NULL;
    tulle_status status = TULLE_OK;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && c->m == c->n; s++) {
        TULLE_TRY(tulle_rows_diagonal(rows, sizes[s], &D));
        EXPECT(wrong_entries(c, D, sizes[s]) == 0);
        tulle_mat_free(D);
        D = NULL;
    }
out:
    tulle_mat_free(D);
    return status;
}

/* One element of Y is wrong: the first. */
static tulle_status change(tulle_mat *Y)
{
    const tulle_layout *l = tulle_mat_layout(Y);
    tulle_own_tile tile;
    int i = 0;
    while (tulle_layout_row_cut(l)[i + 1] == 0) i++;
    if (tulle_layout_owner(l, i, 0) != tulle_comm_rank(tulle_mat_comm(Y))) return TULLE_OK;
    tulle_status status = tulle_mat_own_tile(Y, i, 0, &tile);
    if (status != TULLE_OK) return status;
    if (tile.type == TULLE_F32)
        ((float *)tile.val)[0] += 1;
    else
        ((double *)tile.val)[0] += 1;
    return TULLE_OK;
}

static tulle_status multiply(tulle_comm *comm, const struct cases *c, tulle_rows *rows, int64_t nnz)
{
    tulle_stream_options options = {0};
    tulle_type type = tulle_rows_type(rows);
    tulle_layout *lx = NULL;
    tulle_mat *X = NULL, *Y = NULL;
    tulle_stream *stream = NULL;
    tulle_stream_report report;
    tulle_status status;
    double error;
    options.device = c->device;
    options.cols = 3;
    options.slabs = c->slabs;
    options.column_by_column = c->separate;
    tulle_layout_spec x = {.m = c->n, .n = 3, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    TULLE_TRY(tulle_layout_new(&x, tulle_comm_size(comm), &lx));
    TULLE_TRY(tulle_mat_new_dense(comm, lx, type, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_stream_of_rows(rows, &options, &stream));
    EXPECT(!c->told || strstr(tulle_stream_planned(stream)->format, c->told));
    TULLE_TRY(make_y(comm, tulle_stream_layout(stream), 3, type, &Y));
    for (int turn = 0; turn < 2; turn++) {
        TULLE_TRY(fill_x(X, turn));
        TULLE_TRY(spoil(Y));
        TULLE_TRY(tulle_stream_multiply(stream, X, Y, &report));
        EXPECT(wrong_of(c->shape, Y, c->n, turn) == 0);
        EXPECT(report.flops == 2 * nnz * 3);
        TULLE_TRY(tulle_stream_check(stream, X, Y, &error));
        EXPECT(error <= 1);
    }
    if (c->m) TULLE_TRY(change(Y));
    TULLE_TRY(tulle_comm_barrier(comm));
    if (c->m) EXPECT(tulle_stream_check(stream, X, Y, &error) == TULLE_ERR_CHECK);
out:
    tulle_stream_free(stream);
    tulle_mat_free(X);
    tulle_mat_free(Y);
    tulle_layout_free(lx);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    const struct cases *c = arg;
    tulle_rows *rows = NULL;
    int64_t nnz = 0;
    tulle_status status = write_file(comm, c, &nnz);
    if (status == TULLE_OK) status = load_file(comm, c, nnz);
    if (status != TULLE_OK) return status;
    TULLE_TRY(tulle_rows_open(comm, path, &rows));
    EXPECT(tulle_rows_count(rows) == c->m && tulle_rows_cols(rows) == c->n && tulle_rows_nnz(rows) == nnz);
    EXPECT((tulle_rows_type(rows) == TULLE_F32) == (c->type == TULLE_F32 || strstr(c->format, "f32") != NULL));
    for (int wide = 0; wide < 2; wide++) { /* the second time with vectors of f64, if they are not already */
        TULLE_TRY(find_diagonals(c, rows));
        TULLE_TRY(multiply(comm, c, rows, nnz));
        if (tulle_rows_type(rows) == TULLE_F64) break;
        TULLE_TRY(tulle_rows_set_type(rows, TULLE_F64));
    }
    EXPECT(tulle_rows_type(rows) == TULLE_F64);
    if (c->type == TULLE_F64 && !strstr(c->format, "f32"))
        EXPECT(tulle_rows_set_type(rows, TULLE_F32) == TULLE_ERR_ARG);
out:
    tulle_rows_free(rows);
    return status;
}

static void test_formats(tulle_team *team, const char *device)
{
    static const struct {
        const char *format, *told;
    } formats[] = {{"csr", "csr, f"}, {"auto", "bsr 3 x 3, half"}, {"bsr", "bsr 3 x 3, f"}, {"bsr:b=2", "bsr 2 x 2"},
        {"bsr:b=3,half", "bsr 3 x 3, half"}, {"bsr:b=6,half,values=f32", "half, f32"}, {"csr:half", "csr, half"},
        {"bsr:b=5,half", "bsr 5 x 5, half"}, {"bsr:b=60,half", "bsr 60 x 60"}, {"csr:values=f32", "csr, f32"}};
    struct cases base = {.shape = SYMMETRIC, .m = 60, .n = 60, .type = TULLE_F64, .device = device};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (int kind = 0; kind < 6; kind++) {
            struct cases c = base;
            c.format = formats[f].format;
            c.told = formats[f].told;
            c.slabs = kind % 4 == 3 ? 0 : 1 + 2 * (kind % 4);
            c.separate = kind == 2;
            c.tiles = kind == 1 || kind == 4 ? 11 : 0;
            c.cyclic = kind == 4;
            c.tile_cols = kind == 5 ? 2 : 1;
            c.type = kind % 2 && !strstr(c.format, "f32") ? TULLE_F32 : TULLE_F64;
            tulle_status status = tulle_team_run(team, run_case, &c);
            ok(status == TULLE_OK, "%s, kind %d%s%s", c.format, kind, status ? ": " : "",
                status ? tulle_error_message() : "");
        }
}

static void test_shapes(tulle_team *team, const char *device)
{
    static const struct {
        enum shape shape;
        int64_t m, n;
        const char *format, *told;
    } shapes[] = {{SCATTERED, 24, 60, "bsr:b=4", "bsr 4 x 4"}, {TRAILING, 60, 24, "bsr:b=2", "bsr 2 x 2"},
        {DENSE_ROW, 6, 60, "bsr:b=6", "bsr 6 x 6"}, {EMPTY, 12, 12, "bsr:b=3,half", "half"},
        {SYMMETRIC, 0, 0, "bsr:b=3,half", NULL}, {SCATTERED, 0, 6, "bsr:b=3", NULL},
        {SYMMETRIC, 1, 1, "csr:half", NULL}, {SCATTERED, 24, 61, "auto", "csr, f64"},
        {SYMMETRIC, 24, 24, "auto", "half"},
        /* no multiples of the blocks */
        {SYMMETRIC, 59, 59, "bsr:b=3,half", "bsr 3 x 3, half"}, {SYMMETRIC, 61, 61, "bsr:b=7", "bsr 7 x 7"},
        {SYMMETRIC, 61, 61, "bsr:b=2,half,values=f32", "half, f32"}, {SYMMETRIC, 1, 1, "bsr:b=4,half", "half"},
        {SYMMETRIC, 59, 59, "bsr:b=64,half", "bsr 64 x 64"}, {SCATTERED, 23, 61, "bsr:b=3", "bsr 3 x 3"},
        {TRAILING, 61, 23, "bsr:b=5", "bsr 5 x 5"}, {DENSE_ROW, 7, 60, "bsr:b=6", "bsr 6 x 6"},
        {SCATTERED, 0, 5, "bsr:b=3", NULL}, {EMPTY, 13, 13, "bsr:b=3,half", "half"}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct cases c = {.shape = shapes[s].shape,
            .m = shapes[s].m,
            .n = shapes[s].n,
            .type = TULLE_F64,
            .format = shapes[s].format,
            .told = shapes[s].told,
            .device = device,
            .slabs = 2};
        tulle_status status = tulle_team_run(team, run_case, &c);
        ok(status == TULLE_OK, "%d x %d, %s%s%s", (int)c.m, (int)c.n, c.format, status ? ": " : "",
            status ? tulle_error_message() : "");
    }
}

/* ---- refusals ---- */

struct wish {
    struct cases c;
    const char *name;
};

static tulle_status save_wish(tulle_comm *comm, void *arg)
{
    const struct wish *w = arg;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL;
    char to[TEMPORARY_MOST + 32];
    tulle_layout_spec spec = {.m = w->c.m, .n = w->c.n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_status status;
    snprintf(to, sizeof to, "%s/%s", folder, w->name);
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (w->c.shape == EMPTY) /* stands for a dense matrix here */
        TULLE_TRY(tulle_mat_new_dense(comm, layout, w->c.type, TULLE_ROW_MAJOR, &A));
    else
        TULLE_TRY(make_matrix(comm, w->c.shape, layout, w->c.type, &A));
    status = tulle_mat_save_as(A, to, w->c.format);
out:
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

static void refuse(tulle_team *team, struct cases c, const char *name, const char *format, const char *cause)
{
    char to[TEMPORARY_MOST + 32];
    c.format = format;
    tulle_status status = tulle_team_run(team, save_wish, &(struct wish){c, name});
    snprintf(to, sizeof to, "%s/%s", folder, name);
    ok(status == TULLE_ERR_ARG && strstr(tulle_error_message(), cause) && access(to, F_OK) != 0, "%s, %s: %s", name,
        format, status ? tulle_error_message() : "");
}

static void test_refusals(tulle_team *team)
{
    struct cases c = {.shape = SYMMETRIC, .m = 60, .n = 60, .type = TULLE_F64}, other = c;
    refuse(team, c, "r.bsp.h5", "csr:half,index=2", "column indices of 4 bytes");
    refuse(team, c, "r.bsp.h5", "ell", "unknown format 'ell'");
    refuse(team, c, "r.mtx", "bsr:b=3", "needs a Binsparse file");
    other.shape = SCATTERED;
    refuse(team, other, "r.bsp.h5", "bsr:b=3,half", "not symmetric");
    other.shape = EMPTY;
    refuse(team, other, "r.bsp.h5", "bsr:b=3", "a dense matrix");
}

/* ---- contradictory files ---- */

struct lie {
    const char *device;
    int diagonal; /* 0: a product detects it */
    int slabs;
};

static tulle_status read_lie(tulle_comm *comm, void *arg)
{
    const struct lie *lie = arg;
    struct cases c = {.shape = SYMMETRIC, .m = 60, .n = 60, .slabs = lie->slabs, .device = lie->device};
    tulle_rows *rows = NULL;
    tulle_mat *D = NULL;
    tulle_status status = tulle_rows_open(comm, path, &rows);
    if (status != TULLE_OK) return status;
    status = lie->diagonal ? tulle_rows_diagonal(rows, 3, &D) : multiply(comm, &c, rows, tulle_rows_nnz(rows));
    tulle_mat_free(D);
    tulle_rows_free(rows);
    return status;
}

static tulle_status write_it(tulle_comm *comm, void *arg)
{
    int64_t nnz;
    return write_file(comm, arg, &nnz);
}

/* Overwrites column `at` of the file (from its end, if negative). */
static int overwrite_column(int64_t at, uint32_t column)
{
    tulle__binsparse *file = NULL;
    if (tulle__binsparse_open(path, NULL, &file) != TULLE_OK) return 0;
    const tulle__binsparse_header *head = tulle__binsparse_head(file);
    int64_t place = head->array[TULLE__BINSPARSE_INDICES1].offset + 4 * (at < 0 ? head->count + at : at);
    tulle__binsparse_close(file);
    int fd = open(path, O_WRONLY), fine = fd >= 0 && pwrite(fd, &column, sizeof column, place) == sizeof column;
    if (fd >= 0) close(fd);
    return fine;
}

/* Replaces words of the file's description by others of the same length. */
static int reword(const char *word, const char *other)
{
    static char bytes[1 << 16];
    FILE *file = fopen(path, "r+b");
    size_t count = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    char *at = file ? memmem(bytes, count, word, strlen(word)) : NULL;
    int fine = at && fseek(file, at - bytes, SEEK_SET) == 0 && fwrite(other, 1, strlen(other), file) == strlen(other);
    if (file) fclose(file);
    return fine;
}

static void test_lies(tulle_team *team, const char *device)
{
    static const struct {
        const char *format, *cause, *other_cause; /* of one PE, or several */
        int64_t at;                               /* which column becomes */
        uint32_t column;
        const char *word, *lie; /* or a word of the description */
        int harms_diagonal;
    } lies[] = {{"bsr:b=3,half", "do not ascend", "a column index is 0", -1, 0, NULL, NULL, 1},
        {"csr:half", "do not ascend", "a column index is 1", -1, 1, NULL, NULL, 1},
        {"bsr:b=3,half", "do not ascend", "do not ascend", 1, 0, NULL, NULL, 0},
        {"bsr:b=3,half", "at most 3 after it", "a column index is", 0, 0, "\"span\": 19", "\"span\": 01", 0},
        {"csr:half", "at most 2 after it", "a column index is", 0, 0, "\"span\": 59", "\"span\": 02", 0},
        {"bsr:b=3", "a column index is 20", "a column index is 20", 4, 20, NULL, NULL, 1},
        {"csr:half", "a column index is 4000000000", "a column index is 4000000000", 4, 4000000000u, NULL, NULL, 1}};
    for (size_t l = 0; l < sizeof lies / sizeof *lies; l++)
        for (int slabs = 1; slabs < 9; slabs += 3) {
            struct cases c = {.shape = SYMMETRIC, .m = 60, .n = 60, .type = TULLE_F64, .format = lies[l].format};
            struct lie lie = {.device = device, .slabs = slabs};
            tulle_status status = tulle_team_run(team, write_it, &c);
            int told = status == TULLE_OK && (lies[l].word ? reword(lies[l].word, lies[l].lie)
                                                           : overwrite_column(lies[l].at, lies[l].column));
            if (!ok(told, "%s: a lie is told", c.format)) continue;
            status = tulle_team_run(team, read_lie, &lie);
            ok(status == TULLE_ERR_FORMAT && (strstr(tulle_error_message(), lies[l].cause) ||
                                                 strstr(tulle_error_message(), lies[l].other_cause)),
                "%s, %d slabs: %s", c.format, slabs, status ? tulle_error_message() : "multiplied");
            lie.diagonal = 1;
            status = tulle_team_run(team, read_lie, &lie);
            ok(status == (lies[l].harms_diagonal ? TULLE_ERR_FORMAT : TULLE_OK), "%s: its diagonal%s%s", c.format,
                status ? ": " : "", status ? tulle_error_message() : "");
        }
}

static tulle_status load_any(tulle_comm *comm, void *unused)
{
    tulle_mat *A = NULL;
    (void)unused;
    tulle_status status = tulle_mat_load(comm, path, NULL, TULLE_CSR, NULL, NULL, &A);
    tulle_mat_free(A);
    return status;
}

/* Files whose matrix does not end in their last blocks, or has entries behind its end. */
static void test_padding(tulle_team *team)
{
    static const char *const stated = "\"rows\": 61, \"columns\": 61",
                             *const lies[][2] = {{"\"rows\": 55, \"columns\": 61", "55 rows are not those of 9 blocks"},
                                 {"\"rows\": 61, \"columns\": 64", "64 columns are not those of 9 blocks"},
                                 {"\"rows\": 60, \"columns\": 60", "has entries beyond the matrix"}};
    for (size_t l = 0; l < sizeof lies / sizeof *lies; l++) {
        struct cases c = {.shape = SYMMETRIC, .m = 61, .n = 61, .type = TULLE_F64, .format = "bsr:b=7"};
        tulle_status status = tulle_team_run(team, write_it, &c);
        if (!ok(status == TULLE_OK && reword(stated, lies[l][0]), "%s: a lie is told", lies[l][0])) continue;
        status = tulle_team_run(team, load_any, NULL);
        ok(status == TULLE_ERR_FORMAT && strstr(tulle_error_message(), lies[l][1]), "%s: %s", lies[l][0],
            status ? tulle_error_message() : "read");
    }
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    if (argc != 4 || !temporary_folder(folder)) return 2;
    snprintf(path, sizeof path, "%s/a.bsp.h5", folder);
    tulle_team_options options = {.threads = 1, .memory = (size_t)256 << 20};
    tulle_status status = tulle_team_new(argv[1], atoi(argv[2]), &options, &team);
    if (!ok(status == TULLE_OK, "%s: %s", argv[1], status ? tulle_error_message() : "")) return tap_done();
    test_formats(team, argv[3]);
    test_shapes(team, argv[3]);
    test_refusals(team);
    test_lies(team, argv[3]);
    test_padding(team);
    tulle_team_free(team);
    unlink(path);
    ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
