/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets that a build has kernels for; argument: `portable` if there should be no other. */
#include <stdio.h>
#include <string.h>

#include "device/cpu/cpu.h"
#include "tap.h"

/* True if the system says that the processor has what kernels of this set take, -1 if it says nothing. */
static int system_says(tulle__isa isa)
{
    static const char *const wanted[TULLE__ISA_COUNT] = {
        [TULLE__ISA_AVX2] = "avx2 fma bmi1 bmi2 popcnt", [TULLE__ISA_AVX512] = "avx512f avx512dq avx512bw avx512vl"};
    static char line[1 << 14];
    FILE *file = fopen("/proc/cpuinfo", "r");
    int has = -1;
    while (file && has < 0 && fgets(line, sizeof line, file)) has = strncmp(line, "flags", 5) ? -1 : 1;
    if (file) fclose(file);
    char words[64], *rest = NULL;
    snprintf(words, sizeof words, "%s", wanted[isa]);
    for (char *word = strtok_r(words, " ", &rest); word && has > 0; word = strtok_r(NULL, " ", &rest)) {
        const char *at = line;
        const size_t length = strlen(word);
        while ((at = strstr(at, word)) && !(at[-1] == ' ' && strchr(" \n", at[length]))) at += length;
        has = at != NULL;
    }
    return has;
}

int main(int argc, char **argv)
{
    const int alone = argc > 1 && !strcmp(argv[1], "portable");
    ok(tulle__kernels_cpu_at(TULLE__ISA_PORTABLE) != NULL, "every build has portable kernels");
    for (tulle__isa isa = TULLE__ISA_PORTABLE + 1; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at(isa);
        if (alone)
            ok(!kernels, "no kernels for %s", tulle__isa_name(isa));
        else if (system_says(isa) >= 0)
            ok(!kernels == !system_says(isa), "%s: taken where the system says that it is there", tulle__isa_name(isa));
        if (!alone)
            ok(!kernels || kernels->spmm != tulle__kernels_cpu_at(TULLE__ISA_PORTABLE)->spmm,
                "%s: kernels of its own or none", tulle__isa_name(isa));
    }
    tulle__isa best = TULLE__ISA_COUNT;
    while (!tulle__kernels_cpu_at(--best)) continue;
    ok(!strcmp(tulle__kernels_cpu_isa(), tulle__isa_name(best)), "the best set is used: %s", tulle__kernels_cpu_isa());
    ok(tulle__kernels_cpu() == tulle__kernels_cpu_at(best), "its table is the one");
    return tap_done();
}
