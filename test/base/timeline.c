/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: what is written is JSON, with every span; without memory spans are dropped and counted. */
#include "base/timeline.h"

#include <string.h>

#include "base/memory.h"
#include "tap.h"

/* The end of the JSON value at p, NULL if there is none: enough of RFC 8259 for what a timeline may write. */
static const char *json_value(const char *p);

static const char *json_blank(const char *p)
{
    return p ? p + strspn(p, " \t\r\n") : NULL;
}

static const char *json_string(const char *p)
{
    if (*p++ != '"') return NULL;
    for (; *p != '"'; p++)
        if (*p == '\0' || *p == '\\' || (unsigned char)*p < 0x20) return NULL;
    return p + 1;
}

/* The items of an object or a list, up to `close`. */
static const char *json_items(const char *p, char close)
{
    p = json_blank(p);
    if (*p == close) return p + 1;
    for (;;) {
        if (close == '}') {
            p = json_blank(json_string(json_blank(p)));
            if (!p || *p++ != ':') return NULL;
        }
        p = json_blank(json_value(p));
        if (!p) return NULL;
        if (*p == close) return p + 1;
        if (*p++ != ',') return NULL;
        p = json_blank(p);
    }
}

static const char *json_value(const char *p)
{
    p = json_blank(p);
    if (*p == '{') return json_items(p + 1, '}');
    if (*p == '[') return json_items(p + 1, ']');
    if (*p == '"') return json_string(p);
    if (!strchr("-0123456789", *p) || !*p) return NULL;
    return p + strspn(p, "-+.0123456789eE"); /* strtod knows the program's locale */
}

/* Text that a timeline writes, between brackets. */
static const char *written(const tulle__timeline *timeline, char *text, size_t size)
{
    int first = 1;
    FILE *file = fmemopen(text, size, "w");
    fputc('[', file);
    tulle__timeline_write(timeline, file, 0, tulle__timeline_origin(timeline), &first);
    tulle__timeline_write(NULL, file, 1, 0, &first);
    fputc(']', file);
    fclose(file);
    return text;
}

static int is_json(const char *text)
{
    const char *end = json_blank(json_value(text));
    return end && !*end;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++) n++;
    return n;
}

static void test_spans(char *text, size_t size)
{
    enum { SPANS = 2500 }; /* more than the first room */
    tulle__timeline *timeline;
    if (!ok(tulle__timeline_new(&timeline) == TULLE_OK, "new")) return;
    ok(tulle__timeline_origin(timeline) == INT64_MAX, "an empty one has no origin");
    ok(is_json(written(timeline, text, size)), "an empty one is JSON");
    for (int i = 0; i < SPANS; i++)
        tulle__timeline_span(timeline, i % 2 ? "multiply" : "get", 5000 + i, 6000 + 2 * i, i % 2 ? -1 : i, i % 3);
    ok(tulle__timeline_origin(timeline) == 5000, "the origin is the first start");
    ok(is_json(written(timeline, text, size)), "JSON");
    ok(count(text, "\"ph\":\"X\"") == SPANS && count(text, "\"bytes\":") == SPANS / 2, "every span, bytes where given");
    ok(strstr(text, "\"ts\":0.000,\"dur\":1.000"), "microseconds from the origin");
    tulle__timeline_free(timeline);
}

/* Rows of threads, and kernels with waits. */
static void test_threads(char *text, size_t size)
{
    tulle__timeline *timeline, *row = NULL, *again = NULL, *lane = NULL;
    if (!ok(tulle__timeline_new(&timeline) == TULLE_OK, "new")) return;
    ok(tulle__timeline_thread(NULL, 1, &row) == TULLE_OK && !row, "no row of no timeline");
    ok(tulle__timeline_thread(timeline, 0, &row) == TULLE_OK && row == timeline, "thread 0 writes to the PE's row");
    ok(tulle__timeline_lane(timeline, "copies", &lane) == TULLE_OK, "a lane");
    ok(tulle__timeline_thread(timeline, 2, &row) == TULLE_OK && row != timeline && row != lane &&
            tulle__timeline_thread(timeline, 2, &again) == TULLE_OK && again == row,
        "another thread has one row of its own");
    tulle__busy busy = {row, "kernel", 1000};
    tulle__busy_waited(&busy, 1500, 1500 + TULLE__WAIT_SHOWN - 1);
    ok(!count(written(timeline, text, size), "\"ph\":\"X\""), "a short wait is part of the kernel");
    tulle__busy_waited(&busy, 5000, 5000 + TULLE__WAIT_SHOWN);
    tulle__busy_waited(&busy, 5000 + TULLE__WAIT_SHOWN, 9000);
    tulle__busy_end(&busy, 10000);
    ok(is_json(written(timeline, text, size)) && strstr(text, "\"PE 0 thread 2\"") && strstr(text, "\"PE 0 copies\""),
        "rows have names");
    ok(count(text, "\"kernel\"") == 2 && count(text, "\"wait for rows\"") == 2 &&
            strstr(text, "\"name\":\"kernel\",\"pid\":0,\"tid\":2097152,\"ts\":0.000,\"dur\":4.000") &&
            strstr(text, "\"ts\":8.000,\"dur\":1.000"),
        "a kernel, two waits, and what is left of the kernel");
    tulle__busy none = {NULL, "kernel", 0};
    tulle__busy_waited(&none, 0, 1 << 20);
    tulle__busy_end(&none, 1 << 20);
    ok(none.since == 0, "what is not traced costs nothing");
    tulle__timeline_free(timeline);
}

static void test_no_memory(char *text, size_t size)
{
    tulle__timeline *timeline = NULL;
    tulle__account *account = tulle__account_current();
    tulle__account_fail_after(account, 0);
    ok(tulle__timeline_new(&timeline) == TULLE_ERR_MEMORY && !timeline, "none without memory");
    if (!ok(tulle__timeline_new(&timeline) == TULLE_OK, "new")) return;
    tulle__account_fail_after(account, 0);
    tulle__timeline_span(timeline, "lost", 1, 2, -1, -1);
    tulle__timeline_span(timeline, "kept", 3, 4, -1, -1);
    ok(is_json(written(timeline, text, size)) && strstr(text, "kept") && !strstr(text, "lost"), "a span is dropped");
    ok(strstr(text, "1 spans dropped"), "and counted");
    tulle__timeline_free(timeline);
}

int main(void)
{
    enum { SIZE = 1 << 20 };
    static char text[SIZE];
    test_spans(text, SIZE);
    test_threads(text, SIZE);
    test_no_memory(text, SIZE);
    tulle__timeline_span(NULL, "nothing", 0, 1, -1, -1);
    tulle__timeline_free(NULL);
    ok(tulle__timeline_origin(NULL) == INT64_MAX, "no timeline");
    ok(!is_json("[1,]") && !is_json("{\"a\" 1}") && is_json("[{\"a\":[1,-2.5e3]}]"), "the checker itself");
    ok(tulle__account_blocks(tulle__account_current()) == 0, "nothing leaks");
    return tap_done();
}
