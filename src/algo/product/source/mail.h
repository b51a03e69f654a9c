/* SPDX-License-Identifier: Apache-2.0 */
/* Letters of any length from each PE to each other, once: how plans tell what one wants of another. */
#ifndef TULLE_PRODUCT_MAIL_H
#define TULLE_PRODUCT_MAIL_H

#include "comm/comm.h"

typedef struct tulle__mail tulle__mail;

tulle_status tulle__mail_new(tulle_comm *comm, tulle__mail **mail);
void tulle__mail_free(tulle__mail *mail);

/* Local. Room for `bytes` at the end of the letter to PE `to`, as long as nothing else is written; and that so many of
 * it have been written, a multiple of 8. */
tulle_status tulle__mail_room(tulle__mail *mail, int to, size_t bytes, char **at);
void tulle__mail_written(tulle__mail *mail, int to, size_t bytes);

/* Collective: everybody gets what is for him. The caller agrees next, and then settles: nobody reads any more. */
tulle_status tulle__mail_exchange(tulle__mail *mail);
void tulle__mail_settle(tulle__mail *mail);

/* What PE `from` has written, 8-byte aligned; lives as long as the mail. */
const char *tulle__mail_read(const tulle__mail *mail, int from, size_t *bytes);
/* Bytes of all that has come. */
size_t tulle__mail_bytes(const tulle__mail *mail);

#endif
