/* SPDX-License-Identifier: Apache-2.0 */
#include <tulle/model.h>

#include "base/arg.h"

/* The fraction that a PE of `threads` threads has of a rate measured with all threads. */
static double share(const tulle_machine *machine, int threads)
{
    return threads < machine->threads ? (double)threads / machine->threads : 1;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static tulle_roofline local_roof(const tulle_machine *machine, int threads, tulle_type type, double flops, double bytes)
{
    tulle_roofline roof = {.intensity = bytes > 0 ? flops / bytes : 0};
    roof.rate = share(machine, threads) * smaller(machine->fma[type], roof.intensity * machine->stream);
    return roof;
}

tulle_roofline tulle_roofline_spmm(
    const tulle_machine *machine, int threads, tulle_type type, double m, double k, double nnz, double n)
{
    if (TULLE__NULL(machine) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1)) return (tulle_roofline){.rate = 0};
    double w = (double)tulle_type_size(type), rows = smaller(k, nnz);
    double bytes = nnz * (w + sizeof(tulle_lidx)) + sizeof(int64_t) * (m + 1) + w * (m * n + rows * n);
    return local_roof(machine, threads, type, 2 * nnz * n, bytes);
}

tulle_roofline tulle_roofline_spgemm(const tulle_machine *machine, int threads, tulle_type type, double cf)
{
    if (TULLE__NULL(machine) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1)) return (tulle_roofline){.rate = 0};
    double b = (double)(tulle_type_size(type) + sizeof(tulle_lidx));
    return local_roof(machine, threads, type, 2 * cf, (3 + 2 * cf) * b);
}

tulle_roofline tulle_roofline_gemm(
    const tulle_machine *machine, int threads, tulle_type type, double m, double k, double n)
{
    if (TULLE__NULL(machine) || TULLE__OUTSIDE(type, TULLE_TYPE_COUNT - 1)) return (tulle_roofline){.rate = 0};
    double w = (double)tulle_type_size(type);
    return local_roof(machine, threads, type, 2 * m * k * n, w * (m * k + k * n + m * n));
}

tulle_roofline tulle_roofline_network(const tulle_machine *machine, int pes, double local, double flops, double bytes)
{
    if (TULLE__NULL(machine)) return (tulle_roofline){.rate = 0};
    int far = machine->node_pes && pes > machine->node_pes && machine->tier[TULLE_OTHER_NODE].bandwidth > 0;
    tulle_roofline roof = {.intensity = bytes > 0 ? flops / bytes : 0, .rate = local};
    double bandwidth = machine->tier[far ? TULLE_OTHER_NODE : TULLE_SAME_NODE].bandwidth;
    if (bytes > 0 && bandwidth > 0) roof.rate = smaller(local, roof.intensity * bandwidth);
    return roof;
}
