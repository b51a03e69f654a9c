/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the fuzz targets: the input as a file, and a check that stops the run. */
#ifndef TULLE_TEST_FUZZ_H
#define TULLE_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A path under which the bytes can be opened; the same file each time. */
__attribute__((unused)) static const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

#endif
