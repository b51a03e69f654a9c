/* SPDX-License-Identifier: Apache-2.0 */
#include "standard_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPERAND_NAME = 32 };

/* Options that name dense operands. */
static const char *const dense[] = {"rhs", "guess"};
enum { DENSE = sizeof dense / sizeof *dense };

/* The descriptor that a name stands for, as of <(...); -1: it is a file's own name. */
static int descriptor_of(const char *name)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    char *stop;
    if (strcmp(name, "-") == 0 || strcmp(name, "/dev/stdin") == 0) return STDIN_FILENO;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        const size_t n = strlen(folders[f]);
        if (strncmp(name, folders[f], n) != 0) continue;
        const long fd = strtol(name + n, &stop, 10);
        if (stop > name + n && !*stop && fd >= 0 && fd < 1 << 20) return (int)fd;
    }
    return -1;
}

/* True for an operand that can be read only once, from its beginning to its end. */
static int is_stream(const char *name)
{
    struct stat info;
    const int fd = descriptor_of(name);
    if (strcmp(name, "-") == 0) return 1;
    if (fd >= 0) return fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    return stat(name, &info) == 0 && S_ISFIFO(info.st_mode);
}

static int is_wanted(const struct options *options)
{
    for (int i = 0; i < options->inputs && i < options->noperands; i++)
        if (is_stream(options->operand[i])) return 1;
    for (int i = 0; i < DENSE; i++)
        if (is_stream(options_word(options, dense[i], ""))) return 1;
    return 0;
}

static int open_nameless(const char *folder)
{
    char path[4096];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    if (snprintf(path, sizeof path, "%s/tulle-XXXXXX", folder) >= (int)sizeof path) return -1;
    fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    return fd;
}

static int write_all(int fd, const char *data, ssize_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, data, (size_t)bytes);
        if (n < 0 && errno != EINTR) return 0;
        if (n > 0) data += n, bytes -= n;
    }
    return 1;
}

/* Copies the rest of `from` to fd. */
static tulle_status spool(int from, const char *name, int fd, const char *folder)
{
    static char piece[1 << 16];
    for (;;) {
        ssize_t n = read(from, piece, sizeof piece);
        if (n == 0) return TULLE_OK;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle_fail(TULLE_ERR_IO, "%s: reading failed: %s", name, strerror(errno));
        if (!write_all(fd, piece, n))
            return tulle_fail(TULLE_ERR_IO, "%s: it does not fit in %s: %s; TMPDIR names another folder", name, folder,
                strerror(errno));
    }
}

tulle_status allow_standard_input(const struct options *options, int64_t processes)
{
    if (processes <= 1 || !is_wanted(options)) return TULLE_OK;
    return tulle_fail(TULLE_ERR_UNSUPPORTED,
        "standard input, or a pipe, reaches only one of several processes: use a file, or threads (--comm threads)");
}

/*
 * Makes an operand that can be read only once a regular file: under its own name if that stands for a
 * descriptor, else under that of a new one.
 */
static tulle_status take(const char **operand, char name[OPERAND_NAME])
{
    const char *given = secure_getenv("TMPDIR"), *folder = given && *given ? given : "/tmp";
    const char *text = strcmp(*operand, "-") == 0 ? "standard input" : *operand;
    struct stat info;
    if (!is_stream(*operand)) return TULLE_OK;
    const int known = descriptor_of(*operand);
    const int from = known >= 0 ? known : open(*operand, O_RDONLY | O_CLOEXEC);
    if (from < 0) return tulle_fail(TULLE_ERR_IO, "%s: cannot be opened: %s", text, strerror(errno));
    if (fstat(from, &info) != 0) return tulle_fail(TULLE_ERR_IO, "%s: cannot be examined: %s", text, strerror(errno));
    if (S_ISREG(info.st_mode) && lseek(from, 0, SEEK_CUR) == 0) return TULLE_OK;
    int fd = open_nameless(folder);
    if (fd < 0) return tulle_fail(TULLE_ERR_IO, "%s: cannot create a file in %s: %s", text, folder, strerror(errno));
    tulle_status status = spool(from, text, fd, folder);
    if (known < 0) {
        close(from);
        snprintf(name, OPERAND_NAME, "/dev/fd/%d", fd);
        fprintf(stderr, "tulle: the pipe %s is read as %s\n", text, name);
        *operand = name;
        return status; /* fd stays open: it is the file */
    }
    if (status == TULLE_OK && dup2(fd, known) < 0)
        status = tulle_fail(TULLE_ERR_IO, "%s: cannot be replaced: %s", text, strerror(errno));
    close(fd);
    return status;
}

tulle_status take_standard_input(struct options *options)
{
    static char names[OPERANDS_MAX + DENSE][OPERAND_NAME];
    tulle_status status = TULLE_OK;
    for (int i = 0; i < options->inputs && i < options->noperands && status == TULLE_OK; i++)
        status = take(&options->operand[i], names[i]);
    for (int i = 0; i < DENSE && status == TULLE_OK; i++) {
        const char **word = options_place(options, dense[i]);
        if (word) status = take(word, names[OPERANDS_MAX + i]);
    }
    return status;
}
