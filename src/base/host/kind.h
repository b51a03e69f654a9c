/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a machine: figures that are measured on one are those of all of its kind, whatever their names. */
#ifndef TULLE_BASE_KIND_H
#define TULLE_BASE_KIND_H

#include <stddef.h>
#include <stdint.h>

enum { TULLE__KIND_MAX = 192 };

/*
 * The kind as a line of text: processor, cores that may be used, second- and third-level caches, memory rounded up to a
 * power of two (the firmware takes a little of it, differently on equal nodes), version of the library. `root` is ""
 * for this machine; tests read the files of another one below a folder.
 */
void tulle__machine_kind(const char *root, int cores, char text[TULLE__KIND_MAX]);

/* 32 bits of a text, for the name of a file (FNV-1a). */
uint32_t tulle__kind_hash(const char *text);

#endif
