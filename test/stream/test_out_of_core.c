/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A matrix in a file that is larger than the memory of the process: test_out_of_core. The shell
 * limits the process's data to less than the matrix, and the program starts itself again below that
 * limit. Streaming gives the right product (that of the matrix-free finite elements) and reads the
 * matrix once a sweep, by the system's counts. Loading the matrix fails for lack of memory, but
 * succeeds without the limit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tulle/tulle.h>

#include "body.h"
#include "built_with.h"
#include "process/process_io.h"
#include "tap.h"
#include "temporary.h"

#define OPERAND "cantilever:nodes=48,dof=3,vary=2"
enum { MB = 1 << 20, COLS = 2, PASSES = 2, PATH = TEMPORARY_MOST + 32, SAID = 4096 };
/*
 * The matrix takes 312 MB. A team reserves address space for segments: 64 MB and a control part
 * beyond its memory.
 */
enum { LIMIT = 264 * MB, BUDGET = 40 * MB, STREAMED = 64 * MB, LOADED = 1000 * MB };

/* ---- below the limit: one PE ---- */

static tulle_status make_vectors(tulle_comm *comm, const tulle_layout *rows, tulle_mat *side[3])
{
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = tulle_layout_rows(rows), .n = COLS, .grid_rows = 1, .grid_cols = 1};
    tulle_status status = tulle_layout_new(&spec, 1, &layout);
    for (int i = 0; i < 3 && status == TULLE_OK; i++)
        status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &side[i]);
    tulle_layout_free(layout);
    return status == TULLE_OK ? tulle_mat_fill_random(side[0], 5) : status;
}

/* Largest difference over the largest element. */
static tulle_status difference(tulle_mat *Y, tulle_mat *Z, double *off)
{
    tulle_tile y, z;
    double size = 0, worst = 0;
    tulle_status status = tulle_mat_tile(Y, 0, 0, &y);
    if (status == TULLE_OK) status = tulle_mat_tile(Z, 0, 0, &z);
    for (int64_t i = 0; status == TULLE_OK && i < y.m * y.n; i++) {
        size = fmax(size, fabs(((const double *)z.val)[i]));
        worst = fmax(worst, fabs(((const double *)y.val)[i] - ((const double *)z.val)[i]));
    }
    *off = worst / size;
    return status;
}

/* The matrix-free product, into Z. */
static tulle_status by_elements(tulle_comm *comm, tulle_mat *X, tulle_mat *Z)
{
    tulle_operator op = {.comm = NULL};
    void *bound = NULL;
    tulle_status status;
    TULLE_TRY(tulle_operator_of_elements(comm, OPERAND, TULLE_F64, &op));
    TULLE_TRY(op.bind(op.context, X, Z, &bound));
    status = op.apply(bound);
    op.unbind(bound);
out:
    tulle_operator_free(&op);
    return status;
}

static tulle_status stream_file(tulle_comm *comm, void *arg)
{
    tulle_stream_options options = {.cols = COLS, .memory = BUDGET};
    tulle_stream *stream = NULL;
    tulle_rows *rows = NULL;
    tulle_mat *side[3] = {NULL, NULL, NULL};
    struct process_io before = {0, 0}, after = {0, 0};
    double off = 1;
    tulle_status status;
    TULLE_TRY(tulle_rows_open(comm, arg, &rows));
    TULLE_TRY(tulle_stream_of_rows(rows, &options, &stream));
    TULLE_TRY(make_vectors(comm, tulle_stream_layout(stream), side));
    int known = process_io(&before);
    for (int p = 0; p < PASSES; p++) TULLE_TRY(tulle_stream_multiply(stream, side[0], side[1], NULL));
    known = known && process_io(&after);
    tulle_stream_plan plan = *tulle_stream_planned(stream);
    double matrix = 12.0 * (double)tulle_rows_nnz(rows);
    tulle_stream_free(stream); /* the elements need memory too */
    TULLE_TRY(by_elements(comm, side[0], side[2]));
    TULLE_TRY(difference(side[1], side[2], &off));
    printf("off %.3g matrix %.0f slabs %d device %.0f known %d asked %.0f storage %.0f manner %s\n", off, matrix,
        plan.slabs, (double)plan.device_bytes, known, (double)(after.asked - before.asked) / PASSES,
        (double)(after.storage - before.storage) / PASSES, tulle_rows_mode(rows));
out:
    return status; /* the team frees everything */
}

static tulle_status load_file(tulle_comm *comm, void *arg)
{
    tulle_read_options reading = {0};
    tulle_mat *A = NULL;
    tulle_status status = tulle_mat_load(comm, arg, NULL, TULLE_CSR, &reading, NULL, &A);
    if (status == TULLE_OK) printf("loaded %.0f\n", 12.0 * (double)tulle_mat_nnz(A));
    return status;
}

