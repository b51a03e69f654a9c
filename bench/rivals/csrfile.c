/* SPDX-License-Identifier: Apache-2.0 */
#include "csrfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    char magic[8];
    int32_t version, type;
    int64_t m, n, nnz, rest[3];
};
_Static_assert(sizeof(struct header) == 64, "the header is 64 bytes");

static const char *const magic = "TULLECSR";

static size_t padding(int64_t nnz)
{
    return (size_t)(nnz % 2) * sizeof(int32_t);
}

static int load(FILE *file, size_t count, size_t size, void *block)
{
    return block && fread(block, size, count, file) == count;
}

const char *csrfile_read(const char *path, int f64, rival_csr *A)
{
    struct header header;
    int32_t zero;
    FILE *file = fopen(path, "rb");
    if (!file) return "cannot be opened";
    if (fread(&header, sizeof header, 1, file) != 1 || memcmp(header.magic, magic, 8) || header.version != 1 ||
        header.type < 0 || header.type > 1 || header.m < 0 || header.n < 0 || header.n > INT32_MAX || header.nnz < 0) {
        fclose(file);
        return "is not a TULLECSR file";
    }
    size_t m = (size_t)header.m, nnz = (size_t)header.nnz, size = header.type ? sizeof(double) : sizeof(float);
    *A = (rival_csr){.m = header.m, .n = header.n, .nnz = header.nnz};
    A->rowptr = malloc((m + 1) * sizeof *A->rowptr);
    A->colind = malloc((nnz + 1) * sizeof *A->colind);
    void *raw = malloc((nnz + 1) * size);
    int whole = load(file, m + 1, sizeof *A->rowptr, A->rowptr) && load(file, nnz, sizeof *A->colind, A->colind) &&
                load(file, padding(header.nnz), 1, &zero) && load(file, nnz, size, raw) && A->rowptr[m] == header.nnz;
    fclose(file);
    if (!whole) return "is cut short, or memory is out";
    if (f64 == header.type) {
        A->val = raw;
        return NULL;
    }
    A->val = malloc((nnz + 1) * (f64 ? sizeof(double) : sizeof(float)));
    if (!A->val) return "memory is out";
    for (size_t i = 0; i < nnz; i++)
        if (f64)
            ((double *)A->val)[i] = (double)((const float *)raw)[i];
        else
            ((float *)A->val)[i] = (float)((const double *)raw)[i];
    free(raw);
    return NULL;
}

const char *csrfile_write(const char *path, int f64, const rival_csr *A)
{
    struct header header = {.version = 1, .type = f64 != 0, .m = A->m, .n = A->n, .nnz = A->nnz};
    static const char zeros[8] = {0};
    memcpy(header.magic, magic, 8);
    FILE *file = fopen(path, "wb");
    if (!file) return "cannot be written";
    size_t nnz = (size_t)A->nnz;
    int whole = fwrite(&header, sizeof header, 1, file) == 1 &&
                fwrite(A->rowptr, sizeof *A->rowptr, (size_t)A->m + 1, file) == (size_t)A->m + 1 &&
                fwrite(A->colind, sizeof *A->colind, nnz, file) == nnz &&
                fwrite(zeros, 1, padding(A->nnz), file) == padding(A->nnz) &&
                fwrite(A->val, f64 ? sizeof(double) : sizeof(float), nnz, file) == nnz;
    whole = fclose(file) == 0 && whole;
    return whole ? NULL : "could not be written";
}
