/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-to-all of messages of any length, which plans and analyses need once. Each PE appends to one message for each
 * other; all learn where the messages lie and get their own out of the senders' data segments. A PE moves the bytes
 * that are meant for it and one record a PE.
 */
#ifndef TULLE_COMM_ALLTOALLV_H
#define TULLE_COMM_ALLTOALLV_H

#include "comm/comm.h"

typedef struct tulle__alltoallv tulle__alltoallv;

tulle_status tulle__alltoallv_new(tulle_comm *comm, tulle__alltoallv **x);
void tulle__alltoallv_free(tulle__alltoallv *x);

/*
 * Local. Room for `bytes` at the end of the message to PE `to`, valid until the next call; and that so many of them, a
 * multiple of 8, have been written.
 */
tulle_status tulle__alltoallv_room(tulle__alltoallv *x, int to, size_t bytes, char **at);
void tulle__alltoallv_written(tulle__alltoallv *x, int to, size_t bytes);

/* Collective: every PE gets its messages. The caller agrees next, and then releases: nobody reads any more. */
tulle_status tulle__alltoallv_exchange(tulle__alltoallv *x);
void tulle__alltoallv_release(tulle__alltoallv *x);

/* The message of PE `from`, 8-byte aligned; lives until x is freed. */
const char *tulle__alltoallv_from(const tulle__alltoallv *x, int from, size_t *bytes);
/* Bytes of all messages that were received. */
size_t tulle__alltoallv_bytes(const tulle__alltoallv *x);

#endif
