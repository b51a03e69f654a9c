/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_TOOL_PROCESS_EXIT_STATUS_H
#define TULLE_TOOL_PROCESS_EXIT_STATUS_H

/* Exit status of the command. */
enum { EXIT_DONE = 0, EXIT_CHECK = 1, EXIT_USAGE = 2, EXIT_RESOURCES = 3, EXIT_LOST = 4 };

#endif
