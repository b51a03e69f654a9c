/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/link.h"

#include "base/clock.h"
#include "base/error.h"

int64_t tulle__link_now(const tulle__link *link)
{
    return link->virtual_time ? link->virtual_time->now_ns(link->clock) : tulle__clock_ns();
}

tulle_status tulle__link_put_signal(tulle__link *link, const tulle__place *place, uint64_t at, const void *local,
    size_t bytes, const tulle__place *word, uint64_t word_at, uint64_t value)
{
    if (link->ops->put_signal) return link->ops->put_signal(link, place, at, local, bytes, word, word_at, value);
    int group = TULLE__GROUPS - 1; /* reserved for this */
    uint64_t count = link->ops->put(link, group, place, at, local, bytes);
    TULLE_CALL(link->ops->wait(link, group, count));
    link->ops->store(link, word, word_at, value);
    return TULLE_OK;
}
