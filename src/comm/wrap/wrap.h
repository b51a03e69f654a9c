/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in wrappers, and functions that forward calls to the link below. */
#ifndef TULLE_COMM_WRAP_H
#define TULLE_COMM_WRAP_H

#include "comm/link.h"

extern const tulle__wrapper tulle__wrapper_check;
extern const tulle__wrapper tulle__wrapper_fault;
extern const tulle__wrapper tulle__wrapper_migrate;
extern const tulle__wrapper tulle__wrapper_net;
extern const tulle__wrapper tulle__wrapper_trace;

/* Bytes of a vector transfer. */
static inline size_t tulle__ranges_bytes(int n, const tulle__range *range)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++) bytes += range[i].bytes;
    return bytes;
}

/* Each forwards a call to the inner link. */
uint64_t tulle__forward_get(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, void *local, size_t bytes);
uint64_t tulle__forward_put(
    tulle__link *link, int group, const tulle__place *place, uint64_t at, const void *local, size_t bytes);
uint64_t tulle__forward_getv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
uint64_t tulle__forward_putv(tulle__link *link, int group, const tulle__place *place, int n, const tulle__range *range);
int tulle__forward_ready(tulle__link *link, int group, uint64_t count);
tulle_status tulle__forward_wait(tulle__link *link, int group, uint64_t count);
uint64_t tulle__forward_fetch_add(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__forward_compare_swap(
    tulle__link *link, const tulle__place *place, uint64_t at, uint64_t expected, uint64_t desired);
void tulle__forward_store(tulle__link *link, const tulle__place *place, uint64_t at, uint64_t value);
uint64_t tulle__forward_load(tulle__link *link, const tulle__place *place, uint64_t at);
void *tulle__forward_mapped(tulle__link *link, int rank, int segment);
void *tulle__mapped_own(tulle__link *link, int rank, int segment); /* own rank only: other PEs are not mapped */
int tulle__forward_doze(tulle__link *link, const uint64_t *word, uint64_t value);
void tulle__forward_progress(tulle__link *link);
tulle_status tulle__forward_run_end(tulle__link *link);
void tulle__forward_fini(tulle__link *link); /* frees link, then ends the inner one */

/* Initialises a wrapper's link from the inner one. */
void tulle__wrap(tulle__link *link, const tulle__link_ops *ops, tulle__link *inner);

#endif
