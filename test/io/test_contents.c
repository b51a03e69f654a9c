/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every row of the table of contents: a sample is known as that row, under any name, and is given to its reader or
 * refused with its advice. A row without a sample here fails.
 */
#include <unistd.h>

#include "cases.h"
#include "io/content.h"
#include "tap.h"
#include "temporary.h"

static const struct sample {
    const char *name, *bytes;
    size_t n;
} samples[] = {
#define SAMPLE(name, text)                                                                                             \
    {                                                                                                                  \
        name, text, sizeof(text) - 1                                                                                   \
    }
    SAMPLE("a Matrix Market file", "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n"),
    SAMPLE("a Matrix Market file", "\xef\xbb\xbf  %matrixmarket matrix coordinate real general\n1 1 1\n1 1 2\n"),
    SAMPLE("a NumPy array", "\x93NUMPY\1\0v\0{'descr'"),
    SAMPLE("a MATLAB 7.3 file", "MATLAB 7.3 MAT-file, Platform: GLNXA64"),
    SAMPLE("a MATLAB file", "MATLAB 5.0 MAT-file, Platform: GLNXA64"),
    SAMPLE("an HDF5 file", "\x89HDF\r\n\x1a\n\0\0"),
    SAMPLE("a SciPy sparse matrix", "PK\3\4\24\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\13\0\0\0indices.npy\x93NUMPY"),
    SAMPLE("a zip archive", "PK\3\4\24\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\0\0a.mtx%%MatrixMarket"),
    SAMPLE("a zip archive", "PK\5\6\0\0\0\0"),
    SAMPLE("a PETSc binary file", "\0\x12\x7b\x50\0\0\0\1\0\0\0\1\0\0\0\1"),
    SAMPLE("a PETSc binary file", "\0\x12\x7b\x4e\0\0\0\1"),
    SAMPLE("a PETSc binary file", "\0\0\0\0\0\x12\x7b\x50\0\0\0\0\0\0\0\1"),
    SAMPLE("packed with lz4", "\x04\x22\x4d\x18\x64"),
    SAMPLE("packed with compress", "\x1f\x9d\x90"),
    SAMPLE("packed with lzip", "LZIP\1"),
    SAMPLE("a 7z archive", "7z\xbc\xaf\x27\x1c\0\4"),
    SAMPLE("a RAR archive", "Rar!\x1a\x07\1"),
    SAMPLE("a web page (HTML)", "\n<!DOCTYPE html>\n<html>"),
    SAMPLE("a web page (HTML)", "<HTML><head><title>404"),
    SAMPLE("a pointer of git-lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n"),
    SAMPLE("a Harwell-Boeing or Rutherford-Boeing file",
        "A title of seventy-two characters                                       key     \n"
        "             5             1             1             3             0\n"
        "RUA                        3             3             4             0\n"
        "(16I5)          (16I5)          (5E16.8)            \n"),
    SAMPLE("a list of edges or entries without a header", "# Nodes: 3 Edges: 2\n# From\tTo\n0\t1\n1\t2\n"),
    SAMPLE("a list of edges or entries without a header", "1 2 0.5\r\n2 3 -1e-3\r\n"),
    SAMPLE("a list of edges or entries without a header", "1 2"),
    SAMPLE("a table of comma-separated values", "x,y\n1.5,2\n"),
    SAMPLE("a table of comma-separated values", "1;2;3\n4;5;6\n"),
};
enum { SAMPLES = sizeof samples / sizeof *samples };

/* Contents that are left to the ending. */
static const struct sample others[] = {
    SAMPLE("nothing", ""),
    SAMPLE("a blank line", "\n"),
    SAMPLE("words", "banner missing\n3 3 1\n1 1 1\n"),
    SAMPLE("four numbers a line", "1 2 3 4\n1 2 3 4\n"),
    SAMPLE("lines of unequal lengths", "3 3\n1 1 1\n"),
    SAMPLE("zeros", "\0\0\0\0\0\0\0\0\0\0\0\0"),
    SAMPLE("half a magic", "\x93NUM"),
};

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];

static void name_file(const char *name)
{
    if (*path) unlink(path);
    snprintf(path, sizeof path, "%s/%s", folder, name);
}

/* Under every kind of name: the reader, or a refusal with the advice. */
static void under_names(const struct sample *s, const tulle__content *row)
{
    static const char *const names[] = {"a", "a.mtx", "a.npy", "a.npz", "a.bsp.h5", "a.petsc", "a.txt", "a.mtx.gz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tulle__format format, named = tulle__operand_format(names[i]);
        name_file(names[i]);
        case_write(path, s->bytes, s->n);
        const tulle_status status = tulle__input_format(path, NULL, &format);
        /* text that has no mark of its own is judged only where text is expected */
        const int its_own = (row->advice && row->format == named) || (row->assumable && named != TULLE__FORMAT_MTX);
        if (!row->advice)
            ok(status == TULLE_OK && format == row->format, "%s as %s is read", s->name, names[i]);
        else if (its_own)
            ok(status == TULLE_OK && format == named, "%s as %s is left to its reader", s->name, names[i]);
        else
            ok(status == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), row->advice) &&
                    strstr(tulle_error_message(), row->name),
                "%s as %s: %s", s->name, names[i], tulle_error_message());
    }
}

static void samples_are_known(void)
{
    const tulle__content *row;
    for (int i = 0; (row = tulle__content_at(i)); i++) {
        int found = 0;
        for (int s = 0; s < SAMPLES; s++) found += strcmp(samples[s].name, row->name) == 0;
        ok(found > 0, "%s has a sample", row->name);
    }
    for (int s = 0; s < SAMPLES; s++) {
        row = tulle__content_of((const unsigned char *)samples[s].bytes, samples[s].n);
        if (ok(row && strcmp(row->name, samples[s].name) == 0, "sample %d is %s, not %s", s, samples[s].name,
                row ? row->name : "unknown"))
            under_names(&samples[s], row);
    }
}

static void others_are_not(void)
{
    for (size_t s = 0; s < sizeof others / sizeof *others; s++)
        ok(!tulle__content_of((const unsigned char *)others[s].bytes, others[s].n), "%s: the ending decides",
            others[s].name);
}

/* A banner to assume, and the ending .csr, give lists to the reader of text. */
static void lists_are_read(void)
{
    static const char edges[] = "# From To\n0 1\n1 2\n";
    tulle__format format;
    name_file("a.txt");
    case_write(path, edges, sizeof edges - 1);
    ok(tulle__input_format(path, "matrix coordinate pattern general", &format) == TULLE_OK &&
            format == TULLE__FORMAT_MTX,
        "a list with a banner to assume");
    ok(tulle__input_format(path, NULL, &format) == TULLE_ERR_UNSUPPORTED, "without one");
    name_file("a.csr");
    case_write(path, edges, sizeof edges - 1);
    ok(tulle__input_format(path, NULL, &format) == TULLE_OK && format == TULLE__FORMAT_MTX, "a .csr file");
    ok(tulle__input_format("stencil2d:n=4", NULL, &format) == TULLE_OK && format == TULLE__FORMAT_GENERATOR,
        "a generator is no file");
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    samples_are_known();
    others_are_not();
    lists_are_read();
    unlink(path);
    rmdir(folder);
    return tap_done();
}
