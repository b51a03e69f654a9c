/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call that can fail returns a tulle_status. TULLE_OK is 0; a failing call leaves its outputs
 * untouched and has written one message, with the cause, for the calling thread.
 *
 * Arguments that cannot be meant - NULL where the declaration does not allow it, a value that an enum has not, a
 * negative size - are TULLE_ERR_ARG, with the function and the argument in the message; of a collective call on all
 * PEs, also if only one PE's argument is wrong, as long as that PE hands in anything that belongs to a comm. Functions
 * that return no status then return 0, NULL, zeros, or a text that is empty or "unknown", and those that return nothing
 * do nothing.
 */
#ifndef TULLE_STATUS_H
#define TULLE_STATUS_H

#include <tulle/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, text): the one list of statuses. Higher values are worse: a team reports its worst. */
#define TULLE_STATUS_LIST(X)                                                                                           \
    X(OK, "success")                                                                                                   \
    X(ERR_CHECK, "the result failed its check")                                                                        \
    X(ERR_CONVERGENCE, "an iteration did not converge")                                                                \
    X(ERR_ARG, "invalid argument")                                                                                     \
    X(ERR_FORMAT, "malformed input")                                                                                   \
    X(ERR_UNSUPPORTED, "not supported")                                                                                \
    X(ERR_OVERFLOW, "a number does not fit its type")                                                                  \
    X(ERR_IO, "input or output failed")                                                                                \
    X(ERR_STATE, "call not allowed in this state")                                                                     \
    X(ERR_PEER, "another PE failed")                                                                                   \
    X(ERR_LIMIT, "the memory limit does not suffice")                                                                  \
    X(ERR_MEMORY, "out of memory")                                                                                     \
    X(ERR_COMM, "communication failed")                                                                                \
    X(ERR_LOST, "a PE was lost")

typedef enum tulle_status {
#define TULLE_STATUS_ENUM(name, text) TULLE_##name,
    TULLE_STATUS_LIST(TULLE_STATUS_ENUM)
#undef TULLE_STATUS_ENUM
        TULLE_STATUS_COUNT
} tulle_status;

/* The name of a status ("TULLE_ERR_ARG") and its one-line text. Not collective; static strings. */
TULLE_API const char *tulle_status_name(tulle_status status);
TULLE_API const char *tulle_status_text(tulle_status status);

/*
 * The message of the last failure on this thread, "" if there was none. After tulle_team_run it is the message of
 * the PE that failed first, prefixed with its rank where that matters. The string belongs to the thread and lives until
 * its next failure.
 */
TULLE_API const char *tulle_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
