/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-to-all exchange of messages of any length, for plans and analyses. Each PE appends to one
 * message for each PE. Then all PEs learn where the messages lie and get their own from the
 * senders' data segments. A PE moves the bytes meant for it and one record for each PE.
 */
#ifndef TULLE_COMM_ALLTOALLV_H
#define TULLE_COMM_ALLTOALLV_H

#include "comm/comm.h"

typedef struct tulle__alltoallv tulle__alltoallv;

tulle_status tulle__alltoallv_new(tulle_comm *comm, tulle__alltoallv **x);
void tulle__alltoallv_free(tulle__alltoallv *x);

/*
 * Local. workspace: space for `bytes` at the end of the message to PE `to`, valid until the next call.
 * written: that many of them, a multiple of 8, are filled.
 */
tulle_status tulle__alltoallv_reserve(tulle__alltoallv *x, int to, size_t bytes, char **at);
void tulle__alltoallv_written(tulle__alltoallv *x, int to, size_t bytes);

/*
 * Collective: every PE gets its messages. The caller agrees next and then calls release, when no PE
 * reads any more.
 */
tulle_status tulle__alltoallv_exchange(tulle__alltoallv *x);
void tulle__alltoallv_release(tulle__alltoallv *x);

/* The message from PE `from`, 8-byte aligned; valid until x is freed. */
const char *tulle__alltoallv_from(const tulle__alltoallv *x, int from, size_t *bytes);
/* Bytes of all received messages. */
size_t tulle__alltoallv_bytes(const tulle__alltoallv *x);

#endif
