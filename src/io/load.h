/* SPDX-License-Identifier: Apache-2.0 */
/* What reading and inspecting share. */
#ifndef TULLE_IO_LOAD_H
#define TULLE_IO_LOAD_H

#include <tulle/io.h>

#include "io/mtx.h"

/* The reader's options out of the public ones; NULL: the defaults. */
tulle__mtx_options tulle__mtx_options_for(const tulle_read_options *options);

#endif
