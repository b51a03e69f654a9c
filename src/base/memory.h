/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private memory. Every allocation counts against an account. Each PE has one, shared with the
 * threads of its pool: its peak is known, a limit can hold, and a test can make the n-th allocation
 * of one PE fail. Memory outside any PE counts against the process's account. Blocks are 64-byte
 * aligned. Large ones ask for huge pages, and an account retains a few, so that the next product
 * needs no fresh pages.
 */
#ifndef TULLE_BASE_MEMORY_H
#define TULLE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__account tulle__account;

/* A new account; limit in bytes, 0: none. NULL: no memory. It is freed with its last block. */
tulle__account *tulle__account_new(size_t limit);

/*
 * Makes an unused account a member of the team: allocations count against the team, and only the
 * team's limit is enforced. The member's own limit is its share, by which its user decides what to
 * retain and how much to do at a time. PEs of one process need the sum of their memory, not equal
 * parts.
 */
void tulle__account_join(tulle__account *account, tulle__account *team);
void tulle__account_free(tulle__account *account);

/* Makes `account` (NULL: the process's) this thread's account; returns the previous one. */
tulle__account *tulle__account_enter(tulle__account *account);
tulle__account *tulle__account_current(void);

void tulle__account_set_limit(tulle__account *account, size_t limit);
size_t tulle__account_limit(const tulle__account *account);
size_t tulle__account_used(const tulle__account *account);
/* 1: a member of a team, whose limit is only a share. */
int tulle__account_shares(const tulle__account *account);

/*
 * Bytes that the account may still use, SIZE_MAX without a limit: what its limit leaves, or an
 * equal part of what the team's limit leaves.
 */
size_t tulle__account_left(const tulle__account *account);
size_t tulle__account_peak(const tulle__account *account);
void tulle__account_reset_peak(tulle__account *account);

/* Live blocks, for leak checks. */
int64_t tulle__account_blocks(const tulle__account *account);

/* Returns retained blocks to the system. */
void tulle__account_trim(tulle__account *account);

/* For tests: the n-th allocation from now (n = 0: the next) fails, once; n < 0: none does. */
void tulle__account_fail_after(tulle__account *account, int64_t n);

/* True, once, when that failure is due: for other allocators (segments). */
int tulle__account_fails(tulle__account *account);

/*
 * Counts bytes of other memory (segments) against the account, or frees them. Fails beyond the
 * limit.
 */
tulle_status tulle__account_charge(tulle__account *account, size_t bytes, const char *what);
void tulle__account_credit(tulle__account *account, size_t bytes);

/*
 * Reports a change of idle bytes elsewhere: unused, but with pages. The account then retains less
 * here.
 */
void tulle__account_idle(tulle__account *account, int64_t change);

/*
 * The owner of such memory. Any thread calls reclaim when a large block would exceed the limit with
 * what is in use and idle; it should free at least `bytes` of idle pages if it can. NULL: no owner
 * any more.
 */
void tulle__account_keeper(tulle__account *account, void (*reclaim)(void *keeper, size_t bytes), void *keeper);

/*
 * Bytes that a block of that size counts: large ones come in pages, huge ones unless the limit is
 * small.
 */
size_t tulle__memory_footprint(size_t bytes);

/*
 * Allocates count * size bytes, uninitialised, with an overflow check. 0 bytes give a valid block.
 * `what` names the block in the message ("column indices of C"). Any thread may free it with
 * tulle__free (NULL allowed).
 */
tulle_status tulle__alloc(size_t count, size_t size, const char *what, void *block);
tulle_status tulle__alloc_zero(size_t count, size_t size, const char *what, void *block);

/*
 * Resizes *block to count * size bytes and preserves its contents; on failure it is unchanged.
 * *block may be NULL.
 */
tulle_status tulle__realloc(size_t count, size_t size, const char *what, void *block);

/* The same if `count` elements fill the list: it doubles, `first` elements at first. */
tulle_status tulle__grow(int64_t count, int64_t *workspace, int64_t first, size_t size, const char *what, void *list);
void tulle__free(void *block);

/*
 * Declares local pointers, NULL or with a block that is freed where they go out of scope: for temporaries of functions
 * that return from anywhere (TULLE_CALL). A block that shall stay is taken from its pointer, which becomes NULL.
 */
#define TULLE__SCOPED __attribute__((cleanup(tulle__free_scoped)))
void tulle__free_scoped(void *pointer);

/* Declares a local variable that a function, which takes its address, ends where it goes out of scope. */
#define TULLE__SCOPED_BY(fini) __attribute__((cleanup(fini)))

/* This machine's physical memory, and what of it this process may still take (base/host/limits.h), in bytes. */
size_t tulle__memory_physical(void);
size_t tulle__memory_available(void);

/* tulle__account_left of this thread's account, at most what is available. */
size_t tulle__memory_left(void);

/*
 * TULLE_ERR_LIMIT unless limits leave room for the buffers of OpenBLAS (base/host/blas.h), for work that cannot do
 * without it: every call of LAPACK comes after this, or after tulle__blas_has_room.
 */
tulle_status tulle__memory_of_blas(const char *what);

/*
 * True if the limits of all PEs together, and of one, (0: none) are so large that huge pages' speed
 * outweighs their rounding, and the time that it takes to clear them: with hundreds of PEs a host, a PE
 * uses little of each.
 */
int tulle__memory_plenty(size_t limit, size_t pe);

/* Requests huge pages for [address, address + bytes), if the system gives them on request. */
void tulle__memory_huge(void *address, size_t bytes);

#endif
