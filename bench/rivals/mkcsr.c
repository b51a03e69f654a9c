/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkcsr [--type f32|f64] SPEC|FILE.mtx[.gz] OUT.csr: the input of all rivals from a generator's spec or from a
 * coordinate Matrix Market file (symmetric ones are filled up, repeats are added, pattern entries are 1).
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "csrfile.h"
#include "io/generate/generate.h"

struct list {
    int64_t count, room;
    int64_t *row;
    int32_t *col;
    double *val;
};

static void add(struct list *list, int64_t row, int64_t col, double val)
{
    if (list->count == list->room) {
        list->room = list->room ? 2 * list->room : 1 << 16;
        list->row = realloc(list->row, (size_t)list->room * sizeof *list->row);
        list->col = realloc(list->col, (size_t)list->room * sizeof *list->col);
        list->val = realloc(list->val, (size_t)list->room * sizeof *list->val);
        if (!list->row || !list->col || !list->val) rival_die("out of memory");
    }
    list->row[list->count] = row;
    list->col[list->count] = (int32_t)col;
    list->val[list->count++] = val;
}

static void read_entries(const char *path, struct list *list, int64_t *m, int64_t *n)
{
    char line[1024], field[32] = "", symmetry[32] = "";
    long long rows, cols, entries;
    gzFile file = gzopen(path, "rb");
    if (!file || !gzgets(file, line, sizeof line)) rival_die("%s cannot be read", path);
    gzbuffer(file, 1 << 20);
    for (char *c = line; *c; c++) *c = (char)tolower((unsigned char)*c);
    if (sscanf(line, "%%%%matrixmarket matrix coordinate %31s %31s", field, symmetry) != 2 || !strcmp(field, "complex"))
        rival_die("%s is not a real coordinate Matrix Market file", path);
    int pattern = !strcmp(field, "pattern"), general = !strcmp(symmetry, "general");
    double mirrored = !strcmp(symmetry, "skew-symmetric") ? -1 : 1;
    do {
        if (!gzgets(file, line, sizeof line)) rival_die("%s has no sizes", path);
    } while (line[0] == '%' || isspace((unsigned char)line[0]));
    if (sscanf(line, "%lld %lld %lld", &rows, &cols, &entries) != 3) rival_die("%s has no sizes", path);
    for (long long i = 0; i < entries && gzgets(file, line, sizeof line);) {
        char *end;
        if (line[0] == '%' || isspace((unsigned char)line[0])) continue;
        long long r = strtoll(line, &end, 10), c = strtoll(end, &end, 10);
        double x = pattern ? 1 : strtod(end, &end);
        if (r < 1 || r > rows || c < 1 || c > cols) rival_die("%s: entry (%lld, %lld)", path, r, c);
        add(list, r - 1, c - 1, x);
        if (!general && r != c) add(list, c - 1, r - 1, mirrored * x);
        i++;
    }
    gzclose(file);
    *m = rows;
    *n = cols;
}

/* Two stable counting sorts, by column and by row; then repeats are added. */
static void assemble(const struct list *list, int64_t m, int64_t n, rival_csr *A)
{
    int64_t count = list->count, most = m > n ? m : n, kept = 0;
    int64_t *start = calloc((size_t)most + 2, sizeof *start), *by_col = malloc(((size_t)count + 1) * sizeof *by_col);
    int64_t *by_row = malloc(((size_t)count + 1) * sizeof *by_row);
    *A = (rival_csr){.m = m, .n = n};
    A->rowptr = calloc((size_t)m + 1, sizeof *A->rowptr);
    A->colind = malloc(((size_t)count + 1) * sizeof *A->colind);
    double *val = malloc(((size_t)count + 1) * sizeof *val);
    if (!start || !by_col || !by_row || !A->rowptr || !A->colind || !val) rival_die("out of memory");
    A->val = val;
    for (int64_t i = 0; i < count; i++) start[list->col[i] + 1]++;
    for (int64_t c = 0; c < n; c++) start[c + 1] += start[c];
    for (int64_t i = 0; i < count; i++) by_col[start[list->col[i]]++] = i;
    memset(start, 0, ((size_t)most + 2) * sizeof *start);
    for (int64_t i = 0; i < count; i++) start[list->row[i] + 1]++;
    for (int64_t r = 0; r < m; r++) start[r + 1] += start[r];
    for (int64_t i = 0; i < count; i++) by_row[start[list->row[by_col[i]]]++] = by_col[i];
    for (int64_t i = 0; i < count; i++) {
        int64_t e = by_row[i], r = list->row[e];
        if (kept > 0 && i > 0 && list->row[by_row[i - 1]] == r && A->colind[kept - 1] == list->col[e]) {
            val[kept - 1] += list->val[e];
        } else {
            A->colind[kept] = list->col[e];
            val[kept++] = list->val[e];
        }
        A->rowptr[r + 1] = kept;
    }
    for (int64_t r = 0; r < m; r++)
        if (A->rowptr[r + 1] < A->rowptr[r]) A->rowptr[r + 1] = A->rowptr[r];
    A->nnz = kept;
    free(start);
    free(by_col);
    free(by_row);
}

static void generate(const char *spec, int f64, rival_csr *A)
{
    tulle__generator *generator = NULL;
    tulle__generator_shape shape;
    if (tulle__generator_open(spec, &generator) != TULLE_OK) rival_die("%s", tulle_error_message());
    tulle__generator_get_shape(generator, &shape);
    *A = (rival_csr){.m = shape.m, .n = shape.n};
    if (tulle__generator_tile(generator, 0, shape.m, 0, shape.n, f64 ? TULLE_F64 : TULLE_F32, &A->rowptr, &A->colind,
            &A->val, &A->nnz) != TULLE_OK)
        rival_die("%s", tulle_error_message());
    tulle__generator_close(generator);
}

int main(int argc, char **argv)
{
    int f64 = 1, at = 1;
    if (argc > 2 && !strcmp(argv[1], "--type")) {
        f64 = strcmp(argv[2], "f32") != 0;
        at = 3;
    }
    if (argc != at + 2) rival_die("usage: mkcsr [--type f32|f64] SPEC|FILE.mtx[.gz] OUT.csr");
    rival_csr A;
    if (tulle__generator_known(argv[at])) {
        generate(argv[at], f64, &A);
    } else {
        struct list list = {0};
        int64_t m, n;
        read_entries(argv[at], &list, &m, &n);
        assemble(&list, m, n, &A);
        for (int64_t i = 0; !f64 && i < A.nnz; i++) ((float *)A.val)[i] = (float)((double *)A.val)[i];
    }
    const char *wrong = csrfile_write(argv[at + 1], f64, &A);
    if (wrong) rival_die("%s %s", argv[at + 1], wrong);
    printf("%s: %" PRId64 " x %" PRId64 ", %" PRId64 " entries\n", argv[at + 1], A.m, A.n, A.nnz);
    return 0;
}
