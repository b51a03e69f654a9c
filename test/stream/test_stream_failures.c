/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures of streams: test_stream_failures PES. Each copy and kernel of one PE fails in turn;
 * files are shortened, altered, replaced or removed before and during streaming. All PEs get the
 * same failure with its cause, and the stream can be used again.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "built_with.h"
#include "streams.h"
#include "tap.h"
#include "temporary.h"

enum { N = 60, COLS = 2, PATH = TEMPORARY_MOST + 32 };

static tulle_status make_x(tulle_comm *comm, int64_t n, tulle_mat **X)
{
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = n, .n = COLS, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, X);
    tulle_layout_free(layout);
    return status;
}

static tulle_status make_a(tulle_comm *comm, int64_t n, tulle_mat **A)
{
    tulle_layout *layout = NULL;
    tulle_layout_spec spec = {.m = n, .n = n, .grid_rows = tulle_comm_size(comm), .grid_cols = 1};
    tulle_status status = tulle_comm_agree(comm, tulle_layout_new(&spec, tulle_comm_size(comm), &layout));
    if (status == TULLE_OK) status = make_matrix(comm, SCATTERED, layout, TULLE_F64, A);
    tulle_layout_free(layout);
    return status;
}

/* ---- the device ---- */

struct faults {
    int op, rank;
    tulle_status making, first; /* PE 0's */
    int told;
};

static tulle_status run_fault(tulle_comm *comm, void *arg)
{
    struct faults *f = arg;
    char device[100];
    tulle_stream *stream = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_stream_options options = {.device = device, .cols = COLS, .slabs = 5};
    tulle_status status, made, first = TULLE_OK;
    snprintf(device, sizeof device, "fault:op=%d,rank=%d+limit+cpu", f->op, f->rank);
    TULLE_TRY(make_a(comm, N, &A));
    TULLE_TRY(make_x(comm, N, &X));
    tulle__error_clear();
    made = tulle_stream_new(A, &options, &stream);
    int told = strstr(tulle_error_message(), "as asked for") != NULL;
    TULLE_TRY(same_everywhere(comm, made));
    if (made == TULLE_OK) {
        TULLE_TRY(make_y(comm, tulle_stream_layout(stream), COLS, TULLE_F64, &Y));
        TULLE_TRY(fill_x(X, 0));
        first = tulle_stream_multiply(stream, X, Y, NULL);
        told = strstr(tulle_error_message(), "as asked for") != NULL;
        TULLE_TRY(same_everywhere(comm, first));
        if (first == TULLE_OK) goto over; /* failures after this are left to the next step */
        for (int turn = 0; turn < 2; turn++) {
            TULLE_TRY(spoil(Y));
            TULLE_TRY(fill_x(X, turn));
            TULLE_TRY(tulle_stream_multiply(stream, X, Y, NULL));
            EXPECT(wrong_of(SCATTERED, Y, N, turn) == 0);
        }
    }
over:
    if (tulle_comm_rank(comm) == 0) {
        f->making = made;
        f->first = first;
        f->told = told;
    }
out:
    tulle_stream_free(stream);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    return status;
}

static void test_device(tulle_team *team)
{
    int pes = tulle_team_size(team), making = 0, running = 0, odd = 0, op = 0;
    for (int done = 0; !done && op < 200; op++) {
        struct faults f = {.op = op, .rank = pes - 1};
        tulle_status status = tulle_team_run(team, run_fault, &f);
        done = status == TULLE_OK && f.making == TULLE_OK && f.first == TULLE_OK;
        making += f.making == TULLE_ERR_COMM && f.told;
        running += f.making == TULLE_OK && f.first == TULLE_ERR_COMM && f.told;
        if (status != TULLE_OK || (!done && !f.told)) {
            odd++;
            printf("# operation %d: %s\n", op, status ? tulle_error_message() : "not told");
        }
    }
    /*
     * gathering X, three copies and a kernel for each of five slabs, Y: separate from the
     * benchmarks
     */
    ok(!odd && making > 10 && running >= 22, "%d operations fail while a stream is made, %d in a product", making,
        running);
}

/* ---- files ---- */

enum harm { NONE, SHORTENED, ALTERED, REMOVED, REPLACED, SHORTENED_MEANWHILE, REMOVED_MEANWHILE, HARMS };
static const char *const harm_names[] = {
    "left alone", "shortened", "altered", "removed", "replaced", "shortened meanwhile", "removed meanwhile"};
static const char *const causes[] = {"", "bytes when it was opened", "was written to", "is not there any more",
    "was replaced", "", "is not there any more"};

struct files {
    const char *folder;
    char path[PATH], other[PATH];
    enum harm harm;
    int64_t n;
    const char *device;
    tulle_status first; /* PE 0's */
    char message[TULLE_MESSAGE_MAX];
};

static void do_harm(const struct files *f, enum harm harm)
{
    struct stat info;
    int fd = open(f->path, O_RDWR);
    if (harm == SHORTENED && fstat(fd, &info) == 0 && ftruncate(fd, info.st_size / 2) != 0) harm = NONE;
    if (harm == ALTERED && pwrite(fd, "x", 1, 100000) != 1) harm = NONE;
    if (harm == REMOVED) unlink(f->path);
    if (harm == REPLACED && rename(f->other, f->path) != 0) harm = NONE;
    if (fd >= 0) close(fd);
}

static void *harm_soon(void *arg)
{
    const struct files *f = arg;
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    do_harm(f, f->harm == SHORTENED_MEANWHILE ? SHORTENED : REMOVED);
    return NULL;
}

