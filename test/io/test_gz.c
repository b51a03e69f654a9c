/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gzip files: consecutive members, truncation, junk, damage, and the same entries in any number of
 * parts.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases.h"
#include "io/file/inflate.h"
#include "io/file/output.h"
#include "io/mtx/mtx.h"
#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 16];

/* A hash that depends on the order of the entries over all parts, 0 after a failure. */
static uint64_t read_all(const char *name, const tulle__mtx_options *options, int nparts, tulle_status *status)
{
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats sum = {0}, stats;
    uint64_t hash = 1;
    *status = tulle__mtx_open(name, options, &mtx);
    for (int k = 0; k < nparts && *status == TULLE_OK; k++) {
        tulle__entries entries;
        *status = tulle__mtx_parse(mtx, k, nparts, TULLE_F64, &entries, &stats);
        for (int64_t e = 0; e < entries.count; e++) {
            double v = tulle__entries_val(&entries, e);
            uint64_t bits;
            memcpy(&bits, &v, sizeof bits);
            hash = tulle__random_mix(hash * 31 + (uint64_t)tulle__entries_row(&entries, e));
            hash = tulle__random_mix(hash * 31 + (uint64_t)tulle__entries_col(&entries, e) + bits);
        }
        tulle__entries_fini(&entries);
        tulle__mtx_stats_add(&sum, &stats);
    }
    if (*status == TULLE_OK) *status = tulle__mtx_check(mtx, &sum);
    tulle__mtx_close(mtx);
    return *status == TULLE_OK ? hash : 0;
}

static char *pack(const char *text, size_t bytes, size_t *packed)
{
    tulle__output *out = NULL;
    char *data = malloc(1 << 20);
    int fine = tulle__output_open(path, 6, &out) == TULLE_OK && tulle__output_write(out, text, bytes) == TULLE_OK &&
               tulle__output_close(out) == TULLE_OK;
    FILE *f = fopen(path, "rb");
    *packed = fine && f ? fread(data, 1, 1 << 20, f) : 0;
    if (f) fclose(f);
    return data;
}

static void small_file(const char *engine)
{
    const char *text = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 3.5\n3 3 -1e3\n";
    size_t half = 58, bytes = strlen(text), n, n1, n2;
    char *all = pack(text, bytes, &n), *first = pack(text, half, &n1), *second = pack(text + half, bytes - half, &n2);
    char *made = malloc(4096);
    tulle__mtx_options options = {.engine = engine};
    tulle_status status;
    case_write(path, all, n);
    uint64_t right = read_all(path, &options, 1, &status);
    ok(right, "%s: one member", engine);
    memcpy(made, first, n1);
    memcpy(made + n1, second, n2);
    case_write(path, made, n1 + n2);
    ok(read_all(path, &options, 1, &status) == right && read_all(path, &options, 3, &status) == right,
        "%s: two members", engine);
    int refused = 1, named = 1;
    for (size_t cut = 1; cut < n1 + n2; cut++) {
        if (cut == n1) continue; /* a whole member, whose text is too short */
        case_write(path, made, cut);
        refused &= read_all(path, &options, 1, &status) == 0 && (status == TULLE_ERR_FORMAT);
        named &= strncmp(tulle_error_message(), path, strlen(path)) == 0;
    }
    ok(refused && named, "%s: truncated anywhere, it is refused", engine);
    int junk = 1;
    static const char *const tails[] = {
        "x", "\n", "\0\0\0\0", "\x1f", "\x1f\x8c", "\x1f\x8b", "\x1f\x8b\x08", "%%MatrixMarket"};
    static const size_t lengths[] = {1, 1, 4, 1, 2, 2, 3, 14};
    for (size_t t = 0; t < 8; t++) {
        memcpy(made, all, n);
        memcpy(made + n, tails[t], lengths[t]);
        case_write(path, made, n + lengths[t]);
        for (int nparts = 1; nparts < 4; nparts++)
            junk &= read_all(path, &options, nparts, &status) == 0 && status == TULLE_ERR_FORMAT;
    }
    ok(junk, "%s: junk behind the data is refused", engine);
    int unnoticed = 0, different = 0;
    for (size_t i = 0; i < n * 8; i++) { /* every bit changed once; times, names and unused bits do not matter */
        memcpy(made, all, n);
        made[i / 8] = (char)(made[i / 8] ^ (1 << i % 8));
        case_write(path, made, n);
        uint64_t hash = read_all(path, &options, 1, &status);
        unnoticed += i >= 80 && hash != 0;
        different |= hash != 0 && hash != right;
    }
    ok(unnoticed < 8 && !different, "%s: any damage is noticed", engine);
    free(all);
    free(first);
    free(second);
    free(made);
}

static void long_file(const char *engine)
{
    char *text = malloc(4 << 20), *p = text;
    int entries = 60000;
    p += sprintf(p, "%%%%MatrixMarket matrix coordinate real general\n%%\n100000 100000 %d\n", entries);
    for (int e = 0; e < entries; e++) {
        uint64_t r = tulle__random_at(3, 1, (uint64_t)e);
        p += sprintf(p, "%d %d %.*g\n", (int)(r % 100000) + 1, (int)((r >> 20) % 1000) + 1, (int)(r % 17) + 1,
            (double)(r >> 11) * 1e-9);
    }
    char plain[TEMPORARY_MOST + 32];
    snprintf(plain, sizeof plain, "%s.txt", path);
    case_write(plain, text, (size_t)(p - text));
    size_t n;
    char *packed = pack(text, (size_t)(p - text), &n);
    tulle__mtx_options options = {0};
    tulle_status status;
    uint64_t right = read_all(plain, &options, 1, &status);
    int plain_parts = right != 0, parts = 1;
    for (int nparts = 1; nparts <= 7; nparts++) plain_parts &= read_all(plain, &options, nparts, &status) == right;
    options.engine = engine;
    for (int block = 0; block < 4; block++)
        for (int nparts = 1; nparts <= 7; nparts++) {
            options.block = block == 0 ? 0 : block == 1 ? 1000 : block == 2 ? 4096 : 100003;
            options.no_thread = nparts & 1;
            parts &= read_all(path, &options, nparts, &status) == right;
        }
    ok(plain_parts, "%s: parts 1 to 7 of the plain file are the file in order", engine);
    ok(parts, "%s: parts 1 to 7 of the packed file are the file in order, for any size of blocks", engine);
    free(packed);
    free(text);
    unlink(plain);
}

