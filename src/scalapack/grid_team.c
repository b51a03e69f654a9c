/* SPDX-License-Identifier: Apache-2.0 */
#include "scalapack/grid_team.h"

#include <stdlib.h>
#include <string.h>

#include <tulle/mpi.h>
#include <tulle/scalapack.h>
#include <tulle/words.h>

/*
 * A team by its processes' ranks in MPI_COMM_WORLD, in the order of the grid. A context's number
 * would not do: the BLACS give the number of a grid that was left to the next one.
 */
struct entry {
    struct entry *next;
    int rows, cols;
    int *rank; /* [rows * cols] */
    MPI_Comm comm;
    tulle_team *team;
};

static struct entry *entries;
static int keyval = MPI_KEYVAL_INVALID;

enum { TAG = 0x7475 }; /* of the creation of communicators */

static void free_entry(struct entry *e)
{
    tulle_team_free(e->team);
    if (e->comm != MPI_COMM_NULL) MPI_Comm_free(&e->comm);
    free(e->rank);
    free(e);
}

void tulle_scalapack_free(void)
{
    while (entries) {
        struct entry *e = entries;
        entries = e->next;
        free_entry(e);
    }
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF first: teams end while MPI works. */
static int at_finalize(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm, (void)key, (void)value, (void)state;
    tulle_scalapack_free();
    return MPI_SUCCESS;
}

static void free_at_finalize(void)
{
    if (keyval != MPI_KEYVAL_INVALID) return;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
}

static struct entry *find(int rows, int cols, const int *rank)
{
    for (struct entry *e = entries; e; e = e->next)
        if (e->rows == rows && e->cols == cols && memcmp(e->rank, rank, (size_t)(rows * cols) * sizeof *rank) == 0)
            return e;
    return NULL;
}

/* Collective over the grid. Takes rank. */
static tulle_status open_team(int rows, int cols, int *rank, struct entry **out)
{
    MPI_Group world, group;
    const char *spec = secure_getenv("TULLE_SCALAPACK_TEAM"), *memory = secure_getenv("TULLE_SCALAPACK_MEMORY");
    tulle_team_options options = {.size = sizeof options};
    double bytes = 0;
    struct entry *e = calloc(1, sizeof *e);
    if (!e) {
        free(rank);
        return TULLE_ERR_MEMORY;
    }
    *e = (struct entry){.rows = rows, .cols = cols, .rank = rank, .comm = MPI_COMM_NULL};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, rows * cols, rank, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &e->comm);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    tulle_status status = memory && *memory ? tulle_parse_bytes(memory, "TULLE_SCALAPACK_MEMORY", &bytes) : TULLE_OK;
    options.memory = (size_t)bytes;
    if (status == TULLE_OK) status = tulle_team_new_mpi(spec && *spec ? spec : "mpi", e->comm, &options, &e->team);
    if (status != TULLE_OK) {
        free_entry(e);
        return status;
    }
    free_at_finalize();
    e->next = entries;
    entries = e;
    *out = e;
    return TULLE_OK;
}

tulle_status tulle__grid_team_of(int context, tulle__grid_team *grid)
{
    int rows, cols, row, col, me;
    tulle_status status = TULLE_OK;
    Cblacs_gridinfo(context, &rows, &cols, &row, &col);
    if (rows < 1 || cols < 1 || row < 0 || col < 0) return TULLE_ERR_ARG;
    int *rank = calloc((size_t)rows * (size_t)cols, sizeof *rank);
    if (!rank) return TULLE_ERR_MEMORY;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    rank[row * cols + col] = me;
    Cigsum2d(context, "All", " ", rows * cols, 1, rank, rows * cols, -1, -1);
    struct entry *e = find(rows, cols, rank);
    if (e)
        free(rank);
    else
        status = open_team(rows, cols, rank, &e);
    if (status == TULLE_OK) *grid = (tulle__grid_team){rows, cols, e->team};
    return status;
}
