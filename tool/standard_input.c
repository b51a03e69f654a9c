/* SPDX-License-Identifier: Apache-2.0 */
#include "standard_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_wanted(const struct options *options)
{
    static const char *const dense[] = {"rhs", "guess"};
    for (int i = 0; i < options->inputs && i < options->noperands; i++)
        if (strcmp(options->operand[i], "-") == 0) return 1;
    for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
        if (strcmp(options_word(options, dense[i], ""), "-") == 0) return 1;
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

/* Copies the rest of standard input to fd. */
static tulle_status spool(int fd, const char *folder)
{
    static char piece[1 << 16];
    for (;;) {
        ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
        if (n == 0) return TULLE_OK;
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle_fail(TULLE_ERR_IO, "standard input: reading failed: %s", strerror(errno));
        if (!write_all(fd, piece, n))
            return tulle_fail(TULLE_ERR_IO, "standard input: it does not fit in %s: %s; TMPDIR names another folder",
                folder, strerror(errno));
    }
}

tulle_status allow_standard_input(const struct options *options, int64_t processes)
{
    if (processes <= 1 || !is_wanted(options)) return TULLE_OK;
    return tulle_fail(TULLE_ERR_UNSUPPORTED,
        "standard input reaches only one of several processes: use a file, or threads (--comm threads)");
}

tulle_status take_standard_input(const struct options *options)
{
    const char *given = secure_getenv("TMPDIR"), *folder = given && *given ? given : "/tmp";
    struct stat info;
    if (!is_wanted(options)) return TULLE_OK;
    if (fstat(STDIN_FILENO, &info) != 0)
        return tulle_fail(TULLE_ERR_IO, "standard input: cannot be examined: %s", strerror(errno));
    if (S_ISREG(info.st_mode) && lseek(STDIN_FILENO, 0, SEEK_CUR) == 0) return TULLE_OK;
    int fd = open_nameless(folder);
    if (fd < 0)
        return tulle_fail(TULLE_ERR_IO, "standard input: cannot create a file in %s: %s", folder, strerror(errno));
    tulle_status status = spool(fd, folder);
    if (status == TULLE_OK && dup2(fd, STDIN_FILENO) < 0)
        status = tulle_fail(TULLE_ERR_IO, "standard input: cannot be replaced: %s", strerror(errno));
    close(fd);
    return status;
}
