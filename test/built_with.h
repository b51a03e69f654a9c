/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the build for tests. */
#ifndef TULLE_TEST_BUILT_WITH_H
#define TULLE_TEST_BUILT_WITH_H

#include <string.h>

#include <tulle/tulle.h>

/* True if such a fact ("HDF5: yes") is among those that `tulle info` prints. */
static int built_with(const char *fact)
{
    for (int i = 0; tulle_build_fact(i); i++)
        if (strcmp(tulle_build_fact(i), fact) == 0) return 1;
    return 0;
}

#endif