static int on_team(size_t memory, tulle_status (*body)(tulle_comm *, void *), const char *path)
{
    tulle_team *team = NULL;
    tulle_team_options options = {.threads = 1, .memory = memory};
    tulle_status status = tulle_team_new("threads", 1, &options, &team);
    if (status == TULLE_OK) status = tulle_team_run(team, body, (void *)(uintptr_t)path);
    if (status != TULLE_OK) printf("failed: %s\n", tulle_error_message());
    tulle_team_free(team);
    return status == TULLE_OK ? 0 : 1;
}

/* ---- above it ---- */

static tulle_status write_file(tulle_comm *comm, void *arg)
{
    return tulle_operand_save(comm, OPERAND, TULLE_F64, arg, NULL);
}

/*
 * Runs this program again, with a limit in bytes or none, and captures its output. Returns its exit
 * status.
 */
static int again(const char *self, const char *what, const char *path, int limit, char *said)
{
    char command[PATH * 3], text[32] = "unlimited";
    if (limit) snprintf(text, sizeof text, "%d", limit / 1024);
    /* each thread of a BLAS, which is not needed here, would take a buffer */
    snprintf(
        command, sizeof command, "ulimit -d %s && OPENBLAS_NUM_THREADS=1 '%s' %s '%s' 2>&1", text, self, what, path);
    FILE *pipe = popen(command, "r");
    size_t n = pipe ? fread(said, 1, SAID - 1, pipe) : 0;
    said[n] = 0;
    if (n && said[n - 1] == '\n') said[n - 1] = 0;
    return pipe ? pclose(pipe) : -1;
}

static void judge_stream(const char *said)
{
    double off = 1, matrix = 0, device = 0, asked = 0, storage = 0;
    char manner[200] = "";
    int slabs = 0, known = 0;
    int fields = sscanf(said, "off %lf matrix %lf slabs %d device %lf known %d asked %lf storage %lf manner %199[^\n]",
        &off, &matrix, &slabs, &device, &known, &asked, &storage, manner);
    ok(fields == 8 && matrix > LIMIT, "a matrix of %.0f MB, with %d MB of data allowed", matrix / 1e6, LIMIT / MB);
    ok(off < 1e-13, "the product is that of the elements: off by %.2g", off);
    ok(device <= BUDGET && slabs >= 2, "%d slabs, %.1f MB of a budget of %d MB", slabs, device / 1e6, BUDGET / MB);
    if (!known) {
        skip("bytes read: there is no /proc/self/io");
        return;
    }
    /* slabs begin and end within blocks of 4096, of two arrays */
    double most = matrix + 4.0 * 4096 * slabs + 1e5;
    ok(asked >= matrix && asked <= most, "a pass asks for the matrix once: %.0f of %.0f bytes", asked, matrix);
    if (strcmp(manner, "by O_DIRECT") != 0)
        skip("bytes from storage: the file is read %s", manner);
    else if (storage == 0)
        skip("bytes from storage: this file system does not count them");
    else
        ok(storage >= matrix && storage <= most, "storage is read for it once a pass: %.0f bytes", storage);
}

static void test_limits(const char *self, const char *path)
{
    char said[SAID];
    int ended = again(self, "stream", path, LIMIT, said);
    if (ok(ended == 0, "streamed below the limit: %s", said)) judge_stream(said);
    ended = again(self, "load", path, LIMIT, said);
    ok(ended != 0 && strstr(said, "failed: ") && strstr(said, "ulimit -d"),
        "below the limit the matrix cannot be loaded: %s", said);
    ended = again(self, "load", path, 0, said);
    ok(ended == 0 && strstr(said, "loaded "), "without it, it can: %s", said);
}

int main(int argc, char **argv)
{
    char folder[TEMPORARY_MOST], path[PATH];
    if (argc == 3 && strcmp(argv[1], "stream") == 0) return on_team(STREAMED, stream_file, argv[2]);
    if (argc == 3 && strcmp(argv[1], "load") == 0) return on_team(LOADED, load_file, argv[2]);
    if (argc != 1) return 2;
    if (!built_with("HDF5: yes")) {
        skip("this build has no HDF5");
        return tap_done();
    }
    if (!temporary_folder(folder)) return 2;
    snprintf(path, sizeof path, "%s/a.bsp.h5", folder);
    if (ok(on_team(STREAMED, write_file, path) == 0, "the file is written")) test_limits(argv[0], path);
    unlink(path);
    ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
