/* SPDX-License-Identifier: Apache-2.0 */
/* Binary searches. `holds` is a condition on `middle`, which each search declares; it holds up to a place, and not from
 * there on. */
#ifndef TULLE_BASE_BISECT_H
#define TULLE_BASE_BISECT_H

/* Makes `low` the first place from low on, and before `high`, for which it does not hold; `high` if there is none. */
#define TULLE__PARTITION_POINT(low, high, middle, holds)                                                               \
    for (__typeof__(low) end_ = (high); low < end_;) {                                                                 \
        const __typeof__(low) middle = low + (end_ - low) / 2;                                                         \
        if (holds)                                                                                                     \
            low = middle + 1;                                                                                          \
        else                                                                                                           \
            end_ = middle;                                                                                             \
    }

/* Makes `low` the last place from low on, and before `high`, for which it holds; it is taken to hold for low. */
#define TULLE__LAST_WHERE(low, high, middle, holds)                                                                    \
    for (__typeof__(low) end_ = (high); end_ - low > 1;) {                                                             \
        const __typeof__(low) middle = low + (end_ - low) / 2;                                                         \
        *((holds) ? &low : &end_) = middle;                                                                            \
    }

#endif
