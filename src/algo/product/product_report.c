/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/product/product_report.h"

#include "algo/product/plan/sources.h"
#include "algo/product/run/runner.h"
#include "algo/product/source/norm_source.h"
#include "algo/product/source/operand_cache.h"
#include "algo/product/stage/phase.h"
#include "base/arg.h"
#include "base/error.h"
#include "base/memory.h"

static tulle_imbalance spread_of(const double *all, int size, int stride)
{
    tulle_imbalance s = {all[0], 0};
    for (int r = 0; r < size; r++) {
        double v = all[r * stride];
        if (v > s.max) s.max = v;
        s.mean += v / size;
    }
    return s;
}

static tulle_imbalance add_spreads(tulle_imbalance x, tulle_imbalance y)
{
    return (tulle_imbalance){x.max + y.max, x.mean + y.mean};
}

static void add_device(tulle_device_work *sum, const tulle_device_work *one)
{
    for (int c = 0; c < 3; c++) {
        sum->copies[c] += one->copies[c];
        sum->bytes[c] += one->bytes[c];
        sum->copy_seconds[c] += one->copy_seconds[c];
    }
    sum->kernels += one->kernels;
    sum->hits += one->hits;
    sum->kernel_seconds += one->kernel_seconds;
    sum->refused |= one->refused;
}

void tulle_product_report_add(tulle_product_report *sum, const tulle_product_report *one)
{
    if (TULLE__NULL(sum) || TULLE__NULL(one)) return;
    tulle_product_report before = *sum;
    double flops = (double)(before.flops + one->flops), share = flops > 0 ? (double)one->flops / flops : 0;
    *sum = *one;
    if (!before.phases) return; /* it described none */
    double largest = one->largest_unit * share, largest_before = before.largest_unit * (1 - share);
    sum->seconds += before.seconds;
    sum->compute = add_spreads(before.compute, one->compute);
    sum->communicate = add_spreads(before.communicate, one->communicate);
    sum->accumulate = add_spreads(before.accumulate, one->accumulate);
    sum->wait = add_spreads(before.wait, one->wait);
    if (flops > 0) {
        sum->load_imbalance = before.load_imbalance * (1 - share) + one->load_imbalance * share;
        sum->largest_unit = largest > largest_before ? largest : largest_before;
    }
    sum->flops += before.flops;
    sum->bytes_moved += before.bytes_moved;
    sum->messages += before.messages;
    sum->partials += before.partials;
    sum->units += before.units;
    sum->stolen += before.stolen;
    sum->probes += before.probes;
    sum->nnz_c += before.nnz_c;
    sum->skipped_products += before.skipped_products;
    sum->filtered_blocks += before.filtered_blocks;
    sum->unfetched_blocks += before.unfetched_blocks;
    sum->unfetched_bytes += before.unfetched_bytes;
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) sum->kernel_flops[q] += before.kernel_flops[q];
    add_device(&sum->device, &before.device);
    for (int c = 0; c < 3; c++) {
        sum->blocks.copies[c] += before.blocks.copies[c];
        sum->blocks.bytes[c] += before.blocks.bytes[c];
    }
    sum->blocks.network += before.blocks.network;
    sum->reused = before.reused && one->reused;
}

enum {
    SECONDS,
    COMPUTE,
    COMMUNICATE,
    ACCUMULATE,
    WAIT,
    WORK,
    LARGEST,
    BYTES,
    MESSAGES,
    PARTIALS,
    UNITS,
    STOLEN,
    PROBES,
    WHOLE,
    ROWS,
    COVERS,
    GREEDY,
    PAIR_BYTES,
    BOUND,
    UPLOADS,
    DOWNLOADS,
    PEER_COPIES,
    UP_BYTES,
    DOWN_BYTES,
    PEER_BYTES,
    UP_SECONDS,
    DOWN_SECONDS,
    PEER_SECONDS,
    KERNELS,
    KERNEL_SECONDS,
    HITS,
    REFUSED,
    SKIPPED,
    FILTERED,
    UNFETCHED,
    UNFETCHED_BYTES,
    BY_KERNEL,
    BLOCK_UPLOADS = BY_KERNEL + TULLE_BLOCK_KERNELS,
    BLOCK_DOWNLOADS,
    BLOCK_PEER_COPIES,
    BLOCK_UP_BYTES,
    BLOCK_DOWN_BYTES,
    BLOCK_PEER_BYTES,
    BLOCK_NETWORK,
    FACTS
};

