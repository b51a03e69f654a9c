/* SPDX-License-Identifier: Apache-2.0 */
/* The table of methods. */
#include "algo/trisolve/baselines/baselines.h"
#include "base/arg.h"
#include "base/spec.h"
#include "base/words/names.h"

const tulle__method *tulle__method_of(tulle_trisolve_method method)
{
    /* auto is resolved when a solver is made; until then it gathers like these */
    static const tulle__method *const methods[TULLE_TRISOLVE_METHOD_COUNT] = {
        [TULLE_TRISOLVE_AUTO] = &tulle__method_serial,
        [TULLE_TRISOLVE_SERIAL] = &tulle__method_serial,
        [TULLE_TRISOLVE_LEVELS] = &tulle__method_levels,
        [TULLE_TRISOLVE_CHUNKED] = &tulle__method_chunked,
        [TULLE_TRISOLVE_P2P] = &tulle__method_p2p,
        [TULLE_TRISOLVE_GROWLOCAL] = &tulle__method_growlocal,
        [TULLE_TRISOLVE_SUPERNODAL] = &tulle__method_supernodal,
        [TULLE_TRISOLVE_PUSH] = &tulle__method_push,
        [TULLE_TRISOLVE_UNIFIED] = &tulle__method_unified,
        [TULLE_TRISOLVE_UNIFIED_TASKS] = &tulle__method_unified_tasks,
        [TULLE_TRISOLVE_SHMEM] = &tulle__method_shmem,
        [TULLE_TRISOLVE_ZEROCOPY] = &tulle__method_zerocopy,
    };
    return methods[method];
}

const tulle__method *tulle__method_in_use(const tulle__method_schedule *a)
{
    const tulle__method *method = tulle__method_of(a->method);
    if (!a->on_device) return method;
    return method->together ? method->together : &tulle__method_device;
}

TULLE__WORDS(names, TULLE_TRISOLVE_METHOD_LIST);
TULLE__NAME(tulle_trisolve_method, method, names)
TULLE__PARSE(tulle_trisolve_method, method, names, "method")

#define KERNEL(name, word, text) "solve " word,
static const char *const kernels[] = {TULLE_TRISOLVE_METHOD_LIST(KERNEL)};
#undef KERNEL

const char *tulle__solver_kernel(const tulle_trisolve *solver)
{
    return kernels[solver->now->method];
}
