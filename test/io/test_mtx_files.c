/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole files: the matrices of a folder against the list there (INDEX.md or README.md), each in
 * several parts, then written and read back bit for bit. Arguments: a folder (default
 * $TULLE_MATRICES, ../shared/matrices), `most` bytes a file.
 */
#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases.h"
#include "format_entries.h"
#include "io/file/inflate.h"
#include "io/mtx/mtx.h"
#include "io/mtx/mtx_write.h"
#include "tap.h"
#include "temporary.h"

struct summary {
    int64_t stored;
    uint64_t hash; /* of the entries in order, or of the numbers */
};

static uint64_t mix(uint64_t hash, int64_t row, int64_t col, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    hash = tulle__random_mix(hash * 31 + (uint64_t)row);
    return tulle__random_mix(hash * 31 + (uint64_t)col + bits);
}

/* Reads it in nparts; if shape is given, writes it again to `copy` on the way. */
static tulle_status read_file(const char *path, int nparts, struct summary *s, const char *copy, int level)
{
    tulle__mtx *mtx = NULL;
    tulle__mtx_writer *writer = NULL;
    tulle__mtx_stats sum = {0}, stats;
    tulle__mtx_shape shape = {.type = TULLE_F64, .comment = "two lines\nof comment"};
    tulle_status status = tulle__mtx_open(path, NULL, &mtx);
    *s = (struct summary){0, 1};
    if (status != TULLE_OK) return status;
    const tulle__mtx_header *head = tulle__mtx_head(mtx);
    if (copy) {
        shape.rows = head->rows;
        shape.cols = head->cols;
        shape.stored = head->stored;
        shape.array = head->array;
        shape.field = head->field;
        shape.symmetry = head->symmetry;
        status = tulle__mtx_writer_open(copy, &shape, level, &writer);
    }
    for (int k = 0; k < nparts && status == TULLE_OK; k++) {
        tulle__mtx_text text = {0};
        if (head->array) {
            int64_t n = 0, first = sum.stored;
            double *values = NULL;
            status = tulle__mtx_array_count(mtx, k, nparts, &n);
            if (status == TULLE_OK) status = tulle__alloc((size_t)n, sizeof *values, "values", &values);
            if (status == TULLE_OK)
                status = tulle__mtx_array_parse(mtx, k, nparts, first, n, TULLE_F64, values, &stats);
            for (int64_t i = 0; i < n && status == TULLE_OK; i++) s->hash = mix(s->hash, 0, 0, values[i]);
            if (writer && status == TULLE_OK) status = tulle__mtx_format_array(&shape, n, values, &text);
            tulle__free(values);
        } else {
            tulle__entries entries;
            status = tulle__mtx_parse(mtx, k, nparts, TULLE_F64, &entries, &stats);
            for (int64_t e = 0; e < entries.count && status == TULLE_OK; e++)
                s->hash = mix(s->hash, tulle__entries_row(&entries, e), tulle__entries_col(&entries, e),
                    tulle__entries_val(&entries, e));
            if (writer && status == TULLE_OK) status = format_entries(&shape, &entries, 0, entries.count, &text);
            tulle__entries_fini(&entries);
        }
        if (writer && status == TULLE_OK) status = tulle__mtx_writer_append(writer, &text);
        tulle__mtx_text_fini(&text);
        tulle__mtx_stats_add(&sum, &stats);
    }
    s->stored = sum.stored;
    if (status == TULLE_OK) status = tulle__mtx_check(mtx, &sum);
    if (writer) status = tulle__mtx_writer_close(writer, status);
    tulle__mtx_close(mtx);
    return status;
}

/* The `stored` column of the list for a name, -1 if it is not there; *complex: the field is. */
static int64_t listed(const char *folder, const char *name, int *complex)
{
    static char line[1 << 16];
    char path[1024];
    int64_t stored = -1;
    snprintf(path, sizeof path, "%s/INDEX.md", folder);
    FILE *f = fopen(path, "r");
    if (!f) {
        snprintf(path, sizeof path, "%s/README.md", folder);
        f = fopen(path, "r");
    }
    while (f && fgets(line, sizeof line, f)) {
        char *field[10] = {0}, *p = line;
        int n = 0;
        while (n < 10 && (p = strchr(p, '|')) != NULL) {
            *p++ = '\0';
            field[n++] = p + strspn(p, " ");
        }
        if (n < 8 || strlen(name) > strcspn(field[0], " ") || strncmp(field[0], name, strcspn(field[0], " ")) != 0)
            continue;
        stored = strtoll(field[4], NULL, 10);
        *complex = strstr(field[7], "complex") != NULL;
    }
    if (f) fclose(f);
    return stored;
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TULLE_MATRICES");
    if (!folder || !*folder) folder = "../shared/matrices";
    if (argc > 1) folder = argv[1];
    long most = argc > 2 ? atol(argv[2]) : 1 << 20;
    char copy[TEMPORARY_MOST], plain[TEMPORARY_MOST + 16], packed[TEMPORARY_MOST + 16], path[1024];
    DIR *d = opendir(folder);
    if (!d || !temporary_folder(copy)) {
        skip("no folder %s of matrices (set TULLE_MATRICES)", folder);
        return tap_done();
    }
    int can_pack = tulle__inflate_engines()[0] != NULL;
    snprintf(plain, sizeof plain, "%s/a.mtx", copy);
    snprintf(packed, sizeof packed, "%s/a.mtx.gz", copy);
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        char *dot = strstr(entry->d_name, ".mtx");
        struct stat info;
        if (!dot) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &info) != 0 || info.st_size > most) continue;
        if (!can_pack && strstr(path, ".gz")) {
            skip("%s: no zlib", entry->d_name);
            continue;
        }
        char name[256];
        int complex = 0;
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name), entry->d_name);
        int64_t wanted = listed(folder, name, &complex);
        struct summary one, many, again = {0}, again_packed = {0};
        tulle_status status = read_file(path, 1, &one, plain, 0);
        if (complex) {
            ok(status == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), "complex"), "%s: %s", name,
                tulle_error_message());
            continue;
        }
        ok(status == TULLE_OK && (wanted < 0 || one.stored == wanted),
            "%s: %" PRId64 " stored of %" PRId64 " listed %s", name, one.stored, wanted,
            status == TULLE_OK ? "" : tulle_error_message());
        if (status != TULLE_OK) continue;
        int same = 1;
        for (int nparts = 2; nparts <= (info.st_size > 100000 ? 3 : 7); nparts++)
            same &= read_file(path, nparts, &many, NULL, 0) == TULLE_OK && many.hash == one.hash;
        ok(same, "%s: the same in parts", name);
        status = read_file(plain, 3, &again, can_pack ? packed : NULL, 1);
        if (status == TULLE_OK && can_pack) status = read_file(packed, 2, &again_packed, NULL, 0);
        ok(status == TULLE_OK && again.hash == one.hash && (!can_pack || again_packed.hash == one.hash),
            "%s: the same after writing%s", name, can_pack ? ", plain and packed" : "");
    }
    closedir(d);
    unlink(plain);
    unlink(packed);
    rmdir(copy);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
