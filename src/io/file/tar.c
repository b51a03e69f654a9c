/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/memory.h"

enum { BUFFER = 1 << 16, LONG_MOST = 1 << 14 };

/* A sweep over the headers. */
struct sweep {
    tulle__inflate *inflate;
    const char *path;
    char *buffer;
    int64_t at;                      /* unpacked bytes read */
    char long_name[TULLE__TAR_NAME]; /* from a header of its own; "": none */
    int64_t long_size;               /* the same; -1: none */
};

/* Octal digits, or GNU's big-endian number with the highest bit set; -1: neither. */
static int64_t number_of(const unsigned char *field, int n)
{
    int64_t x = 0;
    int i = 0;
    if (field[0] & 0x80) {
        if (field[0] != 0x80) return -1;
        for (i = 1; i < n; i++) {
            if (x >> 54) return -1;
            x = x << 8 | field[i];
        }
        return x;
    }
    while (i < n && field[i] == ' ') i++;
    for (; i < n && field[i] >= '0' && field[i] <= '7'; i++) {
        if (x >> 59) return -1;
        x = x << 3 | (field[i] - '0');
    }
    return i == n || field[i] == '\0' || field[i] == ' ' ? x : -1;
}

/* The sum of a header's bytes, its own field as blanks. */
static int checksum_fits(const unsigned char *h)
{
    int64_t sum = 0;
    for (int i = 0; i < TULLE__TAR_BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : h[i];
    return sum == number_of(h + 148, 8);
}

int tulle__tar_begins(const unsigned char *head, size_t n)
{
    return n >= TULLE__TAR_BLOCK && head[0] && checksum_fits(head);
}

static tulle_status take(struct sweep *s, void *to, size_t n)
{
    size_t got;
    int64_t consumed;
    TULLE_CALL(tulle__attend());
    TULLE_CALL(tulle__inflate_read(s->inflate, to, n, &got, &consumed));
    s->at += (int64_t)got;
    if (got < n) return tulle__fail(TULLE_ERR_FORMAT, "%s: the archive ends early: truncated?", s->path);
    return TULLE_OK;
}

static tulle_status skip(struct sweep *s, int64_t n)
{
    tulle_status status = TULLE_OK;
    while (n > 0 && status == TULLE_OK) {
        const size_t piece = n < BUFFER ? (size_t)n : BUFFER;
        status = take(s, s->buffer, piece);
        n -= (int64_t)piece;
    }
    return status;
}

static int64_t in_blocks(int64_t bytes)
{
    return (bytes + TULLE__TAR_BLOCK - 1) / TULLE__TAR_BLOCK * TULLE__TAR_BLOCK;
}

/* Records of an extended header: `LENGTH KEY=VALUE` and a newline; length counts itself. */
static void read_records(struct sweep *s, const char *p, const char *end)
{
    while (p < end) {
        char *stop;
        const long length = strtol(p, &stop, 10);
        if (length <= 0 || length > end - p || *stop != ' ') return;
        const char *key = stop + 1, *last = p + length - 1; /* its newline */
        if (last - key > 5 && memcmp(key, "path=", 5) == 0)
            snprintf(s->long_name, sizeof s->long_name, "%.*s", (int)(last - key - 5), key + 5);
        if (last - key > 5 && memcmp(key, "size=", 5) == 0) s->long_size = strtoll(key + 5, NULL, 10);
        p += length;
    }
}

/* A header that describes the next one: GNU's long name (L) or an extended header (x). */
static tulle_status read_extension(struct sweep *s, char type, int64_t bytes)
{
    if (bytes > LONG_MOST) return skip(s, in_blocks(bytes));
    TULLE_CALL(take(s, s->buffer, (size_t)in_blocks(bytes)));
    s->buffer[bytes] = '\0'; /* the buffer is larger than LONG_MOST */
    if (type == 'L')
        snprintf(s->long_name, sizeof s->long_name, "%s", s->buffer);
    else
        read_records(s, s->buffer, s->buffer + bytes);
    return TULLE_OK;
}

static void take_name(const struct sweep *s, const unsigned char *h, tulle__tar_member *member)
{
    const char *prefix = memcmp(h + 257, "ustar", 6) == 0 ? (const char *)h + 345 : "";
    const size_t folder = strnlen(prefix, 155), own = strnlen((const char *)h, 100);
    if (*s->long_name) {
        memcpy(member->name, s->long_name, sizeof member->name);
        return;
    }
    memset(member->name, 0, sizeof member->name);
    memcpy(member->name, prefix, folder);
    if (folder) member->name[folder] = '/';
    memcpy(member->name + folder + (folder > 0), h,
        own < TULLE__TAR_NAME - 1 - folder - 1 ? own : TULLE__TAR_NAME - 2 - folder);
}

/* The next regular member, whose bytes are the next ones; *found = 0 at the end of the archive. */
static tulle_status next_member(struct sweep *s, tulle__tar_member *member, int *found)
{
    unsigned char h[TULLE__TAR_BLOCK];
    *found = 0;
    s->long_name[0] = '\0';
    s->long_size = -1;
    for (;;) {
        tulle_status status = take(s, h, sizeof h);
        if (status != TULLE_OK || !h[0]) return status; /* a block of zeros is the end */
        int64_t bytes = number_of(h + 124, 12);
        if (!checksum_fits(h) || bytes < 0)
            return tulle__fail(TULLE_ERR_FORMAT, "%s: the archive is damaged: no header of a member at byte %" PRId64,
                s->path, s->at - TULLE__TAR_BLOCK);
        const char type = (char)h[156];
        if (type == 'L' || type == 'x') {
            status = read_extension(s, type, bytes);
        } else if (type == '0' || type == '\0') {
            member->bytes = s->long_size >= 0 ? s->long_size : bytes;
            member->from = s->at;
            take_name(s, h, member);
            *found = 1;
            return TULLE_OK;
        } else {
            status = skip(s, in_blocks(bytes)); /* a folder, a link, a comment */
            s->long_name[0] = '\0';
            s->long_size = -1;
        }
        if (status != TULLE_OK) return status;
    }
}

static const char *base_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static int is_mtx(const char *name)
{
    const size_t n = strlen(name);
    return n > 4 && strcasecmp(name + n - 4, ".mtx") == 0;
}

/* NAME/NAME.mtx. */
static int is_main(const char *name)
{
    const char *base = base_of(name), *folder = base - 1;
    const size_t stem = strlen(base) - (is_mtx(name) ? 4 : 0);
    if (base == name || !is_mtx(name)) return 0;
    while (folder > name && folder[-1] != '/') folder--;
    return (size_t)(base - 1 - folder) == stem && memcmp(folder, base, stem) == 0;
}

/* Appends a name to a list, with "..." for what does not fit. */
static void list_name(char list[TULLE__TAR_LIST], const char *name)
{
    const size_t used = strlen(list), capacity = TULLE__TAR_LIST - used, n = strlen(name);
    if (n + 8 < capacity)
        snprintf(list + used, capacity, "%s%s", used ? ", " : "", name);
    else if (capacity > 5 && used && list[used - 1] != '.')
        snprintf(list + used, capacity, ", ...");
}

static tulle_status sweep_open(const tulle__packed_file *archive, struct sweep *s)
{
    *s = (struct sweep){.path = archive->path};
    TULLE_CALL(tulle__alloc(BUFFER + TULLE__TAR_BLOCK, 1, "an archive's headers", &s->buffer));
    return tulle__inflate_open(archive, &s->inflate);
}

static void sweep_close(struct sweep *s)
{
    tulle__inflate_close(s->inflate);
    tulle__free(s->buffer);
}

tulle_status tulle__tar_find(const tulle__packed_file *archive, const char *name, tulle__tar_member *member)
{
    struct sweep s;
    tulle__tar_member next;
    char all[TULLE__TAR_LIST] = "", matrices[TULLE__TAR_LIST] = "";
    int found, fitting = 0;
    tulle_status status;
    TULLE_TRY(sweep_open(archive, &s));
    for (;;) {
        TULLE_TRY(next_member(&s, &next, &found));
        if (!found) break;
        int fits = name ? strcmp(next.name, name) == 0 || strcmp(base_of(next.name), name) == 0 : is_mtx(next.name);
        list_name(fits ? matrices : all, next.name);
        if (fits && fitting++ == 0) *member = next;
        if (name ? fits : is_main(next.name)) {
            *member = next;
            goto out;
        }
        TULLE_TRY(skip(&s, in_blocks(next.bytes)));
    }
    if (fitting == 1) goto out;
    if (fitting)
        status =
            tulle__fail(TULLE_ERR_FORMAT, "%s: the archive holds several matrices: name one, as in %s/%s; it has %s",
                s.path, s.path, base_of(member->name), matrices);
    else
        status = tulle__fail(TULLE_ERR_FORMAT, "%s: the archive holds no %s; it has %s", s.path,
            name ? name : "Matrix Market file (.mtx)", *all ? all : "no file");
out:
    sweep_close(&s);
    return status;
}

tulle_status tulle__tar_others(const tulle__packed_file *archive, char list[TULLE__TAR_LIST])
{
    struct sweep s;
    tulle__tar_member next;
    int found;
    list[0] = '\0';
    tulle_status status;
    TULLE_TRY(sweep_open(archive, &s));
    for (;;) {
        TULLE_TRY(next_member(&s, &next, &found));
        if (!found) break;
        if (is_mtx(next.name) && !is_main(next.name)) list_name(list, base_of(next.name));
        TULLE_TRY(skip(&s, in_blocks(next.bytes)));
    }
out:
    sweep_close(&s);
    return status;
}
