/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "io/file/unpacker.h"

static const char other_bytes[] = "bytes that are not compressed data follow the compressed data";

static int begins(const unsigned char *head, size_t n, const char *magic, size_t length)
{
    return memcmp(head, magic, n < length ? n : length) == 0;
}

/* The libraries differ in what they accept. */
static const char *gzip_member(const unsigned char *head, size_t n)
{
    if (!begins(head, n, "\x1f\x8b", 2)) return "bytes that are not gzip data follow the compressed data";
    if ((n > 2 && head[2] != 8) || (n > 3 && (head[3] & 0xe0))) return "the compressed data are of an unknown kind";
    return NULL;
}

static const char *bzip2_member(const unsigned char *head, size_t n)
{
    return begins(head, n, "BZh", 3) && (n < 4 || (head[3] >= '1' && head[3] <= '9')) ? NULL : other_bytes;
}

static const char *xz_member(const unsigned char *head, size_t n)
{
    return begins(head, n,
               "\xfd"
               "7zXZ",
               6)
               ? NULL
               : other_bytes;
}

/* A frame, or one that is skipped. */
static const char *zstd_member(const unsigned char *head, size_t n)
{
    if (begins(head, n, "\x28\xb5\x2f\xfd", 4)) return NULL;
    return n && (head[0] & 0xf0) == 0x50 && begins(head + 1, n - 1, "\x2a\x4d\x18", 3) ? NULL : other_bytes;
}

static const char *no_member(const unsigned char *head, size_t n)
{
    (void)head, (void)n;
    return NULL;
}

/* Copies; the reader of the file ends it. */
static tulle_status stored_open(int raw, void **state)
{
    static const char none[] = "";
    (void)raw;
    *state = (void *)(uintptr_t)none; /* there is nothing to write */
    return TULLE_OK;
}

static enum tulle__step stored_step(
    void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout)
{
    const size_t n = *nin < *nout ? *nin : *nout;
    (void)state;
    memcpy(*out, *in, n);
    *in += n, *nin -= n;
    *out += n, *nout -= n;
    return STEP_GOES_ON;
}

static tulle_status stored_next(void *state)
{
    (void)state;
    return TULLE_OK;
}

static void stored_close(void *state)
{
    (void)state;
}

static const tulle__unpacker unpackers_stored[] = {
    {"stored", stored_open, stored_step, stored_next, stored_close}, {NULL, NULL, NULL, NULL, NULL}};

const tulle__packing tulle__not_packed = {"", "", unpackers_stored, no_member, 1, 0};

/* gzip packs 1032 to 1 at best. */
static const tulle__packing packings[] = {
    {"gzip", "zlib", tulle__unpackers_gzip, gzip_member, 1040, 0},
    {"bzip2", "libbz2", tulle__unpackers_bzip2, bzip2_member, 0, 0},
    {"xz", "liblzma", tulle__unpackers_xz, xz_member, 0, 4},
    {"zstd", "libzstd", tulle__unpackers_zstd, zstd_member, 0, 0},
};
enum { PACKINGS = sizeof packings / sizeof *packings };

const tulle__packing *tulle__packing_at(int i)
{
    return i < PACKINGS ? &packings[i] : NULL;
}

const tulle__packing *tulle__packing_of(const unsigned char *head, size_t n)
{
    /* gzip alone is known by two bytes: what is wrong behind them is its reader's to say */
    if (n >= 2 && begins(head, 2, "\x1f\x8b", 2)) return &packings[0];
    for (int i = 1; i < PACKINGS; i++)
        if (n >= 6 && !packings[i].member(head, 6)) return &packings[i];
    return NULL;
}
