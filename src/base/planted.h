/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults put in on purpose, one mistake each, to see that a test finds it (test/planted/). In the library
 * TULLE__PLANTED(name) is 0, and the compiler removes what depends on it; in the build that test/planted/ makes it says
 * whether that fault is on.
 */
#ifndef TULLE_BASE_PLANTED_H
#define TULLE_BASE_PLANTED_H

#ifdef TULLE_PLANTED
int tulle__planted(const char *name);
#define TULLE__PLANTED(name) tulle__planted(#name)
#else
#define TULLE__PLANTED(name) 0
#endif

#endif
