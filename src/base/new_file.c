/* SPDX-License-Identifier: Apache-2.0 */
#include "base/new_file.h"
#include "base/attend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"

enum { PIECE = 1 << 22 }; /* bytes between two looks at signals */

static tulle_status copy_path(const char *path, size_t extra, char **copy)
{
    TULLE_CALL(tulle__alloc(strlen(path) + 1 + extra, 1, "a path", copy));
    memcpy(*copy, path, strlen(path) + 1);
    return TULLE_OK;
}

tulle_status tulle__new_file_fail(const tulle__new_file *f, const char *what)
{
    const char *left = !f->temporary ? "what was written before is incomplete"
                       : f->replaces ? "the file that had this name is as it was"
                                     : "nothing of it is left behind";
    return tulle__fail(TULLE_ERR_IO, "%s: %s failed: %s; %s", f->path, what, strerror(errno), left);
}

static tulle_status cannot(const char *path, const char *what)
{
    return tulle__fail(TULLE_ERR_IO, "%s: %s failed: %s", path, what, strerror(errno));
}

/*
 * Opens an unnamed file in the target's folder: a writer that is killed leaves nothing behind. Not
 * every file system has them.
 */
static int open_unnamed(tulle__new_file *f)
{
    const char *slash = strrchr(f->path, '/');
    size_t n = slash ? (size_t)(slash - f->path) + (slash == f->path) : 0;
    char folder[PATH_MAX];
    if (n >= sizeof folder) return -1;
    memcpy(folder, f->path, n);
    folder[n] = '\0';
    int fd = open(n ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    snprintf(f->unnamed, sizeof f->unnamed, "/proc/self/fd/%d", fd);
    if (access(f->unnamed, W_OK) == 0) return fd;
    f->unnamed[0] = '\0'; /* without /proc it could not be named later */
    close(fd);
    return -1;
}

/* Creates a new file beside the target. mkstemp would ignore the umask's rights. */
static tulle_status create_beside(tulle__new_file *f)
{
    enum { SUFFIX = 48, ATTEMPTS = 100, NAME = 255 }; /* NAME: the longest name of file systems */
    TULLE_CALL(copy_path(f->path, SUFFIX, &f->temporary));
    const char *slash = strrchr(f->path, '/');
    size_t n = strlen(f->path), folder = slash ? (size_t)(slash - f->path) + 1 : 0;
    if (n - folder > NAME - SUFFIX) n = folder + NAME - SUFFIX;
    f->fd = open_unnamed(f);
    if (f->fd >= 0)
        snprintf(f->temporary + n, SUFFIX, ".part-%ld-%llx", (long)getpid(), (unsigned long long)tulle__clock_ns());
    for (int attempt = 0; f->fd < 0 && attempt < ATTEMPTS; attempt++) {
        snprintf(f->temporary + n, SUFFIX, ".part-%ld-%llx", (long)getpid(), (unsigned long long)tulle__clock_ns());
        f->fd = open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (f->fd < 0 && errno != EEXIST) break;
    }
    if (f->fd >= 0) return TULLE_OK;
    tulle_status status = cannot(f->path, "creating a file beside it");
    tulle__free(f->temporary);
    f->temporary = NULL;
    return status;
}

/* Replaces the file that a link points to, not the link. */
static tulle_status follow_links(tulle__new_file *f)
{
    char *real = realpath(f->path, NULL);
    if (!real) return TULLE_OK;
    tulle__free(f->path);
    f->path = NULL;
    tulle_status status = copy_path(real, 0, &f->path);
    free(real);
    return status;
}

/* trial: opens only regular files. */
static tulle_status create(const char *path, int trial, tulle__new_file *f)
{
    struct stat info;
    int exists = stat(path, &info) == 0, regular = exists && S_ISREG(info.st_mode);
    tulle_status status;
    *f = (tulle__new_file){.fd = -1, .replaces = exists};
    if (!exists && (errno != ENOENT || !*path)) return cannot(path, "opening it for writing");
    if (exists && S_ISDIR(info.st_mode)) return tulle__fail(TULLE_ERR_IO, "%s: is a directory", path);
    if (exists && access(path, W_OK) != 0) return cannot(path, "opening it for writing");
    TULLE_TRY(copy_path(path, 0, &f->path));
    if (exists && !regular) {
        if (!trial) f->fd = open(path, O_WRONLY | O_CLOEXEC);
        if (!trial && f->fd < 0) TULLE_TRY(cannot(path, "opening it for writing"));
        return TULLE_OK;
    }
    if (exists) TULLE_TRY(follow_links(f));
    TULLE_TRY(create_beside(f));
    if (exists) (void)fchmod(f->fd, info.st_mode & 07777);
out:
    if (status != TULLE_OK) tulle__new_file_abort(f);
    return status;
}

tulle_status tulle__new_file_try(const char *path)
{
    tulle__new_file file;
    TULLE_CALL(create(path, 1, &file));
    tulle__new_file_abort(&file);
    return TULLE_OK;
}

tulle_status tulle__new_file_open(const char *path, tulle__new_file *file)
{
    return create(path, 0, file);
}

tulle_status tulle__new_file_standard(tulle__new_file *f)
{
    *f = (tulle__new_file){.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)};
    if (f->fd < 0) return cannot("standard output", "writing to it");
    tulle_status status = copy_path("standard output", 0, &f->path);
    if (status != TULLE_OK) tulle__new_file_abort(f);
    return status;
}

/* A link cannot replace a file, a rename can: so a temporary name comes first. */
static int name_it(tulle__new_file *f)
{
    if (!f->unnamed[0]) return 0;
    if (linkat(AT_FDCWD, f->unnamed, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) != 0) return -1;
    f->unnamed[0] = '\0';
    return 0;
}

const char *tulle__new_file_name(tulle__new_file *f)
{
    (void)name_it(f); /* if it fails, opening the name reports it */
    return f->temporary ? f->temporary : f->path;
}

tulle_status tulle__new_file_write(tulle__new_file *f, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes) {
        TULLE_CALL(tulle__attend());
        ssize_t n = write(f->fd, p, bytes < PIECE ? bytes : PIECE);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__new_file_fail(f, "writing");
        p += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

tulle_status tulle__new_file_overwrite(tulle__new_file *f, int64_t offset, const void *data, size_t bytes)
{
    const char *p = data;
    while (bytes) {
        TULLE_CALL(tulle__attend());
        ssize_t n = pwrite(f->fd, p, bytes < PIECE ? bytes : PIECE, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__new_file_fail(f, "writing");
        p += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}

static void destroy(tulle__new_file *f)
{
    if (f->fd >= 0) close(f->fd);
    tulle__free(f->temporary);
    tulle__free(f->path);
    *f = (tulle__new_file){.fd = -1};
}

tulle_status tulle__new_file_close(tulle__new_file *f)
{
    tulle_status status = TULLE_OK;
    if (name_it(f) != 0) TULLE_TRY(tulle__new_file_fail(f, "naming the finished file"));
    int code = close(f->fd);
    f->fd = -1;
    if (code != 0) TULLE_TRY(tulle__new_file_fail(f, "closing"));
    if (f->temporary && rename(f->temporary, f->path) != 0)
        TULLE_TRY(tulle__new_file_fail(f, "renaming the finished file"));
    destroy(f);
    return TULLE_OK;
out:
    tulle__new_file_abort(f);
    return status;
}

void tulle__new_file_abort(tulle__new_file *f)
{
    if (f->temporary && !f->unnamed[0]) (void)unlink(f->temporary);
    destroy(f);
}
