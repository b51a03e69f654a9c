/* SPDX-License-Identifier: Apache-2.0 */
/* The operating system's counts of this process's input, for reports of file reading. */
#ifndef TULLE_TOOL_PROCESS_IO_H
#define TULLE_TOOL_PROCESS_IO_H

#include <stdint.h>

/* Bytes since the process began: returned by read calls, and read from storage. */
struct process_io {
    int64_t asked, storage;
};

/* 0: the system does not count. */
int process_io(struct process_io *io);

#endif