/* Text that compresses well, or bytes that do not. */
static char *make_bytes(size_t bytes, int packs)
{
    char *data = malloc(bytes + 32);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t r = tulle__random_at(9, 2, i);
        if (packs)
            snprintf(data + i, 9, "%7d\n", (int)(r % 1000000));
        else
            memcpy(data + i, &r, 8);
    }
    return data;
}

static char *whole_file(size_t most, size_t *bytes)
{
    char *data = malloc(most);
    FILE *f = fopen(path, "rb");
    *bytes = f ? fread(data, 1, most, f) : 0;
    if (f) fclose(f);
    return data;
}

/* Written by so many threads, in pieces of a size. */
static int write_by(const char *data, size_t bytes, int threads, size_t piece)
{
    tulle__output *out = NULL;
    unlink(path); /* some disks write at once what replaces a file */
    int fine = tulle__output_open(path, threads, &out) == TULLE_OK;
    for (size_t i = 0; i < bytes && fine; i += piece)
        fine = tulle__output_write(out, data + i, bytes - i < piece ? bytes - i : piece) == TULLE_OK;
    return fine && tulle__output_close(out) == TULLE_OK;
}

static int reads_as(const char *engine, const char *data, size_t bytes)
{
    tulle__inflate *inflate = NULL;
    char *back = malloc(bytes + 1);
    size_t got = 0;
    int64_t consumed;
    int fd = open(path, O_RDONLY);
    int fine =
        fd >= 0 &&
        tulle__inflate_open(&(tulle__packed_file){.fd = fd, .path = path, .engine = engine}, &inflate) == TULLE_OK &&
        tulle__inflate_read(inflate, back, bytes + 1, &got, &consumed) == TULLE_OK && got == bytes &&
        memcmp(back, data, bytes) == 0;
    tulle__inflate_close(inflate);
    if (fd >= 0) close(fd);
    free(back);
    return fine;
}

/*
 * Blocks compressed in parallel: the same file from any number of threads, and its contents read
 * back.
 */
static void by_threads(void)
{
    static const size_t sizes[] = {1, 1000, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 3 << 20, (5 << 20) + 17};
    static const size_t pieces[] = {1 << 22, 65536, 700001, 4097};
    const char *const *engines = tulle__inflate_engines();
    for (int packs = 0; packs < 2; packs++) {
        int same = 1, back = 1, gzip = 1;
        char unlike[64] = "";
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            char *data = make_bytes(sizes[s], packs), *first = NULL;
            size_t n1 = 0, n;
            for (int t = 1; t <= 5; t++) {
                int written = write_by(data, sizes[s], t, pieces[(s + (size_t)t) % 4]);
                char *file = whole_file(2 * sizes[s] + 1000, &n);
                if (!first) first = file, n1 = n;
                int alike = written && n == n1 && n > 0 && memcmp(file, first, n) == 0;
                if (same && !alike)
                    snprintf(unlike, sizeof unlike, ": %zu bytes by %d %s", sizes[s], t, written ? "differ" : "fail");
                same &= alike;
                if (file != first) free(file);
            }
            for (int e = 0; engines[e]; e++) back &= reads_as(engines[e], data, sizes[s]);
            char command[TEMPORARY_MOST + 64];
            snprintf(command, sizeof command, "gzip -t <'%s'", path);
            gzip &= system(command) == 0;
            free(first);
            free(data);
        }
        ok(same, "%s: 1 to 5 threads write the same file%s", packs ? "text" : "noise", unlike);
        ok(back, "which every engine reads");
        ok(gzip, "and gzip");
    }
    /* threads that do not fit in memory are not started */
    tulle__account *account = tulle__account_new(3 << 20);
    char *data = make_bytes(3 << 20, 1), *file;
    size_t n, n1;
    int fine = write_by(data, 3 << 20, 1, 1 << 16);
    file = whole_file(4 << 20, &n1);
    tulle__account_enter(account);
    fine &= write_by(data, 3 << 20, 16, 1 << 16);
    tulle__account_enter(NULL);
    char *again = whole_file(4 << 20, &n);
    ok(fine && n == n1 && memcmp(file, again, n) == 0 && tulle__account_peak(account) < 3 << 20,
        "with little memory the same file by fewer threads");
    tulle__account_free(account);
    free(again);
    free(file);
    free(data);
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/a.mtx.gz", folder);
    const char *const *engines = tulle__inflate_engines();
    if (!engines[0]) {
        tulle_status status;
        case_write(path, "\x1f\x8b\x08", 3);
        read_all(path, NULL, 1, &status);
        ok(status == TULLE_ERR_UNSUPPORTED, "without zlib: %s", tulle_error_message());
    }
    for (int e = 0; engines[e]; e++) {
        small_file(engines[e]);
        long_file(engines[e]);
    }
    if (engines[0]) by_threads();
    unlink(path);
    rmdir(folder);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
