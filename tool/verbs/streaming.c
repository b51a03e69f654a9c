/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs/streaming.h"

#include <string.h>

#include "report/json_write.h"
#include "report/result.h"

tulle_status streaming_check_reading(const struct options *o)
{
    static const char *const names[] = {"lenient", "zero-based", "drop-zeros", "assume", "duplicates"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (options_flag(o, names[i]))
            return tulle_fail(
                TULLE_ERR_ARG, "--%s is of a matrix in memory: --source file takes rows as they are stored", names[i]);
    return TULLE_OK;
}

tulle_status streaming_options(const struct options *o, struct streaming *s)
{
    const char *slabs = options_word(o, "slabs", "auto"), *source = options_word(o, "source", "memory");
    int64_t number = 0;
    s->options = (tulle_stream_options){0};
    s->from_file = strcmp(source, "file") == 0;
    s->options.rebalance = strcmp(source, "rebalance") == 0;
    s->options.device = options_word(o, "device", "cpu");
    s->options.memory = (size_t)options_size(o, "budget", 0);
    s->options.format = options_word(o, "format", s->options.rebalance ? "csr" : "auto");
    s->options.ring = (int)options_int(o, "ring", 0);
    tulle_status status = s->from_file ? streaming_check_reading(o) : TULLE_OK;
    if (status == TULLE_OK && !same_word(slabs, "auto"))
        status = tulle_parse_int(slabs, "--slabs", 1, 1000000, &number);
    s->options.slabs = (int)number;
    s->options.no_overlap = strcmp(options_word(o, "overlap", "on"), "on") != 0;
    return status;
}

int streaming_asked(const struct options *o, const struct streaming *s)
{
    static const char *const names[] = {"device", "format", "budget", "slabs", "ring", "overlap"};
    int asked = s->from_file | s->options.rebalance;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) asked |= options_flag(o, names[i]);
    return asked;
}

void streaming_json(const tulle_stream_plan *p, FILE *file)
{
    fprintf(file, ",\"device\":");
    json_text(p->device, file);
    fprintf(file, ",\"format\":");
    json_text(p->format, file);
    json_printf(file,
        ",\"resident\":%s,\"in_place\":%s,\"slabs\":%d,\"ring\":%d,\"capacity\":%zu,\"matrix\":%zu,\"first\":%zu,"
        "\"largest\":%zu,\"vector_bytes\":%zu,\"device_bytes\":%zu,\"host_bytes\":%zu,\"bandwidth\":%.6g,"
        "\"latency\":%.6g,\"read_bandwidth\":%.6g,\"predicted\":{\"transfer\":%.6g,\"compute\":%.6g,\"seconds\":%.6g}",
        p->resident ? "true" : "false", p->in_place ? "true" : "false", p->slabs, p->ring, p->capacity, p->matrix,
        p->first, p->largest, p->vectors, p->device_bytes, p->host_bytes, p->bandwidth, p->latency, p->read_bandwidth,
        p->transfer, p->compute, p->seconds);
}

tulle_status streaming_open(tulle_comm *comm, const char *operand, const tulle_read_options *reading, int from_file,
    char *warnings, struct streamed *x)
{
    *x = (struct streamed){.A = NULL};
    tulle_status status = from_file ? tulle_rows_open(comm, operand, &x->rows)
                                    : tulle_mat_load(comm, operand, NULL, TULLE_CSR, reading, warnings, &x->A);
    if (status == TULLE_OK && x->rows) status = tulle_rows_set_type(x->rows, reading->type); /* the same on all PEs */
    if (status == TULLE_OK && x->rows) status = tulle_rows_set_finite(x->rows, reading->finite_only);
    if (status != TULLE_OK) return status;
    x->m = x->A ? tulle_mat_rows(x->A) : tulle_rows_count(x->rows);
    x->n = x->A ? tulle_mat_cols(x->A) : tulle_rows_cols(x->rows);
    x->nnz = x->A ? tulle_mat_nnz(x->A) : tulle_rows_nnz(x->rows);
    return TULLE_OK;
}

tulle_status streaming_warnings(tulle_rows *rows, char *warnings)
{
    char more[TULLE_WARNINGS_MAX];
    const size_t used = strlen(warnings);
    tulle_status status = tulle_rows_warnings(rows, more);
    if (status == TULLE_OK) snprintf(warnings + used, TULLE_WARNINGS_MAX - used, "%s", more);
    return status;
}

double streaming_check_needs(int from_file, double cols, double n, double m)
{
    return 16 * (cols + n + 2 * m) + (from_file ? 3e6 : 0); /* pieces of the file, and their row pointers */
}

double streaming_needs(const struct streaming *s, const struct needs *n, double matrix, double rows)
{
    double pointers = 16 * rows, slabs = n->pes * 5e6, copy = s->from_file ? 0 : 1.5 * matrix;
    return pointers + slabs + copy + 5e6;
}
