/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External failures: full disks, unwritable folders, files that vanish or shrink, memory that runs
 * out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "cases.h"
#include "format_entries.h"
#include "gate.h"
#include "io/binsparse/binsparse.h"
#include "io/file/inflate.h"
#include "io/file/output.h"
#include "io/mtx/mtx.h"
#include "io/mtx/mtx_write.h"
#include "io/npy/npy.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST];

static const char *in_folder(const char *name)
{
    static char path[2][TEMPORARY_MOST + 16];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static tulle_status write_matrix(const char *path, int level)
{
    static const int64_t row[] = {0, 1, 2, 2}, col[] = {0, 0, 1, 2};
    static const double val[] = {0.1, -1e300, 5e-324, 1.0 / 3};
    tulle__mtx_shape shape = {.rows = 3, .cols = 3, .stored = 4, .symmetry = TULLE__MTX_SYMMETRIC, .type = TULLE_F64};
    tulle__mtx_text text = {0};
    tulle__mtx_writer *writer = NULL;
    tulle_status status = TULLE_OK;
    for (int e = 0; e < 4 && status == TULLE_OK; e++) status = format_entry(&shape, row[e], col[e], &val[e], &text);
    if (status == TULLE_OK) status = tulle__mtx_writer_open(path, &shape, level, &writer);
    if (status == TULLE_OK) status = tulle__mtx_writer_append(writer, &text);
    status = tulle__mtx_writer_close(writer, status);
    tulle__mtx_text_fini(&text);
    return status;
}

static tulle_status read_matrix(const char *path, int nparts)
{
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats sum = {0}, stats;
    tulle_status status = tulle__mtx_open(path, NULL, &mtx);
    for (int k = 0; k < nparts && status == TULLE_OK; k++) {
        tulle__entries entries;
        status = tulle__mtx_parse(mtx, k, nparts, TULLE_F64, &entries, &stats);
        tulle__entries_fini(&entries);
        tulle__mtx_stats_add(&sum, &stats);
    }
    if (status == TULLE_OK) status = tulle__mtx_check(mtx, &sum);
    tulle__mtx_close(mtx);
    return status;
}

/* The whole text of a file; static. */
static const char *slurp(const char *path)
{
    static char text[4096];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return text;
}

static void writing(void)
{
    const char *path = in_folder("a.mtx");
    ok(write_matrix(path, 0) == TULLE_OK && read_matrix(path, 2) == TULLE_OK, "written and read");
    ok(strcmp(slurp(path), "%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 0.1\n2 1 -1e300\n3 2 5e-324\n"
                           "3 3 0.3333333333333333\n") == 0,
        "the text is as it should be");
    struct stat info;
    mode_t mask = umask(0);
    umask(mask);
    ok(stat(path, &info) == 0 && (info.st_mode & 0777) == (0666 & ~mask), "its rights are those that the umask leaves");
    chmod(path, 0640);
    ok(write_matrix(path, 0) == TULLE_OK && stat(path, &info) == 0 && (info.st_mode & 0777) == 0640,
        "a file replaced keeps its rights");
    const char *link = in_folder("link.mtx");
    ok(symlink(path, link) == 0 && write_matrix(link, 0) == TULLE_OK && lstat(link, &info) == 0 &&
            S_ISLNK(info.st_mode),
        "a link stays a link");
    unlink(link);
    if (access("/dev/full", W_OK) == 0)
        for (int level = 0; level < 2; level++) {
            tulle_status status = write_matrix("/dev/full", tulle__inflate_engines()[0] ? level : 0);
            ok(status == TULLE_ERR_IO, "full disk, level %d: %s", level, tulle_error_message());
        }
    else
        skip("no /dev/full");
    ok(write_matrix("/nowhere/at/all.mtx", 0) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(write_matrix(folder, 0) == TULLE_ERR_IO, "%s", tulle_error_message());
    tulle__output *out;
    ok(tulle__output_open(path, 0, &out) == TULLE_OK && tulle__output_write(out, "half", 4) == TULLE_OK, "half a file");
    tulle__output_abort(out);
    ok(read_matrix(path, 1) == TULLE_OK, "after an abort the old file is there");
    unlink(path);
}

static void wrong_calls(void)
{
    tulle__mtx_shape shape = {.rows = 3, .cols = 3, .stored = 4, .symmetry = TULLE__MTX_SYMMETRIC, .type = TULLE_F64};
    tulle__mtx_text text = {0};
    tulle__mtx_writer *writer;
    int64_t row = 0, col = 1, far = 3;
    double val = 1.5;
    ok(format_entry(&shape, row, col, &val, &text) == TULLE_ERR_ARG, "%s", tulle_error_message());
    ok(format_entry(&shape, far, col, &val, &text) == TULLE_ERR_ARG, "%s", tulle_error_message());
    shape.field = TULLE__MTX_INTEGER;
    ok(format_entry(&shape, col, row, &val, &text) == TULLE_ERR_ARG && text.bytes == 0, "%s", tulle_error_message());
    tulle__mtx_text_fini(&text);
    const char *path = in_folder("b.mtx");
    tulle_status status = tulle__mtx_writer_open(path, &shape, 0, &writer);
    if (status == TULLE_OK) status = tulle__mtx_writer_close(writer, status);
    ok(status == TULLE_ERR_STATE && access(path, F_OK) != 0, "%s", tulle_error_message());
    shape.cols = 4;
    ok(tulle__mtx_writer_open(path, &shape, 0, &writer) == TULLE_ERR_ARG, "%s", tulle_error_message());
}

static void reading(void)
{
    ok(read_matrix(in_folder("none.mtx"), 1) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(read_matrix(folder, 1) == TULLE_ERR_IO, "%s", tulle_error_message());
    ok(read_matrix("/dev/null", 1) == TULLE_ERR_UNSUPPORTED, "%s", tulle_error_message());
    const char *path = in_folder("shrinks.mtx");
    FILE *f = fopen(path, "w");
    fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n9 9 100000\n");
    for (int i = 0; i < 100000; i++) fprintf(f, "1 1 2.5\n");
    fclose(f);
    tulle__mtx *mtx;
    tulle__entries entries;
    tulle__mtx_stats stats;
    tulle_status status = tulle__mtx_open(path, NULL, &mtx);
    ok(status == TULLE_OK && tulle__mtx_locate(mtx, 0, 0, 4) == 7 && tulle__mtx_locate(mtx, 1, 0, 0) == 0,
        "an entry's line is found");
    ok(truncate(path, 5000) == 0, "a file shrinks while it is read");
    status = tulle__mtx_parse(mtx, 1, 2, TULLE_F64, &entries, &stats);
    tulle__entries_fini(&entries);
    ok(status == TULLE_ERR_IO, "%s", tulle_error_message());
    status = tulle__mtx_parse(mtx, 0, 2, TULLE_F64, &entries, &stats);
    tulle__entries_fini(&entries);
    ok(status == TULLE_ERR_IO || status == TULLE_ERR_FORMAT, "%s", tulle_error_message());
    tulle__mtx_close(mtx);
    unlink(path);
}

/* Uses everything once, to be interrupted at each allocation. */
static tulle_status everything(const char *plain, const char *packed, int level)
{
    tulle_status status = write_matrix(plain, 0);
    if (status == TULLE_OK && level) status = write_matrix(packed, level);
    if (status == TULLE_OK) status = read_matrix(plain, 2);
    if (status == TULLE_OK && level) status = read_matrix(packed, 2);
    tulle__npy_writer *npy_writer = NULL;
    tulle__npy *npy = NULL;
    double values[4] = {1, 2, 3, 4};
    const char *dense = in_folder("a.npy");
    if (status == TULLE_OK) status = tulle__npy_writer_open(dense, 2, 2, TULLE_F64, TULLE_ROW_MAJOR, &npy_writer);
    if (status == TULLE_OK) status = tulle__npy_writer_append(npy_writer, values, 4);
    status = tulle__npy_writer_close(npy_writer, status);
    if (status == TULLE_OK) status = tulle__npy_open(dense, &npy);
    if (status == TULLE_OK) status = tulle__npy_read(npy, open_gate(TULLE_F64), 0, 2, 0, 2, TULLE_COL_MAJOR, 2, values);
    tulle__npy_close(npy);
#ifdef TULLE_HAVE_HDF5
    tulle__binsparse_writer *writer = NULL;
    tulle__binsparse *file = NULL;
    tulle__entries entries;
    int64_t pointer[] = {0, 1, 2}, index[] = {0, 1};
    const char *sparse = in_folder("a.h5");
    if (status == TULLE_OK)
        status = tulle__binsparse_writer_open(
            sparse, &(tulle__binsparse_sparse){.rows = 2, .cols = 2, .count = 2, .type = TULLE_F64}, &writer);
    if (status == TULLE_OK) status = tulle__binsparse_write_pointers(writer, 0, 3, pointer);
    if (status == TULLE_OK) status = tulle__binsparse_write_indices(writer, 0, 2, index);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, 0, 2, values);
    status = tulle__binsparse_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__binsparse_open(sparse, NULL, &file);
    if (status == TULLE_OK) {
        status = tulle__binsparse_parse(file, 0, 1, open_gate(TULLE_F64), &entries);
        tulle__entries_fini(&entries);
    }
    tulle__binsparse_close(file);
    writer = NULL;
    file = NULL;
    if (status == TULLE_OK)
        status = tulle__binsparse_writer_open_dense(sparse, 2, 2, TULLE_F64, TULLE_ROW_MAJOR, &writer);
    if (status == TULLE_OK) status = tulle__binsparse_write_values(writer, 0, 4, values);
    status = tulle__binsparse_writer_close(writer, status);
    if (status == TULLE_OK) status = tulle__binsparse_open(sparse, NULL, &file);
    if (status == TULLE_OK)
        status = tulle__binsparse_read_block(file, open_gate(TULLE_F64), 0, 2, 0, 2, TULLE_COL_MAJOR, 2, values);
    tulle__binsparse_close(file);
#endif
    return status;
}

static void no_memory(void)
{
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    char plain[TEMPORARY_MOST + 16], packed[TEMPORARY_MOST + 16];
    snprintf(plain, sizeof plain, "%s", in_folder("a.mtx"));
    snprintf(packed, sizeof packed, "%s", in_folder("a.mtx.gz"));
    int level = tulle__inflate_engines()[0] != NULL, n = 0, fine = 1, finished = 0;
    for (; n < 1000 && !finished && fine; n++) {
        tulle__account_fail_after(account, n);
        tulle_status status = everything(plain, packed, level);
        tulle__account_fail_after(account, -1);
        finished = status == TULLE_OK;
        fine = (finished || status == TULLE_ERR_MEMORY) && tulle__account_blocks(account) == 0;
        if (!fine)
            printf("# allocation %d: %s, %" PRId64 " blocks left\n", n, tulle_error_message(),
                tulle__account_blocks(account));
    }
    ok(fine && finished, "each of %d allocations fails once: no leak, the right status", n - 1);
    tulle__account_enter(NULL);
    tulle__account_free(account);
    unlink(plain);
    unlink(packed);
    unlink(in_folder("a.npy"));
    unlink(in_folder("a.h5"));
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    writing();
    wrong_calls();
    reading();
    no_memory();
    ok(rmdir(folder) == 0, "no file is left behind");
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
