/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tulle_writer: a matrix written in pieces reads back unchanged, in any format; Binsparse files are
 * the same as if written whole. Unsuitable outputs are refused; no partial file remains, not even
 * when the disk is full.
 */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/io.h>
#include <tulle/version.h>

#include "body.h"
#include "built_with.h"
#include "gate.h"
#include "io/binsparse/binsparse.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST];

/* Rows with EACH entries each, one of them dense; no single piece has all entries of a row. */
enum { EACH = 5, PIECES = 3 };
static int some; /* fewer full disks */
typedef struct shape {
    int64_t m, n, dense;
    tulle_type type;
} shape;

static const shape small = {40, 23, 9, TULLE_F64}, single = {40, 23, 9, TULLE_F32},
                   /* more than a buffer of pointers, of records, and of read-ahead */
    large = {9000, 30000, 30000, TULLE_F64},
                   /* columns of 64 bits */
    wide = {30, INT64_C(3) << 31, 2000, TULLE_F64};

struct run {
    const shape *shape;
    tulle_kind kind; /* of the pieces */
    char path[TEMPORARY_MOST + 32];
};

static double value_of(const shape *s, int64_t i, int64_t e)
{
    double x = (double)(i + 1) / (double)(e + 3);
    return s->type == TULLE_F32 ? (double)(float)x : x;
}

/*
 * Entries e with (i + e) mod PIECES = piece of row i, in runs that alternate; all if piece < 0.
 * Each PE passes the rows of its turn.
 */
static tulle_status make(tulle_comm *comm, const shape *s, int piece, tulle_mat **A)
{
    tulle_status status;
    int64_t count = 0, most = s->m * EACH + s->dense, *row = NULL, *col = NULL;
    double *val = NULL;
    float *narrow = NULL;
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = s->m, .n = s->n, .tile_rows = 3, .tile_cols = 5};
    TULLE_TRY(tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *row, "rows", &row));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *col, "columns", &col));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *val, "values", &val));
    TULLE_TRY(tulle__alloc((size_t)most, sizeof *narrow, "values", &narrow));
    for (int64_t i = tulle_comm_rank(comm); i < s->m; i += tulle_comm_size(comm)) {
        int64_t n = i == s->m / 2 ? s->dense : i % 4 ? EACH : 0, step = n ? s->n / n : 1;
        for (int64_t e = 0; e < n; e++) {
            if (piece >= 0 && (i + e / 2) % PIECES != piece) continue;
            row[count] = i;
            col[count] = e * step + i % step;
            val[count] = value_of(s, i, e);
            narrow[count] = (float)val[count];
            count++;
        }
    }
    status = tulle_mat_from_entries(comm, layout, s->type, count, row, col,
        s->type == TULLE_F32 ? (void *)narrow : (void *)val, TULLE_DUPLICATES_ERROR, A);
out:
    tulle__free(row);
    tulle__free(col);
    tulle__free(val);
    tulle__free(narrow);
    tulle_layout_free(layout);
    return status;
}

/* The same bits in own tiles of two matrices of one layout. */
static tulle_status compare(tulle_mat *A, tulle_mat *B)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    tulle_tile a, b;
    EXPECT(tulle_mat_nnz(A) == tulle_mat_nnz(B) && tulle_mat_nnz(A) > 0);
    for (int i = 0; i < tulle_layout_tile_rows(l); i++)
        for (int j = 0; j < tulle_layout_tile_cols(l); j++) {
            if (tulle_layout_owner(l, i, j) != tulle_comm_rank(tulle_mat_comm(A))) continue;
            TULLE_TRY(tulle_mat_tile(A, i, j, &a));
            TULLE_TRY(tulle_mat_tile(B, i, j, &b));
            EXPECT(a.nnz == b.nnz);
            if (!a.nnz) continue;
            EXPECT(memcmp(a.rowptr, b.rowptr, ((size_t)a.m + 1) * sizeof *a.rowptr) == 0);
            EXPECT(memcmp(a.colind, b.colind, (size_t)a.nnz * sizeof *a.colind) == 0);
            EXPECT(memcmp(a.val, b.val, (size_t)a.nnz * tulle_type_size(a.type)) == 0);
        }
out:
    return tulle_comm_agree(tulle_mat_comm(A), status);
}

/* Blocks of one and two rows, and of three columns, the last one narrower. */
static tulle_status in_blocks(tulle_mat **A, const shape *s, tulle_kind kind)
{
    enum { WIDE = 3, MOST = 64 };
    tulle_status status;
    tulle_gidx row[MOST], col[MOST];
    tulle_block_cuts rows = {0, row}, cols = {0, col};
    tulle_layout *layout = NULL;
    tulle_mat *blocks = NULL;
    if (kind == TULLE_BSR) {
        TULLE_TRY(tulle_mat_to_bsr(*A, 2, 1, &blocks));
    } else {
        for (tulle_gidx r = 0; r < s->m; r += 1 + rows.count % 2) row[rows.count++] = r;
        for (tulle_gidx c = 0; c < s->n; c += WIDE) col[cols.count++] = c;
        row[rows.count] = s->m;
        col[cols.count] = s->n;
        TULLE_TRY(tulle_layout_in_blocks(tulle_mat_layout(*A), &rows, &cols, &layout));
        TULLE_TRY(tulle_mat_to_vbsr(*A, layout, &blocks));
    }
    tulle_mat_free(*A);
    *A = blocks;
out:
    tulle_layout_free(layout);
    return status;
}