static tulle_status run_file(tulle_comm *comm, void *arg)
{
    struct files *f = arg;
    int leads = tulle_comm_rank(comm) == 0, meanwhile = f->harm >= SHORTENED_MEANWHILE;
    tulle_stream *stream = NULL;
    tulle_rows *rows = NULL;
    tulle_mat *A = NULL, *X = NULL, *Y = NULL;
    tulle_stream_options options = {.device = f->device, .cols = COLS, .slabs = 9};
    tulle_stream_report report;
    tulle_status status, first;
    pthread_t thread;
    TULLE_TRY(make_a(comm, f->n, &A));
    TULLE_TRY(tulle_mat_save(A, f->path));
    TULLE_TRY(tulle_mat_save(A, f->other));
    TULLE_TRY(tulle_rows_open(comm, f->path, &rows));
    EXPECT(tulle_rows_count(rows) == f->n && tulle_rows_nnz(rows) == tulle_mat_nnz(A) && *tulle_rows_mode(rows));
    TULLE_TRY(tulle_stream_of_rows(rows, &options, &stream));
    TULLE_TRY(make_x(comm, f->n, &X));
    TULLE_TRY(make_y(comm, tulle_stream_layout(stream), COLS, TULLE_F64, &Y));
    for (int turn = 0; turn < 2; turn++) {
        TULLE_TRY(fill_x(X, turn));
        TULLE_TRY(spoil(Y));
        TULLE_TRY(tulle_stream_multiply(stream, X, Y, &report));
        EXPECT(wrong_of(SCATTERED, Y, f->n, turn) == 0);
        EXPECT(report.read >= tulle_mat_nnz(A) * 12);
    }
    TULLE_TRY(tulle_comm_barrier(comm));
    if (leads && f->harm != NONE && !meanwhile) do_harm(f, f->harm);
    if (leads && meanwhile) EXPECT(pthread_create(&thread, NULL, harm_soon, f) == 0);
    TULLE_TRY(tulle_comm_barrier(comm));
    tulle__error_clear();
    first = tulle_stream_multiply(stream, X, Y, NULL);
    if (leads) snprintf(f->message, sizeof f->message, "%s", tulle_error_message());
    if (leads && meanwhile) pthread_join(thread, NULL);
    TULLE_TRY(same_everywhere(comm, first));
    if (leads) f->first = first;
    if (f->harm != NONE) EXPECT(tulle_stream_multiply(stream, X, Y, NULL) == TULLE_ERR_IO);
out:
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(A);
    return status;
}

static void test_files(tulle_team *team, const char *folder, const char *device)
{
    for (int harm = 0; harm < HARMS; harm++) {
        struct files f = {.harm = (enum harm)harm, .n = 240, .device = device};
        snprintf(f.path, sizeof f.path, "%s/a.bsp.h5", folder);
        snprintf(f.other, sizeof f.other, "%s/b.bsp.h5", folder);
        tulle_status status = tulle_team_run(team, run_file, &f);
        ok(status == TULLE_OK && f.first == (harm ? TULLE_ERR_IO : TULLE_OK) && strstr(f.message, causes[harm]),
            "%s, a file that is %s: %s%s", device, harm_names[harm], f.message, status ? tulle_error_message() : "");
        unlink(f.path);
        unlink(f.other);
    }
}

/* A column index that is too large is detected when it is read. */
static tulle_status run_wild(tulle_comm *comm, void *arg)
{
    const char *path = arg;
    tulle_stream *stream = NULL;
    tulle_rows *rows = NULL;
    tulle_mat *A = NULL;
    tulle_stream_options options = {.device = "cpu", .cols = COLS, .slabs = 3};
    tulle_status status;
    TULLE_TRY(make_a(comm, 240, &A));
    TULLE_TRY(tulle_mat_save(A, path));
    int fd = open(path, O_RDWR);
    static char all[1 << 20];
    ssize_t n = pread(fd, all, sizeof all, 0);
    tulle_tile tile = tulle__tile_in_place(A, 0, 0);
    char *at = memmem(all, (size_t)n, tile.colind, 200);
    EXPECT(at && pwrite(fd, "\377\377\377\17", 4, at - all + 400) == 4);
    close(fd);
    TULLE_TRY(tulle_rows_open(comm, path, &rows));
    status = tulle_stream_of_rows(rows, &options, &stream);
out:
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    tulle_mat_free(A);
    return status;
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    char folder[TEMPORARY_MOST], path[PATH];
    if (argc != 2 || !temporary_folder(folder)) return 2;
    tulle_team_options options = {.threads = 1, .memory = (size_t)256 << 20};
    ok(tulle_team_new("threads", atoi(argv[1]), &options, &team) == TULLE_OK, "team");
    test_device(team);
    if (built_with("HDF5: yes")) {
        int pes = tulle_team_size(team);
        char device[64];
        snprintf(device, sizeof device, "limit:link=%dK+cpu", 1200 / pes);
        test_files(team, folder, device);
        snprintf(device, sizeof device, "limit:mem=1M,link=%dK+ref", 1200 / pes);
        test_files(team, folder, device);
        if (tulle_team_size(team) == 1) {
            snprintf(path, sizeof path, "%s/w.bsp.h5", folder);
            ok(tulle_team_run(team, run_wild, path) == TULLE_ERR_FORMAT, "a wild column index: %s",
                tulle_error_message());
            unlink(path);
        }
    } else {
        skip("this build has no HDF5");
    }
    tulle_team_free(team);
    ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
