/* SPDX-License-Identifier: Apache-2.0 */
#include "needs.h"

#include <string.h>

#include <tulle/budget.h>
#include <tulle/device.h>
#include <tulle/launch.h>

#include "launch.h"

/*
 * Resident memory outside all accounts, measured: pages of the program and its libraries, stacks,
 * buffers of HDF5 and the C library; for processes of MPI or OpenSHMEM also of that library.
 */
static const double program = 12e6, pe = 1e6, thread = 0.3e6, process = 40e6;

static const double SURELY = 0.6; /* the certain part of a bound */

static int pes_of(const struct options *options)
{
    int asked = (int)options_int(options, "pes", 0), launched = tulle_launched_size();
    return asked ? asked : launched > 1 ? launched : tulle_cores_free();
}

static int threads_of(const struct options *options, int pes)
{
    int asked = (int)options_int(options, "threads", 0), cores = tulle_cores_free();
    return asked ? asked : cores > pes ? cores / pes : 1;
}

/* True if PEs are processes. */
static int in_processes(const struct options *options)
{
    const char *comm = chosen_comm(options);
    return strstr(comm, "mpi") != NULL || strstr(comm, "shmem") != NULL;
}

static int is_simulated(const struct options *options)
{
    return strstr(chosen_comm(options), "sim") != NULL && !in_processes(options);
}

double needs_program(const struct options *options)
{
    if (is_simulated(options)) return 0; /* the memory is the simulated machine's */
    int pes = pes_of(options);
    double each = pe + thread * threads_of(options, pes);
    return in_processes(options) ? pes * (program + process + each) : program + pes * each;
}

void needs_begin(struct needs *n, const struct options *options, tulle_type type)
{
    *n = (struct needs){.options = options, .pes = pes_of(options), .value = type == TULLE_F32 ? 4 : 8};
    n->threads = threads_of(options, n->pes);
    tulle_budget_add(&n->budget, "the program", needs_program(options));
}

double needs_dense(const struct needs *n, double rows, double cols)
{
    return rows * cols * n->value;
}

double needs_bytes(const struct needs *n, const tulle_operand_shape *shape, int dense)
{
    double m = (double)shape->m, entries = shape->stored > 0 ? (double)shape->stored : 0;
    if (dense) return needs_dense(n, m, (double)shape->n);
    if (shape->symmetric) entries *= 2;
    return 8 * (m + 1) + entries * (4 + n->value);
}

double needs_stored(const struct needs *n, const tulle_operand_shape *shape)
{
    const double bytes = needs_bytes(n, shape, 0);
    double entries = shape->stored > 0 ? (double)shape->stored : 0;
    if (shape->symmetric) entries *= 2;
    if (shape->stored < 0 || !tulle_mat_compresses(shape->m, (int64_t)entries, n->pes)) return bytes;
    const double LINE = 16 + 20.0 * n->pes; /* pointer and numbers of a row and a column that have one entry */
    return bytes - 8 * (double)shape->m + LINE * entries;
}

void needs_matrix(struct needs *n, double bytes)
{
    tulle_budget_add(&n->budget, "matrices", bytes);
}

void needs_stage(struct needs *n, double bytes)
{
    if (bytes > n->stages) n->stages = bytes;
}

void needs_reading(struct needs *n, double bytes)
{
    /*
     * entries with both indices, staged for their owners while the tile is built from them; pieces
     * of the file
     */
    needs_stage(n, 1.6 * bytes + 4e6 + 1.5e6 * n->pes);
}

void needs_device(struct needs *n, double tiles, double results)
{
    const double BESIDE = 1.2; /* alignment, and the share of memory that a device leaves to others */
    enum { LEAVING = 2 };      /* results on their way, of a device */
    tulle_device_facts facts;
    const char *spec = options_word(n->options, "device", NULL);
    double devices = (double)options_int(n->options, "devices", 1);
    if (!spec || is_simulated(n->options) || tulle_device_probe(spec, &facts) != TULLE_OK) return;
    double all = (double)facts.memory * devices * n->pes, least = BESIDE * devices * tiles;
    if (facts.on_host) tulle_budget_add(&n->budget, "devices", least < all ? least : all);
    tulle_budget_add(&n->budget, "copies from devices", LEAVING * results);
}

tulle_status needs_check(struct needs *n, const char *verb)
{
    char who[256];
    double asked = options_size(n->options, "memory", 0), memory = asked > 0 ? asked : tulle_memory_free();
    if (is_simulated(n->options) || (asked <= 0 && in_processes(n->options))) return TULLE_OK;
    /*
     * without a memory limit only work that certainly does not fit is refused: the bounds are high
     */
    tulle_budget_add(&n->budget, "work", asked > 0 ? n->stages : SURELY * n->stages);
    snprintf(who, sizeof who, "%s %.200s", verb, n->options->noperands ? n->options->operand[0] : "of random matrices");
    return tulle_budget_check(&n->budget, memory, who);
}