static tulle_status write_pieces(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    tulle_writer *writer;
    TULLE_TRY(tulle_writer_open(comm, run->path, run->shape->m, run->shape->n, run->shape->type, &writer));
    for (int p = 0; p < PIECES && status == TULLE_OK; p++) {
        tulle_mat *A;
        TULLE_TRY(make(comm, run->shape, p, &A));
        if (run->kind != TULLE_CSR) TULLE_TRY(in_blocks(&A, run->shape, run->kind));
        TULLE_TRY(tulle_writer_append(writer, A));
        tulle_mat_free(A);
    }
    TULLE_TRY(tulle_writer_close(writer));
out:
    return status;
}

static tulle_status write_and_read(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    tulle_mat *A = NULL, *whole = NULL;
    tulle_read_options options = {0};
    options.type = run->shape->type;
    TULLE_TRY(write_pieces(comm, arg));
    TULLE_TRY(make(comm, run->shape, -1, &whole));
    TULLE_TRY(tulle_mat_load(comm, run->path, tulle_mat_layout(whole), TULLE_CSR, &options, NULL, &A));
    TULLE_TRY(compare(A, whole));
    tulle_mat_free(A);
    tulle_mat_free(whole);
out:
    return status;
}

static tulle_status write_nothing(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    tulle_writer *writer;
    tulle_mat *A = NULL;
    TULLE_TRY(tulle_writer_open(comm, run->path, 3, 4, TULLE_F64, &writer));
    TULLE_TRY(tulle_writer_close(writer));
    TULLE_TRY(tulle_mat_load(comm, run->path, NULL, TULLE_CSR, NULL, NULL, &A));
    EXPECT(tulle_mat_rows(A) == 3 && tulle_mat_cols(A) == 4 && tulle_mat_nnz(A) == 0);
    tulle_mat_free(A);
out:
    return status;
}

static tulle_status save_whole(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_mat *A;
    tulle_status status = make(comm, run->shape, -1, &A);
    if (status != TULLE_OK) return status;
    status = tulle_mat_save(A, run->path);
    tulle_mat_free(A);
    return status;
}

static tulle_status open_only(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_writer *writer;
    return tulle_writer_open(comm, run->path, small.m, small.n, TULLE_F64, &writer);
}

/*
 * A piece of another shape is refused, and then the file; another file is left open when the run
 * ends.
 */
static tulle_status leave_open(tulle_comm *comm, void *arg)
{
    const struct run *run = arg;
    tulle_status status;
    tulle_writer *writer;
    tulle_mat *A = NULL;
    TULLE_TRY(make(comm, &small, -1, &A));
    TULLE_TRY(tulle_writer_open(comm, run->path, small.m, small.n + 1, TULLE_F64, &writer));
    EXPECT(tulle_writer_append(writer, A) == TULLE_ERR_ARG);
    EXPECT(tulle_writer_close(writer) == TULLE_ERR_STATE);
    TULLE_TRY(tulle_writer_open(comm, run->path, small.m, small.n, TULLE_F64, &writer));
    TULLE_TRY(tulle_writer_append(writer, A));
    tulle_mat_free(A);
out:
    return status;
}

static int files_in_folder(void)
{
    int files = 0;
    DIR *d = opendir(folder);
    for (const struct dirent *entry; d && (entry = readdir(d));) files += entry->d_name[0] != '.';
    if (d) closedir(d);
    return files;
}

static void name(struct run *run, const char *file)
{
    snprintf(run->path, sizeof run->path, "%s/%s", folder, file);
}

/* The entries of two sparse files in file order, one row after the other. */
static int same_order(const char *one, const char *other)
{
    const char *path[] = {one, other};
    tulle__binsparse *file[2] = {NULL, NULL};
    tulle__entries e[2];
    int same = 1;
    for (int f = 0; f < 2; f++) {
        same &= tulle__binsparse_open(path[f], NULL, &file[f]) == TULLE_OK &&
                tulle__binsparse_head(file[f])->format == TULLE__BINSPARSE_CSR;
        if (same)
            same = tulle__binsparse_parse(file[f], 0, 1, open_gate(TULLE_F64), &e[f]) == TULLE_OK;
        else
            tulle__entries_init(&e[f], 0, 0, TULLE_F64);
    }
    same = same && e[0].count == e[1].count && e[0].count > 0;
    for (int64_t i = 0; same && i < e[0].count; i++)
        same = tulle__entries_row(&e[0], i) == tulle__entries_row(&e[1], i) &&
               tulle__entries_col(&e[0], i) == tulle__entries_col(&e[1], i) &&
               tulle__entries_val(&e[0], i) == tulle__entries_val(&e[1], i);
    for (int f = 0; f < 2; f++) {
        tulle__entries_fini(&e[f]);
        tulle__binsparse_close(file[f]);
    }
    return same;
}

