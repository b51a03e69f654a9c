/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function that can fail returns a tulle_status. TULLE_OK is 0. A failing call does not
 * change its outputs and writes one message, with the cause, for the calling thread.
 *
 * Invalid arguments - NULL where the declaration does not allow it, a value outside an enum, a
 * negative size - are TULLE_ERR_ARG, with the function and the argument in the message. In a
 * collective call this status is returned on all PEs, even if a single PE's argument is invalid,
 * provided that this PE passes an object of a comm. Functions without a status then return 0, NULL,
 * zeros, or a text that is empty or "unknown"; void functions do nothing.
 */
#ifndef TULLE_STATUS_H
#define TULLE_STATUS_H

/* Visibility of public symbols. Everything else is hidden. */
#define TULLE_API __attribute__((visibility("default")))

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
    X(ERR_INTERRUPTED, "interrupted by the caller")                                                                    \
    X(ERR_LIMIT, "the memory limit is too low")                                                                        \
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
 * The message of the last failure on this thread, "" if there was none. After tulle_team_run it is
 * the message of the PE that failed first, with its rank if that matters. The thread owns the
 * string, which is valid until its next failure.
 */
TULLE_API const char *tulle_error_message(void);

/*
 * The same, with rows, columns and blocks of matrices counted from `first`: 1, as tulle_error_message counts, or 0.
 * Lines and entries of files are those of the file. The string is valid until the next call of either.
 */
TULLE_API const char *tulle_error_message_from(int first);

/* Bytes of a call's warnings: what is odd but harmless, one a line, without names of options. */
enum { TULLE_WARNINGS_MAX = 1024 };

#ifdef __cplusplus
}
#endif
#endif
