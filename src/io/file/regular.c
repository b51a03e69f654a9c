/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attend.h"
#include "base/error.h"
#include "base/memory.h"

enum { PIECE = 1 << 22 }; /* bytes between two looks at signals */

tulle_status tulle__regular_open(const char *path, tulle__regular *file)
{
    struct stat info;
    *file = (tulle__regular){.fd = -1};
    TULLE_CALL(tulle__alloc(strlen(path) + 1, 1, "a path", &file->path));
    memcpy(file->path, path, strlen(path) + 1);
    file->fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0) return tulle__fail(TULLE_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return tulle__fail(TULLE_ERR_IO, "%s: is not a regular file", path);
    file->bytes = (int64_t)info.st_size;
    return TULLE_OK;
}

void tulle__regular_close(tulle__regular *file)
{
    if (file->fd >= 0) close(file->fd);
    tulle__free(file->path);
    *file = (tulle__regular){.fd = -1};
}

tulle_status tulle__regular_read(const tulle__regular *file, void *to, size_t bytes, int64_t offset)
{
    char *at = to;
    while (bytes) {
        TULLE_CALL(tulle__attend());
        ssize_t n = pread(file->fd, at, bytes < PIECE ? bytes : PIECE, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return tulle__fail(TULLE_ERR_IO, "%s: reading failed: %s", file->path, strerror(errno));
        if (n == 0) return tulle__fail(TULLE_ERR_IO, "%s: ends early, at byte %" PRId64, file->path, offset);
        at += n;
        offset += n;
        bytes -= (size_t)n;
    }
    return TULLE_OK;
}
