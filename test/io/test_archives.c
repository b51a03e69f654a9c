/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed files of every kind in the table, and tar archives made here, header by header: read in any number of parts;
 * several members; cut anywhere and with every byte changed: the same matrix, or refused.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "cases.h"
#include "io/file/unpacker.h"
#include "io/mtx/mtx.h"
#include "tap.h"
#include "temporary.h"

/* The file that the samples hold, and its entries. */
static const char text[] = "%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1.5\n2 4 -2\n3 1 0.1\n3 3 4\n";
enum { ENTRIES = 4, TEXT = sizeof text - 1, MOST = 1 << 14 };
static const double val[ENTRIES] = {1.5, -2, .1, 4};

static const struct packed {
    const char *name, *bytes;
    size_t n;
} samples[] = {
    {"gzip",
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x53\x55\xf5\x4d\x2c\x29\xca\xac\xf0\x4d\x2c\xca\x4e\x2d"
        "\x51\xc8\x05\x73\x14\x92\xf3\xf3\x8b\x52\x32\xf3\x12\x4b\x52\x15\x8a\x52\x13\x73\x14\xd2\x53\xf3"
        "\x52\x8b\x12\x73\xb8\x8c\x15\x4c\x14\x4c\xb8\x0c\x15\x80\x50\xcf\x94\xcb\x08\xc8\xd3\x35\x02\x0a"
        "\x1a\x2a\x18\xe8\x19\x02\x69\xa0\x34\x17\x00\x45\x93\xc2\x74\x51\x00\x00\x00",
        91},
    {"bzip2",
        "\x42\x5a\x68\x39\x31\x41\x59\x26\x53\x59\xff\xf5\xba\xd3\x00\x00\x0a\x5d\x80\x00\x10\x42\x03\x7e"
        "\x00\x00\x02\x2e\xaf\x94\x40\x20\x00\x54\x44\xd0\x68\x00\x01\xa0\x6a\x9e\xd5\x36\xa1\xe9\xa8\xf5"
        "\x00\x36\x8c\x2a\xcd\xdd\x0b\xa0\x40\x68\x65\x67\xa6\x77\x87\x30\x8a\x82\x0e\x05\x10\x0c\x6b\x9c"
        "\xb7\x16\xb1\xd1\x66\x3c\x23\x67\x58\x8e\x02\x8e\x27\xe4\x8a\xe2\x04\xb1\x41\x07\xc5\xdc\x91\x4e"
        "\x14\x24\x3f\xfd\x6e\xb4\xc0",
        103},
    {"xz",
        "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3"
        "\xe0\x00\x50\x00\x49\x5d\x00\x12\xe1\x30\xc2\x74\x38\x61\xde\x3a\x4b\x4f\x5f\x43\xe3\xfb\x8b\xa8"
        "\x9a\x11\xc8\x87\x49\xad\x30\xf2\x34\xb6\xb2\x4a\xbd\x60\xea\x3e\xc8\xf8\x15\x1e\x52\xd0\xda\xed"
        "\x47\x3a\x58\x9a\xe4\xa5\x61\x12\xe0\x2d\xf1\x71\x50\x6d\x4b\x00\x40\xdd\x8e\x95\x3c\xc0\x71\xec"
        "\x7d\xa3\x31\x3e\x80\x3c\xaf\x00\x00\x00\x00\x00\xb8\xd0\x1b\x4a\x60\x0e\x1f\xf2\x00\x01\x65\x51"
        "\xab\x4b\x60\x24\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
        136},
    {"zstd",
        "\x28\xb5\x2f\xfd\x24\x51\x35\x02\x00\x92\xc4\x0e\x11\xa0\xed\x2c\xdc\xac\xfc\x6e\xa9\x05\xfc\x66"
        "\xad\x44\x4c\xbf\xfa\xa2\x6b\x5e\x5e\x96\xc5\x38\x93\x70\x73\xb2\x47\xf0\xf9\xbc\xe6\xe6\x65\x5f"
        "\xcf\x15\x17\xfb\xeb\x35\xbf\x68\xc7\xa6\xa6\x94\xe9\xf0\x74\xb9\xd9\xa8\xb6\x49\x1b\x01\x10\x02"
        "\x00\xc5\x09\x05\x5c\x13\x0c\x34\x72\x9c\x0a",
        83},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];

