/* SPDX-License-Identifier: Apache-2.0 */
/* The spec grammar: parts, keys, values with units, and what is refused with which words. */
#include "base/spec.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static void test_parts(void)
{
    tulle__spec spec;
    ok(tulle__spec_parse("check+net:latency=2us,bw=12G+threads", &spec) == TULLE_OK && spec.nparts == 3, "three parts");
    ok(!strcmp(spec.part[0].name, "check") && !strcmp(spec.part[1].name, "net") &&
            !strcmp(spec.part[2].name, "threads"),
        "in their order");
    ok(spec.part[1].nkeys == 2 && !strcmp(spec.part[1].key[1], "bw") && !strcmp(spec.part[1].value[1], "12G"), "keys");
    ok(tulle__spec_parse("er:n=1e+5", &spec) == TULLE_OK && spec.nparts == 1, "the + of an exponent joins no parts");
    ok(tulle__spec_parse("threads:direct", &spec) == TULLE_OK && !spec.part[0].value[0], "a key alone");
    ok(tulle__spec_parse("threads:", &spec) == TULLE_OK && spec.part[0].nkeys == 0, "no keys after the colon");
}

static void test_refused(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {{"", "has no name"}, {"+threads", "has no name"}, {"a+", "has no name"}, {":x=1", "has no name"},
        {"a:x=1,,y=2", "an empty key"}, {"a:=3", "an empty key"}, {"a:x=1,x=2", "key 'x' given twice"},
        {"a+b+c+d+e+f+g+h+i", "more than 8 parts"},
        {"a:a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y", "more than 24 keys"}};
    tulle__spec spec;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        ok(tulle__spec_parse(cases[c].text, &spec) == TULLE_ERR_ARG && strstr(tulle_error_message(), cases[c].why),
            "'%s': %s", cases[c].text, tulle_error_message());
    char text[TULLE__SPEC_TEXT + 1];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ok(tulle__spec_parse(text, &spec) == TULLE_ERR_ARG && strstr(tulle_error_message(), "over the limit"), "too long");
    text[TULLE__SPEC_TEXT - 1] = '\0';
    ok(tulle__spec_parse(text, &spec) == TULLE_OK, "just not too long");
}

static void test_values(void)
{
    tulle__spec spec;
    int64_t n = 7;
    double x = 7;
    int on = 0;
    const char *word = "before";
    ok(tulle__spec_parse("p:n=-3,x=2.5,b=4Ki,t=3ms,f,g=off,w=word,bad=z,none=", &spec) == TULLE_OK, "a part");
    tulle__spec_part *p = &spec.part[0];
    ok(tulle__spec_int(p, "n", -5, 5, &n) == TULLE_OK && n == -3, "a whole number");
    ok(tulle__spec_int(p, "absent", -5, 5, &n) == TULLE_OK && n == -3, "an absent key leaves the value");
    ok(tulle__spec_real(p, "x", 0, 3, &x) == TULLE_OK && x == 2.5, "a number");
    ok(tulle__spec_bytes(p, "b", &x) == TULLE_OK && x == 4096, "a size");
    ok(tulle__spec_seconds(p, "t", &x) == TULLE_OK && x == 3e-3, "a time");
    ok(tulle__spec_flag(p, "f", &on) == TULLE_OK && on == 1, "a flag alone is on");
    ok(tulle__spec_flag(p, "g", &on) == TULLE_OK && on == 0, "off");
    ok(tulle__spec_flag(p, "bad", &on) == TULLE_ERR_ARG, "%s", tulle_error_message());
    ok(tulle__spec_word(p, "w", &word) == TULLE_OK && !strcmp(word, "word"), "a word");
    ok(tulle__spec_int(p, "none", 0, 1, &n) == TULLE_ERR_ARG && n == -3, "%s", tulle_error_message());
    ok(tulle__spec_int(p, "bad", 0, 1, &n) == TULLE_ERR_ARG && n == -3, "%s", tulle_error_message());
    static const char *const known[] = {"latency", "bw"};
    ok(tulle__spec_done(p, known, 2) == TULLE_OK, "all keys were asked for");
    ok(tulle__spec_parse("net:latncy=2us", &spec) == TULLE_OK, "a slip");
    ok(tulle__spec_done(&spec.part[0], known, 2) == TULLE_ERR_ARG &&
            strstr(tulle_error_message(), "did you mean 'latency'?"),
        "%s", tulle_error_message());
}

static void test_numbers(void)
{
    static const struct {
        const char *text;
        double bytes; /* NAN: refused */
    } sizes[] = {{"512", 512}, {"4K", 4000}, {"4KiB", 4096}, {"1.5M", 1.5e6}, {"2Gi", 0x1p31}, {"1TB", 1e12}, {"0", 0},
        {"-1", NAN}, {"", NAN}, {"G", NAN}, {"4X", NAN}, {"4 K", NAN}, {"inf", NAN}, {"nan", NAN}};
    static const struct {
        const char *text;
        double seconds;
    } times[] = {{"1", 1}, {"2us", 2e-6}, {"10ms", 10e-3}, {"3ns", 3e-9}, {"1s", 1}, {"1h", NAN}, {"-1s", NAN}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        double x = NAN;
        tulle_status status = tulle__parse_bytes(sizes[c].text, "size", &x);
        ok(isnan(sizes[c].bytes) ? status == TULLE_ERR_ARG : status == TULLE_OK && x == sizes[c].bytes, "size '%s'",
            sizes[c].text);
    }
    for (size_t c = 0; c < sizeof times / sizeof *times; c++) {
        double x = NAN;
        tulle_status status = tulle__parse_seconds(times[c].text, "time", &x);
        ok(isnan(times[c].seconds) ? status == TULLE_ERR_ARG : status == TULLE_OK && fabs(x - times[c].seconds) < 1e-15,
            "time '%s'", times[c].text);
    }
    int64_t n = 1;
    double x = 1;
    ok(tulle__parse_int("9223372036854775807", "n", INT64_MIN, INT64_MAX, &n) == TULLE_OK && n == INT64_MAX, "largest");
    ok(tulle__parse_int("9223372036854775808", "n", INT64_MIN, INT64_MAX, &n) == TULLE_ERR_ARG, "one more");
    ok(tulle__parse_int("3x", "n", 0, 9, &n) == TULLE_ERR_ARG && tulle__parse_int("", "n", 0, 9, &n) == TULLE_ERR_ARG,
        "junk and nothing");
    ok(tulle__parse_int("10", "n", 0, 9, &n) == TULLE_ERR_ARG && strstr(tulle_error_message(), "outside 0 to 9"), "%s",
        tulle_error_message());
    ok(tulle__parse_real("1e999", "x", 0, 1, &x) == TULLE_ERR_ARG, "infinite");
    ok(tulle__parse_real("2", "x", 0, 1, &x) == TULLE_ERR_ARG && x == 1, "%s", tulle_error_message());
}

int main(void)
{
    test_parts();
    test_refused();
    test_values();
    test_numbers();
    return tap_done();
}
