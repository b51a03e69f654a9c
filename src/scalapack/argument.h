/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of ScaLAPACK's routines: parts of distributed matrices, and messages about wrong ones. */
#ifndef TULLE_SCALAPACK_ARGUMENT_H
#define TULLE_SCALAPACK_ARGUMENT_H

#include <tulle/cyclic.h>

/* The place of an entry in a descriptor. */
enum { TULLE__CONTEXT = 1 };

/* A call's name, and the message of its first wrong argument: the team's own comes last. */
typedef struct tulle__call {
    const char *name;
    char message[400];
} tulle__call;

/* A matrix among the arguments. */
typedef struct tulle__argument {
    const char *name; /* of its descriptor, such as "DESCA" */
    int number;       /* of the descriptor among the arguments, from 1 */
    int row, col;     /* where the part begins, from 1 */
    const int *descriptor;
    tulle_cyclic cyclic;
    tulle_cyclic_part part;
} tulle__argument;

/* Writes "NAME: argument NUMBER (ARGUMENT): CAUSE" and returns TULLE_ERR_ARG. */
tulle_status tulle__wrong_argument(tulle__call *call, int number, const char *argument, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A size of the call that is negative is refused. */
tulle_status tulle__size_argument(tulle__call *call, int number, const char *argument, int size);

/* The part of m x n elements of a matrix that is distributed over a grid of PEs. */
tulle_status tulle__read_argument(tulle__call *call, tulle__argument *x, int grid_rows, int grid_cols, int m, int n);

/* The status of the call by all PEs of the team: the lowest's message if it is an error. */
tulle_status tulle__agree_call(tulle_comm *comm, tulle_status status, const tulle__call *call);

/* For Fortran: an error is printed, and ends the job. */
void tulle__end_job_if(tulle_status status, int context);

#endif
