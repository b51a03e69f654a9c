/* SPDX-License-Identifier: Apache-2.0 */
/* The machine that the engine of a comm simulates. */
#ifndef TULLE_MODEL_SIMULATED_H
#define TULLE_MODEL_SIMULATED_H

#include <tulle/machine.h>

#include "comm/comm.h"

/* Not collective: tulle_machine_of_team of the comm's team; false, and *machine as it was, if nothing is simulated. */
bool tulle__machine_of_comm(const tulle_comm *comm, tulle_machine *machine);

#endif