static void refused(tulle_team *team, const char *file, const char *why)
{
    struct run run;
    name(&run, file);
    tulle_status status = tulle_team_run(team, open_only, &run);
    ok(status == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), why), "%s: %s", file, tulle_error_message());
}

/* The limit of the file size grows: writing fails and leaves no file until everything fits. */
static void full_disk(tulle_team *team, struct run *run)
{
    enum { MOST = 1 << 20 };
    struct rlimit had, limit;
    int fine = getrlimit(RLIMIT_FSIZE, &had) == 0, failures = 0;
    tulle_status status = TULLE_ERR_IO;
    limit = had;
    fflush(stdout);
    for (rlim_t bytes = 0; fine && status != TULLE_OK && bytes < MOST; bytes += 300 + (some ? bytes / 4 : 0)) {
        limit.rlim_cur = bytes;
        fine = setrlimit(RLIMIT_FSIZE, &limit) == 0;
        status = tulle_team_run(team, write_pieces, run);
        fine &= setrlimit(RLIMIT_FSIZE, &had) == 0;
        if (status == TULLE_OK) break;
        failures++;
        fine &= status == TULLE_ERR_IO && files_in_folder() == 0;
    }
    ok(fine && status == TULLE_OK && failures > 1, "%s: %d times the disk was full: %s", run->path, failures,
        failures ? "nothing was left" : "never");
    unlink(run->path);
}

static void run_format(tulle_team *team, const char *file)
{
    static const shape *const shapes[] = {&small, &single, &large, &wide};
    struct run run = {.kind = TULLE_CSR};
    name(&run, file);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        run.shape = shapes[s];
        ok(tulle_team_run(team, write_and_read, &run) == TULLE_OK, "%s, %lld x %lld, written in pieces: %s", file,
            (long long)run.shape->m, (long long)run.shape->n, tulle_error_message());
        if (!strstr(file, ".h5")) continue;
        struct run whole = {.shape = run.shape, .kind = TULLE_CSR};
        name(&whole, "whole.bsp.h5");
        tulle_status status = tulle_team_run(team, save_whole, &whole);
        ok(status == TULLE_OK && same_order(run.path, whole.path), "and as if written whole");
        unlink(whole.path);
    }
    for (int k = 0; k < TULLE_KIND_COUNT; k++) {
        run = (struct run){.kind = (tulle_kind)k, .shape = k % 2 ? &single : &small};
        name(&run, file);
        if (k == TULLE_DENSE) continue;
        ok(tulle_team_run(team, write_and_read, &run) == TULLE_OK, "%s, pieces in %s: %s", file,
            tulle_kind_name((tulle_kind)k), tulle_error_message());
    }
    run.kind = TULLE_CSR;
    ok(tulle_team_run(team, write_nothing, &run) == TULLE_OK, "%s without a piece: %s", file, tulle_error_message());
    unlink(run.path);
    run.shape = &small;
    full_disk(team, &run);
    ok(tulle_team_run(team, leave_open, &run) == TULLE_OK, "%s left open: %s", file, tulle_error_message());
}

/* The outcome for a file that needs this fact of the build. */
static void run_optional(tulle_team *team, const char *fact, const char *file, const char *why)
{
    if (built_with(fact))
        run_format(team, file);
    else
        refused(team, file, why);
}

static void refuse_device(tulle_team *team, const char *file, const char *why)
{
    struct run run = {.kind = TULLE_CSR};
    name(&run, file);
    if (access("/dev/null", W_OK) == 0 && symlink("/dev/null", run.path) == 0)
        refused(team, file, why);
    else
        skip("no device to write to");
    unlink(run.path);
}

static void run_pes(int npes)
{
    tulle_team *team;
    if (!ok(tulle_team_new("threads", npes, NULL, &team) == TULLE_OK, "%d PEs", npes)) return;
    run_format(team, "a.mtx");
    run_optional(team, "zlib: yes", "a.mtx.gz", "no zlib");
    run_optional(team, "HDF5: yes", "a.bsp.h5", "no HDF5");
    run_optional(team, "zlib: yes", "a.npz", "no zlib");
    refused(team, "a.npy", "can be written to a .mtx, .mtx.gz, .npz, .petsc or .bsp.h5 file");
    refused(team, "a.csv", "unknown ending");
    refuse_device(team, "pipe.mtx", "is not a regular file");
    refuse_device(team, "pipe.mtx.gz", built_with("zlib: yes") ? "is not a regular file" : "no zlib");
    refuse_device(team, "pipe.bsp.h5", built_with("HDF5: yes") ? "is not a regular file" : "no HDF5");
    tulle_team_free(team);
    ok(files_in_folder() == 0, "no file is left behind");
}

int main(int argc, char **argv)
{
    some = argc > 1 && !strcmp(argv[1], "some");
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    signal(SIGXFSZ, SIG_IGN);
    for (int npes = 1; npes <= 3; npes++) run_pes(npes);
    ok(rmdir(folder) == 0, "the folder is empty");
    return tap_done();
}
