/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that a team is opened with, as far as all engines decide it alike. */
#ifndef TULLE_COMM_SETTING_H
#define TULLE_COMM_SETTING_H

#include <tulle/team.h>

#include "comm/link.h"

/* Refuses options that no team can have. */
tulle_status tulle__setting_refuse(const tulle_team_options *options);

/* Fills in what the caller left open if all PEs are threads of this process. */
void tulle__setting_alone(tulle__setting *setting);

enum { TULLE__PE_LEAST = 1 << 20 }; /* bytes for a PE's words and a small arena */

/*
 * The size of the data segments: room for `most` bytes, or, where the process may not map so much, what it may, of
 * `least` bytes at least. `in_threads`: each PE is a thread. TULLE_ERR_LIMIT with the amount of memory that would fit.
 */
tulle_status tulle__setting_segment(tulle__setting *setting, int in_threads, size_t least, size_t most);

#endif
