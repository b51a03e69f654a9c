/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include "base/arg.h"
#include "base/decimal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tulle/types.h>

/* Thread-local, as a message has to outlive a failing call. */
static _Thread_local char last_message[TULLE_MESSAGE_MAX];
static _Thread_local char shown_message[TULLE_MESSAGE_MAX]; /* its last rendering */

static const char *const status_names[] = {
#define STATUS_NAME(name, text) "TULLE_" #name,
    TULLE_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
};

static const char *const status_texts[] = {
#define STATUS_TEXT(name, text) text,
    TULLE_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
};

const char *tulle_status_name(tulle_status status)
{
    return (unsigned)status < TULLE_STATUS_COUNT ? status_names[status] : "unknown status";
}

const char *tulle_status_text(tulle_status status)
{
    return (unsigned)status < TULLE_STATUS_COUNT ? status_texts[status] : "unknown status";
}

const char *tulle__error_marked(void)
{
    return last_message;
}

/* Replaces the marked number at *from: index + first. */
static size_t put_index(char *to, size_t capacity, const char **from, int first)
{
    char *end;
    const int64_t index = strtoll(*from, &end, 10);
    const int written =
        end == *from ? 0 : snprintf(to, capacity, "%" PRId64, index < INT64_MAX ? index + first : index);
    *from = end;
    return (size_t)written < capacity ? (size_t)written : capacity - 1;
}

/* Bytes of the character at p; 0: it is a control character, or not UTF-8, as words of a broken file may be. */
static size_t printable_bytes(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    const unsigned lead = u[0], next = lead < 0x80 ? 0 : u[1];
    const size_t bytes = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if ((lead < ' ' && lead != '\n' && lead != '\t') || lead == 0x7f) return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((u[i] & 0xc0) != 0x80) return 0;
    /* controls; longer than need be; surrogates; beyond the last character */
    const bool is_none = (lead == 0xc2 && next < 0xa0) || (lead == 0xe0 && next < 0xa0) ||
                         (lead == 0xed && next > 0x9f) || (lead == 0xf0 && next < 0x90) ||
                         (lead == 0xf4 && next > 0x8f);
    return is_none ? 0 : bytes;
}

/* Copies the character at *from, or a question mark for what is none. */
static size_t put_character(char *to, size_t capacity, const char **from)
{
    const size_t bytes = printable_bytes(*from), fits = bytes < capacity ? bytes : 0;
    memcpy(to, fits ? *from : "?", fits ? fits : 1);
    *from += bytes ? bytes : 1;
    return fits ? fits : 1;
}

const char *tulle_error_message_from(int first)
{
    size_t used = 0;
    for (const char *p = last_message; *p && used + 1 < sizeof shown_message;) {
        const size_t capacity = sizeof shown_message - used;
        const char mark = *p;
        if (mark == TULLE__MARK_AT) {
            p++;
            used += put_index(shown_message + used, capacity, &p, first);
        } else if (mark == TULLE__MARK_COUNTED) {
            p++;
            const int written = first ? snprintf(shown_message + used, capacity, " (from %d)", first) : 0;
            used += (size_t)written < capacity ? (size_t)written : capacity - 1;
        } else {
            used += put_character(shown_message + used, capacity, &p);
        }
    }
    shown_message[used] = '\0';
    return shown_message;
}

const char *tulle_error_message(void)
{
    return tulle_error_message_from(1);
}

tulle_status tulle__fail(tulle_status status, const char *format, ...)
{
    char text[TULLE_MESSAGE_MAX]; /* as an argument may point into last_message */
    va_list args;
    va_start(args, format);
    tulle__decimal_vformat(text, sizeof text, format, args);
    va_end(args);
    tulle__error_set(text);
    return status;
}

void tulle__error_set(const char *message)
{
    snprintf(last_message, sizeof last_message, "%s", message);
}

void tulle__error_clear(void)
{
    last_message[0] = '\0';
}

int tulle__arg_null(const char *function, const char *name)
{
    tulle__fail(TULLE_ERR_ARG, "%s: %s is NULL", function, name);
    return 1;
}

int tulle__arg_outside(const char *function, const char *name, int value, int last)
{
    tulle__fail(TULLE_ERR_ARG, "%s: %s is %d, which is none of its values 0 to %d", function, name, value, last);
    return 1;
}

int tulle__arg_negative(const char *function, const char *name, int64_t value)
{
    tulle__fail(TULLE_ERR_ARG, "%s: %s is %" PRId64 ", and must not be negative", function, name, value);
    return 1;
}

tulle_status tulle__narrow(int64_t value, const char *what, int32_t *narrow)
{
    if (value < INT32_MIN || value > INT32_MAX)
        return tulle__fail(
            TULLE_ERR_OVERFLOW, "%s is %" PRId64 ", over the limit of %" PRId32 " of a tile", what, value, INT32_MAX);
    *narrow = (int32_t)value;
    return TULLE_OK;
}

size_t tulle_type_size(tulle_type type)
{
    return type == TULLE_F32 ? sizeof(float) : type == TULLE_F64 ? sizeof(double) : 0;
}

const char *tulle_type_name(tulle_type type)
{
    return type == TULLE_F32 ? "f32" : type == TULLE_F64 ? "f64" : "unknown type";
}
