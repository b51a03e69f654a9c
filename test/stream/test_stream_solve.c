/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Krylov methods on streams: test_stream_solve PES. CG and block CG with the matrix resident, in
 * slabs through a small device, and in a file, compared with the same method on the matrix itself:
 * the same solutions, and a report of each iteration. A file that is shortened, altered, replaced
 * or removed between two iterations ends the solve on all PEs with that cause.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tulle/tulle.h>

#include "built_with.h"
#include "krylov/systems.h"
#include "tap.h"
#include "temporary.h"

enum { N = 400, COLS = 5, PATH = TEMPORARY_MOST + 32, LATER = 3 };

enum way { RESIDENT, SLABS, ONE_BY_ONE, DEALT, PACKED, IN_FILE, FILE_THROUGH_LINK, WAYS };
static const char *const way_names[] = {"resident", "in slabs", "in slabs, one after the other",
    "in slabs, rows dealt out", "in slabs, in half", "from a file", "from a file through a link"};

enum harm { NONE, SHORTENED, ALTERED, REPLACED, REMOVED, HARMS };
static const char *const causes[] = {
    "", "bytes when it was opened", "was written to", "was replaced", "is not there any more"};

struct cases {
    enum way way;
    tulle_krylov_method method;
    tulle_gidx cols; /* of the stream */
    enum harm harm;
    const char *path, *other;
    int64_t steps, width; /* PE 0's: reported iterations and width */
    tulle_status ended;
    char message[TULLE_MESSAGE_MAX];
};

static double side_of(const void *arg, int64_t i, int64_t c)
{
    (void)arg;
    return side(i, c);
}

static void do_harm(const struct cases *c)
{
    struct stat info;
    int done = 0, fd = open(c->path, O_RDWR);
    if (c->harm == SHORTENED) done = fstat(fd, &info) == 0 && ftruncate(fd, info.st_size / 2) == 0;
    if (c->harm == ALTERED) done = pwrite(fd, "x", 1, 20000) == 1;
    if (c->harm == REPLACED) done = rename(c->other, c->path) == 0;
    if (c->harm == REMOVED) done = unlink(c->path) == 0;
    if (!done) printf("# no harm was done to %s\n", c->path);
    if (fd >= 0) close(fd);
}

/* PE 0's, between two products. */
static void watch(void *arg, const tulle_krylov_step *step)
{
    struct cases *c = arg;
    if (c->harm && step->iteration == LATER && step->column == 0) do_harm(c);
    c->steps++;
    if (step->width > c->width) c->width = step->width;
}

static tulle_status open_stream(
    tulle_comm *comm, const struct cases *c, tulle_mat *A, tulle_rows **rows, tulle_stream **stream)
{
    int file = c->way >= IN_FILE;
    tulle_stream_options o = {.cols = c->cols, .no_overlap = c->way == ONE_BY_ONE, .rebalance = c->way == DEALT};
    if (c->way != RESIDENT) o.slabs = 7;
    if (c->way != RESIDENT && c->way != IN_FILE) o.device = "limit:mem=4M,link=2G+cpu";
    if (c->way == PACKED) o.format = "bsr:b=2,half";
    if (!file) return tulle_stream_new(A, &o, stream);
    tulle_status status = tulle_rows_open(comm, c->path, rows);
    return status == TULLE_OK ? tulle_stream_of_rows(*rows, &o, stream) : status;
}

/*
 * Block Jacobi, for a file by its diagonal blocks alone. (Blocks end at the cuts of the vectors,
 * which differ between operators: with several PEs they are single entries.)
 */
static tulle_status make_precond(tulle_mat *A, tulle_rows *rows, tulle_mat **D, tulle_operator *M)
{
    tulle_precond_options options = {0};
    options.block = tulle_comm_size(tulle_mat_comm(A)) == 1 && built_with("LAPACK: yes") ? 7 : 1;
    tulle_status status = rows ? tulle_rows_diagonal(rows, options.block, D) : TULLE_OK;
    return status == TULLE_OK ? tulle_precond_new(*D ? *D : A, TULLE_PRECOND_BLOCK_JACOBI, &options, M) : status;
}

