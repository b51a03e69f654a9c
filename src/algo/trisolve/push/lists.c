/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/trisolve/push/lists.h"

#include <string.h>

#include "base/error.h"
#include "comm/alltoallv.h"

static tulle_status write_lists(tulle__alltoallv *x, int size, const tulle__list_item *list, const int64_t *first)
{
    for (int r = 0; r < size; r++) {
        size_t bytes = (size_t)(first[r + 1] - first[r]) * sizeof *list, padded = (bytes + 7) / 8 * 8;
        char *at;
        if (!bytes) continue;
        TULLE_CALL(tulle__alltoallv_reserve(x, r, padded, &at));
        memcpy(at, list + first[r], bytes);
        memset(at + bytes, 0, padded - bytes); /* less than one item: the receiver knows their number */
        tulle__alltoallv_written(x, r, padded);
    }
    return TULLE_OK;
}

static tulle_status read_lists(const tulle__alltoallv *x, int size, tulle__list_item **got, int64_t *from)
{
    size_t bytes;
    from[0] = 0;
    for (int r = 0; r < size; r++) {
        (void)tulle__alltoallv_from(x, r, &bytes);
        from[r + 1] = from[r] + (int64_t)(bytes / sizeof **got);
    }
    TULLE_CALL(tulle__alloc((size_t)from[size], sizeof **got, "lists of other PEs", got));
    for (int r = 0; r < size; r++) {
        const char *at = tulle__alltoallv_from(x, r, &bytes);
        size_t count = (size_t)(from[r + 1] - from[r]);
        if (count) memcpy(*got + from[r], at, count * sizeof **got);
    }
    return TULLE_OK;
}

tulle_status tulle__lists_exchange(
    tulle_comm *comm, const tulle__list_item *list, const int64_t *first, tulle__list_item **got, int64_t *from)
{
    tulle__alltoallv *x = NULL;
    tulle_status status = tulle__alltoallv_new(comm, &x);
    if (status == TULLE_OK) status = write_lists(x, comm->size, list, first);
    TULLE_TRY(tulle_comm_agree(comm, status));
    status = tulle__alltoallv_exchange(x);
    if (status == TULLE_OK) status = read_lists(x, comm->size, got, from);
    status = tulle_comm_agree(comm, status); /* no PE reads the messages any more */
out:
    tulle__alltoallv_free(x);
    return status;
}
