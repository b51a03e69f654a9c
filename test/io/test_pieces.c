/* SPDX-License-Identifier: Apache-2.0 */
/* tulle_writer: a matrix written in pieces is read back whole; what cannot be written so; nothing is left of half a
 * file. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/io.h>

#include "body.h"
#include "tap.h"
#include "temporary.h"

enum { M = 40, N = 23, PIECES = 3 };

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

/* Whether there is an entry, and which. */
static double value_at(int64_t i, int64_t j)
{
    return (i * 7 + j * 5) % 4 ? 0 : (double)(i + 1) / (double)(j + 3);
}

/* Columns j with j mod PIECES = piece; all if piece < 0. Each PE gives the rows whose turn it is. */
static tulle_status make(tulle_comm *comm, int piece, tulle_mat **A)
{
    int64_t count = 0;
    tulle_gidx row[M * N], col[M * N];
    double val[M * N];
    tulle_layout *layout;
    tulle_layout_spec spec = {.m = M, .n = N, .tile_rows = 3, .tile_cols = 2};
    tulle_status status = tulle_layout_new(&spec, tulle_comm_size(comm), &layout);
    if (status != TULLE_OK) return status;
    for (int64_t i = tulle_comm_rank(comm); i < M; i += tulle_comm_size(comm))
        for (int64_t j = 0; j < N; j++) {
            if (value_at(i, j) == 0 || (piece >= 0 && j % PIECES != piece)) continue;
            row[count] = i;
            col[count] = j;
            val[count++] = value_at(i, j);
        }
    status = tulle_mat_from_entries(comm, layout, TULLE_F64, count, row, col, val, TULLE_DUPLICATES_ERROR, A);
    tulle_layout_free(layout);
    return status;
}

/* Own tiles against value_at. */
static tulle_status compare(tulle_mat *A)
{
    tulle_status status = TULLE_OK;
    const tulle_layout *l = tulle_mat_layout(A);
    tulle_tile t;
    for (int i = 0; i < tulle_layout_tile_rows(l); i++) {
        if (tulle_mat_tile(A, i, 0, &t) != TULLE_OK) continue;
        for (int64_t r = 0; r < t.m; r++) {
            int64_t e = t.rowptr ? t.rowptr[r] : 0, row = tulle_layout_row_cut(l)[i] + r;
            for (int64_t j = 0; j < N; j++) {
                if (value_at(row, j) == 0) continue;
                EXPECT(t.rowptr && e < t.rowptr[r + 1] && t.colind[e] == j && ((double *)t.val)[e] == value_at(row, j));
                e++;
            }
            EXPECT(!t.rowptr || e == t.rowptr[r + 1]);
        }
    }
out:
    return tulle_comm_agree(tulle_mat_comm(A), status);
}

static tulle_status write_and_read(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_writer *writer;
    tulle_mat *A = NULL;
    TULLE_TRY(tulle_writer_open(comm, path, M, N, TULLE_F64, &writer));
    for (int p = 0; p < PIECES; p++) {
        TULLE_TRY(make(comm, p, &A));
        TULLE_TRY(tulle_writer_append(writer, A));
        tulle_mat_free(A);
    }
    TULLE_TRY(tulle_writer_close(writer));
    TULLE_TRY(tulle_mat_load(comm, path, NULL, TULLE_CSR, NULL, NULL, &A));
    TULLE_TRY(compare(A));
    tulle_mat_free(A);
out:
    return status;
}

static tulle_status write_nothing(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_writer *writer;
    tulle_mat *A = NULL;
    TULLE_TRY(tulle_writer_open(comm, path, 3, 4, TULLE_F64, &writer));
    TULLE_TRY(tulle_writer_close(writer));
    TULLE_TRY(tulle_mat_load(comm, path, NULL, TULLE_CSR, NULL, NULL, &A));
    EXPECT(tulle_mat_rows(A) == 3 && tulle_mat_cols(A) == 4 && tulle_mat_nnz(A) == 0);
    tulle_mat_free(A);
out:
    return status;
}

static tulle_status open_as(tulle_comm *comm, void *arg)
{
    tulle_writer *writer;
    return tulle_writer_open(comm, arg, M, N, TULLE_F64, &writer);
}

/* A piece of another shape is refused; then the run ends without closing the file. */
static tulle_status leave_open(tulle_comm *comm, void *arg)
{
    (void)arg;
    tulle_status status;
    tulle_writer *writer;
    tulle_mat *A = NULL;
    TULLE_TRY(make(comm, -1, &A));
    TULLE_TRY(tulle_writer_open(comm, path, M, N + 1, TULLE_F64, &writer));
    EXPECT(tulle_writer_append(writer, A) == TULLE_ERR_ARG);
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

static void refused(tulle_team *team, const char *name, const char *why)
{
    char to[TEMPORARY_MOST + 32];
    snprintf(to, sizeof to, "%s/%s", folder, name);
    tulle_status status = tulle_team_run(team, open_as, to);
    ok(status == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), why), "%s: %s", name, tulle_error_message());
}

static void run(int npes)
{
    tulle_team *team;
    if (!ok(tulle_team_new("threads", npes, NULL, &team) == TULLE_OK, "%d PEs", npes)) return;
    ok(tulle_team_run(team, write_and_read, NULL) == TULLE_OK, "written in pieces: %s", tulle_error_message());
    ok(tulle_team_run(team, write_nothing, NULL) == TULLE_OK, "without a piece: %s", tulle_error_message());
    unlink(path);
    refused(team, "a.mtx.gz", "cannot be packed while it is written");
    refused(team, "a.bsp.h5", "name a .mtx file");
    refused(team, "a.npy", "name a .mtx file");
    char pipe[TEMPORARY_MOST + 16];
    snprintf(pipe, sizeof pipe, "%s/pipe.mtx", folder);
    if (access("/dev/null", W_OK) == 0 && symlink("/dev/null", pipe) == 0) {
        refused(team, "pipe.mtx", "write a plain .mtx file");
        unlink(pipe);
    } else {
        skip("no device to write to");
    }
    ok(tulle_team_run(team, leave_open, NULL) == TULLE_OK, "left open: %s", tulle_error_message());
    tulle_team_free(team);
    ok(files_in_folder() == 0, "no file is left behind");
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    for (int npes = 1; npes <= 3; npes++) run(npes);
    ok(rmdir(folder) == 0, "the folder is empty");
    return tap_done();
}
