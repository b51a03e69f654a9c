/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a thread that polls a word. */
#ifndef TULLE_BASE_SPIN_H
#define TULLE_BASE_SPIN_H

#include <sched.h>

enum { TULLE__SPIN_TURNS = 64 };

/* Yields the core to its other hardware thread for a moment. */
static inline void tulle__relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* There may be more threads than cores: after this many steps a thread yields. */
static inline void tulle__spin(int turn)
{
    if (turn % TULLE__SPIN_TURNS == TULLE__SPIN_TURNS - 1) sched_yield();
    tulle__relax();
}

#endif