/* Reads a matrix in parts: TULLE_OK only if it is the one above. `same` 0: the wrong one has been read. */
static tulle_status read_in(const char *name, int nparts, int *same)
{
    tulle__mtx *mtx = NULL;
    tulle__mtx_stats sum = {0};
    int at = 0;
    *same = 1;
    tulle_status status = tulle__mtx_open(name, &(tulle__mtx_options){.block = 16}, &mtx);
    for (int p = 0; p < nparts && status == TULLE_OK; p++) {
        tulle__entries e;
        tulle__mtx_stats stats;
        status = tulle__mtx_parse(mtx, p, nparts, TULLE_F64, &e, &stats);
        tulle__mtx_stats_add(&sum, &stats);
        for (int64_t i = 0; i < e.count; i++, at++) *same &= at < ENTRIES && tulle__entries_val(&e, i) == val[at];
        tulle__entries_fini(&e);
    }
    if (status == TULLE_OK) status = tulle__mtx_check(mtx, &sum);
    if (status == TULLE_OK) *same &= at == ENTRIES;
    tulle__mtx_close(mtx);
    return status;
}

static int reads(const char *name)
{
    int same = 1, fine = 1;
    for (int nparts = 1; nparts <= 4 && fine; nparts++) fine = read_in(name, nparts, &same) == TULLE_OK && same;
    return fine;
}

/* Counts how often something else was read of a file cut at each length, or with each byte changed. */
static int damaged(const char *bytes, size_t n, int *cut_read)
{
    char copy[MOST];
    int wrong = 0, same;
    *cut_read = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(copy, bytes, n);
        case_write(path, copy, i);
        *cut_read += read_in(path, 2, &same) == TULLE_OK;
        copy[i] = (char)(copy[i] ^ 0x41);
        case_write(path, copy, n);
        wrong += read_in(path, 2, &same) == TULLE_OK && !same;
    }
    return wrong;
}

/* The bytes as a stream. */
static int unpacks_to(const tulle__packing *packing, const char *want, size_t n)
{
    char back[MOST];
    size_t got = 0;
    int64_t consumed;
    tulle__inflate *inflate = NULL;
    const int fd = open(path, O_RDONLY);
    const tulle__packed_file file = {.fd = fd, .path = path, .packing = packing};
    const int fine = fd >= 0 && tulle__inflate_open(&file, &inflate) == TULLE_OK &&
                     tulle__inflate_read(inflate, back, sizeof back, &got, &consumed) == TULLE_OK && got == n &&
                     memcmp(back, want, n) == 0;
    tulle__inflate_close(inflate);
    if (fd >= 0) close(fd);
    return fine;
}

static void packed(const tulle__packing *packing, const struct packed *s)
{
    char two[MOST];
    int same, cut;
    case_write(path, s->bytes, s->n);
    if (!packing->unpackers->name) {
        ok(read_in(path, 1, &same) == TULLE_ERR_UNSUPPORTED && strstr(tulle_error_message(), packing->package),
            "%s is named: %s", s->name, tulle_error_message());
        return;
    }
    ok(reads(path), "%s: in 1 to 4 parts: %s", s->name, tulle_error_message());
    const int wrong = damaged(s->bytes, s->n, &cut);
    ok(!wrong, "%s: no changed byte makes another matrix (%d)", s->name, wrong);
    ok(!cut, "%s: no file that is cut short is read (%d)", s->name, cut);
    memcpy(two, s->bytes, s->n);
    memcpy(two + s->n, s->bytes, s->n);
    case_write(path, two, 2 * s->n);
    char both[2 * TEXT + 1];
    snprintf(both, sizeof both, "%s%s", text, text);
    ok(unpacks_to(packing, both, 2 * TEXT), "%s: two members are one stream: %s", s->name, tulle_error_message());
    memcpy(two + s->n, "junk and more of it", 20);
    case_write(path, two, s->n + 20);
    ok(read_in(path, 2, &same) == TULLE_ERR_FORMAT, "%s: junk behind it: %s", s->name, tulle_error_message());
}

static void every_packing(void)
{
    const tulle__packing *packing;
    for (int i = 0; (packing = tulle__packing_at(i)); i++) {
        const struct packed *found = NULL;
        for (int s = 0; s < SAMPLES; s++)
            if (strcmp(samples[s].name, packing->name) == 0) found = &samples[s];
        if (!ok(found != NULL, "%s has a sample", packing->name)) continue;
        ok(tulle__packing_of((const unsigned char *)found->bytes, 6) == packing, "it is known");
        packed(packing, found);
    }
}

/* ---- archives ---- */

static char archive[MOST];
static size_t used;

/* A header of a type, and a body. */
static void put(char type, const char *name, const char *body)
{
    const size_t n = strlen(body);
    char *h = archive + used;
    unsigned sum = 0;
    memset(h, 0, TULLE__TAR_BLOCK);
    snprintf(h, 100, "%s", name);
    snprintf(h + 100, 8, "0000644");
    snprintf(h + 124, 12, "%011o", (unsigned)n);
    memcpy(h + 257, "ustar\00000", 8);
    h[156] = type;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < TULLE__TAR_BLOCK; i++) sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
    used += TULLE__TAR_BLOCK;
    memset(archive + used, 0, (n + TULLE__TAR_BLOCK - 1) / TULLE__TAR_BLOCK * TULLE__TAR_BLOCK);
    memcpy(archive + used, body, n);
    used += (n + TULLE__TAR_BLOCK - 1) / TULLE__TAR_BLOCK * TULLE__TAR_BLOCK;
}

