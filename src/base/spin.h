/* SPDX-License-Identifier: Apache-2.0 */
/* A turn of a thread that looks at a word again and again. */
#ifndef TULLE_BASE_SPIN_H
#define TULLE_BASE_SPIN_H

#include <sched.h>

enum { TULLE__SPIN_TURNS = 64 };

/* For a moment the core is its other thread's. */
static inline void tulle__relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* There may be more threads than cores: after so many turns another is let go first. */
static inline void tulle__spin(int turn)
{
    if (turn % TULLE__SPIN_TURNS == TULLE__SPIN_TURNS - 1) sched_yield();
    tulle__relax();
}

#endif
