/* SPDX-License-Identifier: Apache-2.0 */
/* What the system counts of this process's input, for reports of what is read from files. */
#ifndef TULLE_TOOL_PROCESS_IO_H
#define TULLE_TOOL_PROCESS_IO_H

#include <stdint.h>

/* Bytes since the process began: that reading calls returned, and that storage was read for. */
struct process_io {
    int64_t asked, storage;
};

/* 0: the system does not count. */
int process_io(struct process_io *io);

#endif
