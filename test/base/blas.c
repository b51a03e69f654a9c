/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of OpenBLAS: those of its oldest processor are left for later ones, which do not change what the user has
 * chosen. `blas asks` prints the advice that there is after loading.
 */
#include "base/host/blas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cpu/dense_calls.h"
#include "tap.h"

extern char *openblas_get_corename(void) __attribute__((weak));

/* The answer of this program, started with the variable. */
static const char *asked(const char *program, const char *variable)
{
    static char line[64];
    char command[1024];
    snprintf(command, sizeof command, "%s '%s' asks", variable, program);
    FILE *pipe = popen(command, "r");
    line[0] = 0;
    if (pipe && !fgets(line, sizeof line, pipe)) line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    return pipe && pclose(pipe) == 0 ? line : "failed";
}

int main(int argc, char **argv)
{
    if (argc > 1) return printf("%s\n", tulle__blas_advice() ? tulle__blas_advice() : "none") < 0;
    tulle_status (*volatile multiply)(tulle__gemm_tiles, tulle__pool *, const tulle__gemm_task *) = tulle__dense_gemm;
    ok(multiply != NULL, "a product of this program, which brings the BLAS into it");
    const char *given = getenv("OPENBLAS_CORETYPE");
    ok(given || !tulle__blas_advice(), "no better kernels than those that were chosen");
    ok(!strcmp(asked(argv[0], "env -u OPENBLAS_CORETYPE"), "none"), "nor in a process without a choice");
    const char *left = asked(argv[0], "OPENBLAS_CORETYPE=Prescott");
    ok(strcmp(left, "failed") != 0, "the user's choice is left alone: %s would be better", left);
#if defined(__x86_64__)
    if (openblas_get_corename && __builtin_cpu_supports("avx2"))
        ok(!strcmp(left, "SkylakeX") || !strcmp(left, "Haswell"), "which goes by the instructions of the processor");
#endif
    ok(getenv("OPENBLAS_CORETYPE") == given, "the environment is as it was");
    return tap_done();
}
