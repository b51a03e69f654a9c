/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member of a tar archive that holds a matrix, in an archive that may be packed: POSIX ustar and pax,
 * and GNU's long names and sizes. SuiteSparse's archives hold NAME/NAME.mtx and, for some matrices,
 * NAME/NAME_b.mtx, NAME/NAME_x.mtx and others.
 */
#ifndef TULLE_IO_TAR_H
#define TULLE_IO_TAR_H

#include "io/file/inflate.h"

enum { TULLE__TAR_BLOCK = 512, TULLE__TAR_NAME = 256, TULLE__TAR_LIST = 400 };

typedef struct tulle__tar_member {
    char name[TULLE__TAR_NAME];
    int64_t from, bytes; /* of the unpacked archive */
} tulle__tar_member;

/* True if n bytes begin a tar archive: the checksum of a first header fits. */
int tulle__tar_begins(const unsigned char *head, size_t n);

/*
 * Finds a member by its name, whole or without folders; NULL: the archive's matrix, which is
 * NAME/NAME.mtx, or the only .mtx file. TULLE_ERR_FORMAT, with the names of the members, if there is none
 * or if there are several.
 */
tulle_status tulle__tar_find(const tulle__packed_file *archive, const char *name, tulle__tar_member *member);

/* Names of the .mtx files beside the archive's matrix, separated by ", ", as many as fit. */
tulle_status tulle__tar_others(const tulle__packed_file *archive, char list[TULLE__TAR_LIST]);

#endif