static tulle_status solve_streamed(tulle_comm *comm, struct cases *c, tulle_mat *A, tulle_mat *B, tulle_mat *X,
    const tulle_krylov_options *options, tulle_krylov_report *report)
{
    tulle_rows *rows = NULL;
    tulle_mat *D = NULL;
    tulle_stream *stream = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_status status, ended;
    TULLE_TRY(open_stream(comm, c, A, &rows, &stream));
    EXPECT(tulle_stream_planned(stream)->resident == (c->way == RESIDENT));
    TULLE_TRY(tulle_operator_of_stream(stream, &op));
    TULLE_TRY(make_precond(A, rows, &D, &M));
    EXPECT(!D || tulle_mat_nnz(D) >= N);
    ended = tulle_krylov_solve(&op, &M, B, X, options, report);
    if (tulle_comm_rank(comm) == 0) {
        c->ended = ended;
        snprintf(c->message, sizeof c->message, "%s", ended ? tulle_error_message() : "");
    }
    TULLE_TRY(same_everywhere(comm, ended));
    status = c->harm ? TULLE_OK : ended;
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_mat_free(D);
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    return status;
}

/* The largest difference of two solutions, over the largest element. */
static tulle_status compare(tulle_mat *X, tulle_mat *Y, double *off)
{
    tulle_status status;
    double *x = malloc(N * COLS * sizeof *x), *y = malloc(N * COLS * sizeof *y), size = 0, worst = 0;
    TULLE_TRY(collect(X, x));
    TULLE_TRY(collect(Y, y));
    for (int i = 0; i < N * COLS; i++) {
        size = fmax(size, fabs(x[i]));
        worst = fmax(worst, fabs(x[i] - y[i]));
    }
    *off = worst / size;
out:
    free(x);
    free(y);
    return status;
}

/* The check over the file, and over a matrix that a stream rounds. */
static tulle_status check_streamed(const struct cases *c, const tulle_mat *A, const tulle_mat *B, tulle_mat *X,
    const tulle_krylov_options *options, double whole)
{
    tulle_rows *rows = NULL;
    tulle_stream *stream = NULL;
    tulle_stream_options rounded = {.format = "csr:values=f32"};
    double error = 0;
    tulle_status status;
    if (c->way >= IN_FILE) {
        TULLE_TRY(tulle_rows_open(tulle_mat_comm(A), c->path, &rows));
        TULLE_TRY(tulle_stream_of_rows(rows, NULL, &stream));
        TULLE_TRY(tulle_stream_check_solve(stream, B, X, options, &error));
        EXPECT(fabs(error - whole) <= 1e-6 * whole);
        tulle_stream_free(stream);
        stream = NULL;
    }
    TULLE_TRY(tulle_stream_new(A, &rounded, &stream));
    TULLE_TRY(tulle_stream_check_solve(stream, B, X, options, &error)); /* these values are exact in f32 */
    EXPECT(error <= 1);
    TULLE_TRY(tulle_mat_scale(X, 1 + 1e-6, NULL, NULL));
    EXPECT(tulle_stream_check_solve(stream, B, X, options, &error) == TULLE_ERR_CHECK && error > 1);
out:
    tulle_stream_free(stream);
    tulle_rows_free(rows);
    return status;
}

