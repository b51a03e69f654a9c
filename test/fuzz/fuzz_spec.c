/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of specs: any text is split or refused with a message, and every value can be asked for in every way. */
#include "base/spec.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tulle__spec spec;
    char *text = malloc(size + 1);
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    if (tulle__spec_parse(text, &spec) == TULLE_OK) {
        REQUIRE(spec.nparts > 0 && spec.nparts <= TULLE__SPEC_PARTS);
        for (int p = 0; p < spec.nparts; p++) {
            tulle__spec_part *part = &spec.part[p];
            REQUIRE(part->name && part->nkeys >= 0 && part->nkeys <= TULLE__SPEC_KEYS);
            const char *known[] = {"latency", "bw", "mem"};
            (void)tulle__spec_done(part, known, 3);
            for (int k = 0; k < part->nkeys; k++) {
                int64_t whole = 1;
                double real = 1;
                int flag = 0;
                const char *word = "";
                (void)tulle__spec_int(part, part->key[k], -5, 5, &whole);
                REQUIRE(whole >= -5 && whole <= 5);
                (void)tulle__spec_real(part, part->key[k], 0, 2, &real);
                REQUIRE(real >= 0 && real <= 2);
                (void)tulle__spec_bytes(part, part->key[k], &real);
                (void)tulle__spec_seconds(part, part->key[k], &real);
                (void)tulle__spec_flag(part, part->key[k], &flag);
                (void)tulle__spec_word(part, part->key[k], &word);
                REQUIRE(real >= 0 && word);
            }
        }
    } else {
        REQUIRE(tulle_error_message()[0]);
    }
    free(text);
    return 0;
}
