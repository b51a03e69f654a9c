/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures with a message. The function that knows the cause calls tulle__fail; callers return its
 * status.
 */
#ifndef TULLE_BASE_ERROR_H
#define TULLE_BASE_ERROR_H

#include <inttypes.h>
#include <stdint.h>

#include <tulle/status.h>

enum { TULLE_MESSAGE_MAX = 512 };

/*
 * Rows, columns and blocks in messages: TULLE__AT in a format takes an int64_t from 0, and TULLE__COUNTED stands where
 * the message says from which number it counts. tulle_error_message_from gives the numbers; until then they are marked.
 */
#define TULLE__MARK_AT '\x1e'
#define TULLE__MARK_COUNTED '\x1f'
#define TULLE__AT "\x1e%" PRId64
#define TULLE__COUNTED "\x1f"

/* This thread's message with its marks, for another message or another thread. */
const char *tulle__error_marked(void);

/* Stores this thread's message and returns status: `return tulle__fail(...)`. */
tulle_status tulle__fail(tulle_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets this thread's message to another thread's (a pool worker's, a PE's). */
void tulle__error_set(const char *message);

/* Clears this thread's message. */
void tulle__error_clear(void);

/* Returns the failure of a call: the idiom of functions that have nothing to free. */
#define TULLE_CALL(call)                                                                                               \
    do {                                                                                                               \
        const tulle_status status_ = (call);                                                                           \
        if (status_ != TULLE_OK) return status_;                                                                       \
    } while (0)

/* status = f(); jumps to out if it fails: the idiom of functions that free something there. */
#define TULLE_TRY(call)                                                                                                \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != TULLE_OK) goto out;                                                                              \
    } while (0)

/* Singular or plural in a message: "1 entry", "2 entries". */
static inline const char *tulle__plural(int64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Narrows a 64-bit value into a 32-bit index; TULLE_ERR_OVERFLOW with `what` and the figure if it does not fit. */
tulle_status tulle__narrow(int64_t value, const char *what, int32_t *narrow);

#endif