static tulle_status run_case(tulle_comm *comm, void *arg)
{
    struct cases *c = arg;
    tulle_status status;
    tulle_layout *layout = NULL;
    tulle_mat *A = NULL, *B = NULL, *X = NULL, *Y = NULL, *D = NULL;
    tulle_operator op = {.comm = NULL}, M = {.comm = NULL};
    tulle_krylov_report report[COLS], streamed[COLS];
    tulle_krylov_options options = {0};
    double off = 0, error = 0;
    options.method = c->method;
    options.tolerance = 1e-10;
    TULLE_TRY(make_layout(comm, N, COLS, 0, 1, &layout));
    TULLE_TRY(distribute(comm, POISSON, N, 0, 1, TULLE_F64, -1, &A));
    if (c->way >= IN_FILE) TULLE_TRY(tulle_mat_save(A, c->path));
    if (c->harm == REPLACED) TULLE_TRY(tulle_mat_save(A, c->other));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &B));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &X));
    TULLE_TRY(tulle_mat_new_dense(comm, layout, TULLE_F64, TULLE_ROW_MAJOR, &Y));
    TULLE_TRY(fill(B, side_of, NULL));
    options.watch = watch;
    options.arg = c;
    TULLE_TRY(solve_streamed(comm, c, A, B, X, &options, streamed));
    if (c->harm) goto out;
    options.watch = NULL;
    options.width = c->method == TULLE_KRYLOV_BLOCK_CG ? (int)c->cols : 0;
    TULLE_TRY(tulle_operator_of_mat(A, NULL, &op));
    TULLE_TRY(make_precond(A, NULL, &D, &M));
    TULLE_TRY(tulle_krylov_solve(&op, &M, B, Y, &options, report));
    TULLE_TRY(compare(X, Y, &off));
    EXPECT(off < 1e-8);
    TULLE_TRY(tulle_krylov_check(A, B, X, &options, &error));
    EXPECT(error <= 1);
    TULLE_TRY(check_streamed(c, A, B, X, &options, error));
    int64_t steps = 0;
    for (int j = 0; j < COLS; j++) {
        const tulle_krylov_report *r = &streamed[j];
        EXPECT(r->stop == TULLE_STOP_CONVERGED && r->true_residual <= options.tolerance * r->norm);
        /* sums have another order, so the last iteration may be one earlier or later */
        EXPECT(llabs(r->iterations - report[j].iterations) <= 2);
        EXPECT(r->width == report[j].width && r->width <= c->cols);
        steps += r->iterations + 1;
    }
    EXPECT(tulle_comm_rank(comm) > 0 || (c->steps == steps && c->width <= c->cols));
out:
    tulle_operator_free(&M);
    tulle_operator_free(&op);
    tulle_mat_free(Y);
    tulle_mat_free(X);
    tulle_mat_free(B);
    tulle_mat_free(A);
    tulle_layout_free(layout);
    return status;
}

static void run(tulle_team *team, struct cases c)
{
    tulle_status status = tulle_team_run(team, run_case, &c);
    tulle_status want = c.harm ? TULLE_ERR_IO : TULLE_OK;
    ok(status == TULLE_OK && c.ended == want && strstr(c.message, causes[c.harm]),
        "%s, %s, a stream for %d columns: %s%s", tulle_krylov_method_name(c.method), way_names[c.way], (int)c.cols,
        c.message, status ? tulle_error_message() : "");
    if (c.harm) ok(c.steps >= LATER, "it went well for %d steps", (int)c.steps);
    unlink(c.path);
    unlink(c.other);
}

int main(int argc, char **argv)
{
    tulle_team *team = NULL;
    char folder[TEMPORARY_MOST], path[PATH], other[PATH];
    if (argc != 2 || !temporary_folder(folder)) return 2;
    snprintf(path, sizeof path, "%s/a.bsp.h5", folder);
    snprintf(other, sizeof other, "%s/b.bsp.h5", folder);
    tulle_team_options options = {.threads = 1, .memory = (size_t)256 << 20};
    ok(tulle_team_new("threads", atoi(argv[1]), &options, &team) == TULLE_OK, "team");
    int ways = built_with("HDF5: yes") ? WAYS : IN_FILE;
    if (ways < WAYS) skip("files: this build has no HDF5");
    struct cases c = {.path = path, .other = other};
    for (int way = 0; way < ways; way++) {
        c.way = (enum way)way;
        c.method = TULLE_KRYLOV_CG, c.cols = 1, run(team, c);
        c.method = TULLE_KRYLOV_BLOCK_CG, c.cols = COLS, run(team, c);
        c.cols = 2, run(team, c); /* batches as wide as the stream */
    }
    for (int harm = NONE + 1; harm < HARMS && ways == WAYS; harm++) {
        c.harm = (enum harm)harm;
        c.way = harm % 2 ? IN_FILE : FILE_THROUGH_LINK;
        c.method = TULLE_KRYLOV_CG, c.cols = 1, run(team, c);
        c.method = TULLE_KRYLOV_BLOCK_CG, c.cols = COLS, run(team, c);
    }
    tulle_team_free(team);
    ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
