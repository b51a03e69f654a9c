/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses and messages: one message a thread, long ones cut, arguments that point into the last one; narrowing. */
#include "base/error.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include <tulle/types.h>

#include "tap.h"

static void test_names(void)
{
    int different = 1;
    for (int s = 0; s < TULLE_STATUS_COUNT; s++)
        for (int t = 0; t < s; t++)
            different &= strcmp(tulle_status_name((tulle_status)s), tulle_status_name((tulle_status)t)) != 0;
    ok(different, "%d statuses have names of their own", (int)TULLE_STATUS_COUNT);
    ok(!strcmp(tulle_status_name(TULLE_OK), "TULLE_OK") && !strcmp(tulle_status_text(TULLE_OK), "success"), "success");
    ok(!strcmp(tulle_status_name(TULLE_ERR_LOST), "TULLE_ERR_LOST"), "the last one");
    ok(!strcmp(tulle_status_name(TULLE_STATUS_COUNT), "unknown status"), "no status");
    ok(!strcmp(tulle_status_text((tulle_status)-1), "unknown status"), "a negative one");
    ok(tulle_type_size(TULLE_F32) == 4 && tulle_type_size(TULLE_F64) == 8, "sizes of types");
    ok(!strcmp(tulle_type_name(TULLE_F32), "f32") && !strcmp(tulle_type_name(TULLE_F64), "f64"), "names of types");
}

static void *other_thread(void *arg)
{
    (void)arg;
    if (*tulle_error_message()) return "a new thread has a message";
    tulle__fail(TULLE_ERR_IO, "the other's");
    return strcmp(tulle_error_message(), "the other's") ? "its own message is lost" : NULL;
}

static void test_messages(void)
{
    tulle__error_clear();
    ok(!*tulle_error_message(), "none at first");
    tulle__fail(TULLE_ERR_ARG, "row " TULLE__AT " of " TULLE__AT TULLE__COUNTED, (int64_t)0, INT64_MAX);
    ok(!strcmp(tulle_error_message_from(0), "row 0 of 9223372036854775807"), "from 0: %s", tulle_error_message_from(0));
    ok(!strcmp(tulle_error_message(), "row 1 of 9223372036854775807 (from 1)"), "from 1: %s", tulle_error_message());
    ok(tulle__fail(TULLE_ERR_ARG, "%s is %d", "x", 3) == TULLE_ERR_ARG, "fail returns its status");
    ok(!strcmp(tulle_error_message(), "x is 3"), "and keeps the message");
    tulle__fail(TULLE_ERR_ARG, "file: %s", tulle_error_message());
    ok(!strcmp(tulle_error_message(), "file: x is 3"), "an argument may be the last message");
    pthread_t thread;
    void *fault = "no thread";
    if (pthread_create(&thread, NULL, other_thread, NULL) == 0) pthread_join(thread, &fault);
    ok(!fault, "%s", fault ? (char *)fault : "each thread has its own");
    ok(!strcmp(tulle_error_message(), "file: x is 3"), "this one's is as it was");
    char text[2 * TULLE_MESSAGE_MAX];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    tulle__error_set(text);
    ok(strlen(tulle_error_message()) == TULLE_MESSAGE_MAX - 1, "a long message is cut");
}

/* Words of files are shown as they are where they are text, and each byte that is not as a question mark. */
static void test_bytes(void)
{
    static const char *const cases[][2] = {{"\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n\t.",
                                               "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\n\t."},
        {"a\x1b[2Jb\x7f\r\x01", "a?[2Jb???"}, {"\x80\xff\xfe", "???"}, {"\xc3", "?"}, {"\xe2\x82", "??"},
        {"\xe2\x82x", "??x"}, {"\xc0\xaf", "??"}, {"\xc2\x9b", "??"}, {"\xe0\x80\x80", "???"}, {"\xed\xa0\x80", "???"},
        {"\xf0\x80\x80\x80", "????"}, {"\xf4\x90\x80\x80", "????"}, {"\xf5\x80\x80\x80", "????"}};
    char text[2 * TULLE_MESSAGE_MAX] = "";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tulle__fail(TULLE_ERR_FORMAT, "%s", cases[i][0]);
        ok(!strcmp(tulle_error_message(), cases[i][1]), "bytes %zu: %s", i, tulle_error_message());
    }
    for (size_t i = 0; i < sizeof text - 1; i++) text[i] = i % 2 ? '\xa9' : '\xc3';
    for (size_t shift = 0; shift < 2; shift++) {
        tulle__fail(TULLE_ERR_FORMAT, "%s%s", shift ? "." : "", text);
        const char *shown = tulle_error_message();
        const size_t bytes = strlen(shown);
        ok(bytes == TULLE_MESSAGE_MAX - 1 && (shown[bytes - 1] == '?' || shown[bytes - 1] == '\xa9'),
            "a cut character is none: %zu bytes", bytes);
    }
}

static void test_narrow(void)
{
    int32_t x = 7;
    ok(tulle__narrow(INT32_MAX, "x", &x) == TULLE_OK && x == INT32_MAX, "the largest index");
    ok(tulle__narrow(INT32_MIN, "x", &x) == TULLE_OK && x == INT32_MIN, "the smallest");
    ok(tulle__narrow((int64_t)INT32_MAX + 1, "the width", &x) == TULLE_ERR_OVERFLOW && x == INT32_MIN, "one more");
    ok(strstr(tulle_error_message(), "the width is 2147483648"), "%s", tulle_error_message());
    ok(tulle__narrow((int64_t)INT32_MIN - 1, "x", &x) == TULLE_ERR_OVERFLOW, "one less");
}

int main(void)
{
    test_names();
    test_messages();
    test_bytes();
    test_narrow();
    return tap_done();
}
