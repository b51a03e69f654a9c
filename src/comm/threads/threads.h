/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TULLE_COMM_THREADS_H
#define TULLE_COMM_THREADS_H

#include "comm/link.h"

extern const tulle__engine tulle__engine_threads;

#endif