static int64_t sum_of(const double *all, int size, int stride)
{
    return (int64_t)(spread_of(all, size, stride).mean * size + 0.5);
}

/* Bytes that jobs in blocks fetch, by the model. */
static int64_t network_of(const tulle_product *plan)
{
    if (!plan->order || !plan->sources->cache) return 0;
    return tulle__operand_cache_is_limited(plan->sources->cache) ? plan->order->network_again
                                                                 : plan->order->network_once;
}

tulle_status tulle__product_report_make(tulle_product *plan, const tulle__exec *x, int64_t elapsed,
    const tulle__counters *moved, tulle_product_report *report)
{
    int size = plan->comm->size;
    const tulle__phase_figures range = tulle__phases_figures(plan);
    const tulle_gemm_blocks none = {.rows = 0}, *blocks = plan->order ? &plan->order->shape : &none;
    TULLE__SCOPED double *all = NULL;
    double mine[FACTS];
    TULLE_CALL(tulle__alloc((size_t)size * FACTS, sizeof *all, "report", &all));
    mine[SECONDS] = (double)elapsed * 1e-9;
    mine[COMPUTE] = (double)x->compute_ns * 1e-9;
    mine[COMMUNICATE] = (double)x->communicate_ns * 1e-9;
    mine[ACCUMULATE] = (double)x->inbox.accumulate_ns * 1e-9;
    mine[WAIT] = (double)x->wait_ns * 1e-9;
    mine[WORK] = (double)plan->figures.multiplications;
    mine[LARGEST] = plan->figures.largest;
    mine[BYTES] = (double)moved->bytes;
    mine[MESSAGES] = (double)(moved->gets + moved->puts);
    mine[PARTIALS] = (double)x->inbox.sent;
    mine[UNITS] = (double)x->units;
    mine[STOLEN] = (double)x->stolen;
    mine[PROBES] = (double)x->probes;
    tulle__required_figures figures = tulle__required_count(plan->sources->required);
    mine[WHOLE] = (double)figures.whole;
    mine[ROWS] = (double)figures.rows;
    mine[COVERS] = (double)figures.covers;
    mine[GREEDY] = (double)figures.greedy;
    mine[PAIR_BYTES] = (double)figures.bytes;
    mine[BOUND] = (double)figures.bound;
    tulle_device_work done = plan->runner->ops->work(plan->runner), before = x->devices_before;
    for (int c = 0; c < 3; c++) {
        mine[UPLOADS + c] = (double)(done.copies[c] - before.copies[c]);
        mine[UP_BYTES + c] = (double)(done.bytes[c] - before.bytes[c]);
        mine[BLOCK_UPLOADS + c] = (double)blocks->copies[c];
        mine[BLOCK_UP_BYTES + c] = (double)blocks->bytes[c];
        mine[UP_SECONDS + c] = done.copy_seconds[c] - before.copy_seconds[c];
    }
    mine[BLOCK_NETWORK] = (double)network_of(plan);
    mine[KERNELS] = (double)(done.kernels - before.kernels);
    mine[KERNEL_SECONDS] = done.kernel_seconds - before.kernel_seconds;
    mine[SKIPPED] = (double)x->skipped;
    mine[FILTERED] = (double)x->filtered;
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++) mine[BY_KERNEL + q] = (double)x->by_kernel[q];
    const tulle__unfetched unfetched = tulle__norm_source_count(plan->sources->norms);
    mine[UNFETCHED] = (double)unfetched.blocks;
    mine[UNFETCHED_BYTES] = (double)unfetched.bytes;
    mine[REFUSED] = done.refused;
    mine[HITS] = (double)(done.hits - before.hits);
    TULLE_CALL(tulle_comm_allgather(plan->comm, mine, sizeof mine, all));
    tulle_imbalance work = spread_of(all + WORK, size, FACTS);
    *report = (tulle_product_report){.seconds = spread_of(all + SECONDS, size, FACTS).max,
        .compute = spread_of(all + COMPUTE, size, FACTS),
        .communicate = spread_of(all + COMMUNICATE, size, FACTS),
        .accumulate = spread_of(all + ACCUMULATE, size, FACTS),
        .wait = spread_of(all + WAIT, size, FACTS),
        .load_imbalance = work.mean > 0 ? work.max / work.mean : 1,
        .flops = (int64_t)(2 * work.mean * size + 0.5),
        .bytes_moved = sum_of(all + BYTES, size, FACTS),
        .messages = sum_of(all + MESSAGES, size, FACTS),
        .partials = sum_of(all + PARTIALS, size, FACTS),
        .units = sum_of(all + UNITS, size, FACTS),
        .largest_unit = work.mean > 0 ? spread_of(all + LARGEST, size, FACTS).max / work.mean : 0,
        .stolen = sum_of(all + STOLEN, size, FACTS),
        .probes = sum_of(all + PROBES, size, FACTS),
        .nnz_c = plan->sparse ? plan->C->nnz : plan->C->layout->m * plan->C->layout->n,
        .reused = x->reused,
        .phases = range.columns.number + 1,
        .dropped = range.dropped,
        .whole_pairs = sum_of(all + WHOLE, size, FACTS),
        .rows_pairs = sum_of(all + ROWS, size, FACTS),
        .cover_pairs = sum_of(all + COVERS, size, FACTS),
        .greedy_pairs = sum_of(all + GREEDY, size, FACTS),
        .pair_bytes = sum_of(all + PAIR_BYTES, size, FACTS),
        .cover_bound = sum_of(all + BOUND, size, FACTS),
        .replication = tulle_product_replication(plan),
        .unordered = plan->C->unordered,
        .predicted_seconds = plan->figures.predicted,
        .skipped_products = sum_of(all + SKIPPED, size, FACTS),
        .filtered_blocks = sum_of(all + FILTERED, size, FACTS),
        .unfetched_blocks = sum_of(all + UNFETCHED, size, FACTS),
        .unfetched_bytes = sum_of(all + UNFETCHED_BYTES, size, FACTS),
        .device = {.devices = done.devices,
            .kernels = sum_of(all + KERNELS, size, FACTS),
            .hits = sum_of(all + HITS, size, FACTS),
            .kernel_seconds = spread_of(all + KERNEL_SECONDS, size, FACTS).mean * size},
        .blocks = *blocks};
    report->blocks.network = sum_of(all + BLOCK_NETWORK, size, FACTS);
    for (int q = 0; q < TULLE_BLOCK_KERNELS; q++)
        report->kernel_flops[q] = 2 * sum_of(all + BY_KERNEL + q, size, FACTS);
    for (int r = 0; r < size; r++) report->device.refused |= (int)all[r * FACTS + REFUSED];
    for (int c = 0; c < 3; c++) {
        report->device.copies[c] = sum_of(all + UPLOADS + c, size, FACTS);
        report->device.bytes[c] = sum_of(all + UP_BYTES + c, size, FACTS);
        report->blocks.copies[c] = sum_of(all + BLOCK_UPLOADS + c, size, FACTS);
        report->blocks.bytes[c] = sum_of(all + BLOCK_UP_BYTES + c, size, FACTS);
        report->device.copy_seconds[c] = spread_of(all + UP_SECONDS + c, size, FACTS).mean * size;
    }
    return TULLE_OK;
}
