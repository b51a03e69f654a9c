/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of compression and the libraries that undo them. A kind is a row of the table in packing.c; a
 * library that the build lacks leaves its kind without an unpacker, and files of it are refused by name.
 */
#ifndef TULLE_IO_UNPACKER_H
#define TULLE_IO_UNPACKER_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

/* The outcome of a step. */
enum tulle__step { STEP_GOES_ON, STEP_MEMBER_ENDS, STEP_DAMAGED, STEP_NO_MEMORY };

typedef struct tulle__unpacker {
    const char *name;
    tulle_status (*open)(int raw, void **state);
    /* Decompresses from [*in, *in + *nin) to [*out, *out + *nout) and advances all four. */
    enum tulle__step (*step)(void *state, const unsigned char **in, size_t *nin, unsigned char **out, size_t *nout);
    tulle_status (*next_member)(void *state);
    void (*close)(void *state);
} tulle__unpacker;

typedef struct tulle__packing {
    const char *name;                 /* "gzip" */
    const char *package;              /* a library that reads it, for messages */
    const tulle__unpacker *unpackers; /* the best first, terminated by one without a name */
    /* NULL: a member may begin with these n bytes, else why not; fewer than 6 may be left of the file. */
    const char *(*member)(const unsigned char *head, size_t n);
    int ratio;   /* of bytes unpacked to bytes packed, at most; 0: unknown */
    int padding; /* members may be followed by groups of this many zeros; 0: no */
} tulle__packing;

/* Data that are not packed, as an archive in a plain file: it ends where the file does. */
extern const tulle__packing tulle__not_packed;

/* The table; NULL past its last row. */
const tulle__packing *tulle__packing_at(int i);

/* The kind of a file that begins with these bytes; NULL: it is not packed, or by none of the kinds here. */
const tulle__packing *tulle__packing_of(const unsigned char *head, size_t n);

extern const tulle__unpacker tulle__unpackers_gzip[], tulle__unpackers_bzip2[], tulle__unpackers_xz[],
    tulle__unpackers_zstd[];

#endif
