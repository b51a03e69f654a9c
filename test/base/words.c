/* SPDX-License-Identifier: Apache-2.0 */
/* Public words and numbers: types, the nearest word, a program's own failures. */
#include <tulle/words.h>

#include <string.h>

#include "tap.h"

static void test_nearest(void)
{
    static const char *const words[] = {"stationary-a", "stationary-b", "auto", "er"};
    static const struct {
        const char *text, *nearest;
    } cases[] = {{"auto", "auto"}, {"atuo", "auto"}, {"stationry-a", "stationary-a"}, {"stationary-", "stationary-a"},
        {"aut", "auto"}, {"xyz", NULL}, {"", NULL}, {"e", NULL}, {"erx", "er"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const char *near = tulle_nearest_word(cases[c].text, words, 4);
        ok(near == cases[c].nearest || (near && cases[c].nearest && !strcmp(near, cases[c].nearest)),
            "nearest to '%s': %s", cases[c].text, near ? near : "none");
    }
    ok(!tulle_nearest_word("auto", words, 0), "of no words: none");
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ok(!tulle_nearest_word(longest, words, 4), "a text longer than any word has none near");
}

static void test_numbers(void)
{
    int64_t n = 5;
    double x = 5;
    tulle_type type = TULLE_F64;
    ok(tulle_parse_int("-12", "n", -20, 20, &n) == TULLE_OK && n == -12, "a whole number");
    ok(tulle_parse_real("2.5e-1", "x", 0, 1, &x) == TULLE_OK && x == 0.25, "a number");
    ok(tulle_parse_bytes("1.5Ki", "x", &x) == TULLE_OK && x == 1536, "a size");
    ok(tulle_parse_type("f32", &type) == TULLE_OK && type == TULLE_F32, "a type");
    ok(tulle_parse_type("complex", &type) == TULLE_ERR_ARG && type == TULLE_F32, "%s", tulle_error_message());
    ok(tulle_parse_type("Float64", &type) == TULLE_OK && type == TULLE_F64 &&
            tulle_parse_type("single", &type) == TULLE_OK && type == TULLE_F32,
        "NumPy's and BLAS's words");
    ok(tulle_parse_type("F64", &type) == TULLE_OK && type == TULLE_F64, "in capitals");
    ok(tulle_parse_int("12", "the count", 0, 10, &n) == TULLE_ERR_ARG && n == -12, "%s", tulle_error_message());
}

/* Whatever the case; a failure names all there are. */
static void test_word(void)
{
    static const char *const words[] = {"stationary-a", "summa", "er"};
    int found = 7;
    ok(tulle_parse_word("Stationary-A", "algorithm", words, 3, &found) == TULLE_OK && found == 0, "in another case");
    ok(tulle_parse_word("er", "algorithm", words, 3, &found) == TULLE_OK && found == 2, "as it is");
    ok(tulle_parse_word("e", "algorithm", words, 3, &found) == TULLE_ERR_ARG && found == 2,
        "a beginning is another word");
    ok(tulle_parse_word("SUMA", "algorithm", words, 3, &found) == TULLE_ERR_ARG &&
            !strcmp(tulle_error_message(),
                "unknown algorithm 'SUMA'; did you mean 'summa'? There are stationary-a, summa and er"),
        "%s", tulle_error_message());
    ok(tulle_parse_word("xyz", "algorithm", words, 3, &found) == TULLE_ERR_ARG &&
            !strcmp(tulle_error_message(), "unknown algorithm 'xyz'; there are stationary-a, summa and er"),
        "%s", tulle_error_message());
}

int main(void)
{
    test_word();
    test_nearest();
    test_numbers();
    ok(tulle_fail(TULLE_ERR_CHECK, "row %d", 3) == TULLE_ERR_CHECK && !strcmp(tulle_error_message(), "row 3"),
        "a failure of the program's own");
    return tap_done();
}