static void finish(void)
{
    memset(archive + used, 0, 2 * TULLE__TAR_BLOCK);
    used += 2 * TULLE__TAR_BLOCK;
    case_write(path, archive, used);
    used = 0;
}

static const char vector[] = "%%MatrixMarket matrix array real general\n1 1\n7\n";

static void as_suitesparse(void)
{
    char name[TEMPORARY_MOST + 64], list[TULLE__TAR_LIST] = "";
    tulle__mtx *mtx = NULL;
    int same;
    put('5', "bc/", "");
    put('0', "bc/bc_b.mtx", vector);
    put('0', "bc/bc.mtx", text);
    put('0', "bc/bc_x.mtx", vector);
    put('0', "bc/notes.txt", "words");
    const size_t n = used + 2 * TULLE__TAR_BLOCK;
    finish();
    ok(reads(path), "an archive's matrix: %s", tulle_error_message());
    ok(tulle__mtx_open(path, NULL, &mtx) == TULLE_OK && tulle__mtx_others(mtx, list) == TULLE_OK &&
            strcmp(list, "bc_b.mtx, bc_x.mtx") == 0,
        "and the others: %s", list);
    tulle__mtx_close(mtx);
    mtx = NULL;
    snprintf(name, sizeof name, "%s/bc_b.mtx", path);
    ok(tulle__mtx_open(name, NULL, &mtx) == TULLE_OK && tulle__mtx_head(mtx)->array &&
            strcmp(tulle__mtx_path(mtx), name) == 0,
        "a member by its name: %s", tulle_error_message());
    tulle__mtx_close(mtx);
    snprintf(name, sizeof name, "%s/bc/bc.mtx", path);
    ok(reads(name), "by its whole name: %s", tulle_error_message());
    snprintf(name, sizeof name, "%s/none.mtx", path);
    ok(read_in(name, 1, &same) == TULLE_ERR_FORMAT && strstr(tulle_error_message(), "bc/notes.txt"),
        "none of that name: %s", tulle_error_message());
    int cut;
    char copy[MOST];
    memcpy(copy, archive, n);
    const int wrong = damaged(copy, n - 2 * TULLE__TAR_BLOCK, &cut);
    ok(wrong <= (int)TEXT, "changed headers make no other matrix (%d, the text has no sum)", wrong);
}

static void others(void)
{
    char name[300];
    int same;
    put('0', "a.mtx", vector);
    put('0', "b.mtx", text);
    finish();
    ok(read_in(path, 1, &same) == TULLE_ERR_FORMAT && strstr(tulle_error_message(), "a.mtx, b.mtx"),
        "several matrices: %s", tulle_error_message());
    put('0', "notes.txt", "words");
    put('0', "b.mtx", text);
    finish();
    ok(reads(path), "one among others: %s", tulle_error_message());
    put('0', "m.rb", "words");
    finish();
    ok(read_in(path, 1, &same) == TULLE_ERR_FORMAT && strstr(tulle_error_message(), "m.rb"), "none: %s",
        tulle_error_message());
    memset(name, 'x', 150);
    memcpy(name + 150, ".mtx", 5);
    put('L', "././@LongLink", name);
    put('0', "xxx", text);
    finish();
    ok(reads(path), "a long name of GNU's: %s", tulle_error_message());
    put('x', "PaxHeaders/x", "16 path=q/q.mtx\n");
    put('0', "cut short", text);
    put('0', "r.mtx", vector);
    finish();
    ok(reads(path), "a name in an extended header: %s", tulle_error_message());
    put('0', "bc/bc.mtx", text);
    case_write(path, archive, used - 500);
    used = 0;
    ok(read_in(path, 2, &same) == TULLE_ERR_FORMAT, "an archive that ends within the matrix: %s",
        tulle_error_message());
    snprintf(name, sizeof name, "%.200s/b.mtx", path);
    case_write(path, text, TEXT);
    ok(read_in(name, 1, &same) == TULLE_ERR_IO && strstr(tulle_error_message(), "no archive"), "no archive: %s",
        tulle_error_message());
}

int main(void)
{
    if (!temporary_folder(folder)) return EXIT_FAILURE;
    snprintf(path, sizeof path, "%s/a", folder);
    every_packing();
    as_suitesparse();
    others();
    unlink(path);
    rmdir(folder);
    ok(tulle__account_blocks(tulle__account_current()) == 0, "no block of memory is left");
    return tap_done();
}
