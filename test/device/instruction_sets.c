/* SPDX-License-Identifier: Apache-2.0 */
/* Instruction sets that a build has kernels for; argument: `portable` if there should be no other. */
#include <string.h>

#include "device/cpu/cpu.h"
#include "tap.h"

int main(int argc, char **argv)
{
    const int alone = argc > 1 && !strcmp(argv[1], "portable");
    ok(tulle__kernels_cpu_at(TULLE__ISA_PORTABLE) != NULL, "every build has portable kernels");
    for (tulle__isa isa = TULLE__ISA_PORTABLE + 1; isa < TULLE__ISA_COUNT; isa++) {
        const tulle__kernels *kernels = tulle__kernels_cpu_at(isa);
        if (alone)
            ok(!kernels, "no kernels for %s", tulle__isa_name(isa));
        else
            ok(!kernels || kernels->spmm != tulle__kernels_cpu_at(TULLE__ISA_PORTABLE)->spmm,
                "%s: kernels of its own or none", tulle__isa_name(isa));
    }
    tulle__isa best = TULLE__ISA_COUNT;
    while (!tulle__kernels_cpu_at(--best)) continue;
    ok(!strcmp(tulle__kernels_cpu_isa(), tulle__isa_name(best)), "the best set is used: %s", tulle__kernels_cpu_isa());
    ok(tulle__kernels_cpu() == tulle__kernels_cpu_at(best), "its table is the one");
    return tap_done();
}
