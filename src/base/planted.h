/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults, one mistake each, that a test must find (test/planted/). In the library
 * TULLE__PLANTED(name) is 0, and the compiler removes the code. In the build of test/planted/ it
 * says whether that fault is switched on.
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
