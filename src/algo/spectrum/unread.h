/* SPDX-License-Identifier: Apache-2.0 */
/* Options of eigenpairs and singular values that nothing reads beside the others. */
#ifndef TULLE_SPECTRUM_UNREAD_H
#define TULLE_SPECTRUM_UNREAD_H

#include <tulle/spectrum.h>

/* Refuses a tolerance and max_passes beside `passes`. Local. */
tulle_status tulle__spectrum_passes_alone(int passes, double tolerance, int64_t max_passes);

/* Refuses options, without defaults, that nothing reads beside the others. Local. */
tulle_status tulle__spectrum_unread(const tulle_spectrum_options *options);

#endif
