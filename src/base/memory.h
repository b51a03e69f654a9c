/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private memory. Every allocation is charged to an account: each PE has one, shared with the threads of its pool, so
 * that a PE's peak is known, a limit can be kept, and a test can make the n-th allocation of one PE fail.
 * Memory outside any PE is charged to the process's account. Blocks are 64-byte aligned; large ones ask for huge pages,
 * and an account keeps a few large blocks back so that the next product does not pay for fresh pages.
 */
#ifndef TULLE_BASE_MEMORY_H
#define TULLE_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <tulle/status.h>

typedef struct tulle__account tulle__account;

/* A new account; limit in bytes, 0 = none. NULL if memory is out. Freed once its last block is gone. */
tulle__account *tulle__account_new(size_t limit);

/*
 * Makes the account, which has charged nothing yet, a member of the team: the team is charged with it, and only the
 * team's limit is enforced. The member's own limit is its share, by which its user decides what to keep back and how
 * much to do at a time. PEs of one process need the sum of their memory, not each the same.
 */
void tulle__account_join(tulle__account *account, tulle__account *team);
void tulle__account_free(tulle__account *account);

/* Makes `account` (NULL: the process's) the one that this thread charges from now on; returns the one before. */
tulle__account *tulle__account_enter(tulle__account *account);
tulle__account *tulle__account_current(void);

void tulle__account_set_limit(tulle__account *account, size_t limit);
size_t tulle__account_limit(const tulle__account *account);
size_t tulle__account_used(const tulle__account *account);
/* 1: a member, whose limit is only a share. */
int tulle__account_shares(const tulle__account *account);

/*
 * What the account may still use, SIZE_MAX without a limit: what its limit leaves; of a team, the same part for each
 * member of what the team's limit leaves.
 */
size_t tulle__account_left(const tulle__account *account);
size_t tulle__account_peak(const tulle__account *account);
void tulle__account_reset_peak(tulle__account *account);

/* Blocks alive, for leak checks. */
int64_t tulle__account_blocks(const tulle__account *account);

/* Gives retained blocks back to the system. */
void tulle__account_trim(tulle__account *account);

/* The n-th allocation from now (n = 0: the next) fails, once; n < 0 switches that off. For tests. */
void tulle__account_fail_after(tulle__account *account, int64_t n);

/* True, once, if the failure set by tulle__account_fail_after is due: for allocators of their own (segments). */
int tulle__account_fails(tulle__account *account);

/* Charges or credits bytes that are kept elsewhere (segment memory). Charging fails over the limit. */
tulle_status tulle__account_charge(tulle__account *account, size_t bytes, const char *what);
void tulle__account_credit(tulle__account *account, size_t bytes);

/*
 * So many bytes more (or less) of memory that is kept elsewhere are in nobody's use, but their pages are still there:
 * less is retained here then.
 */
void tulle__account_idle(tulle__account *account, int64_t change);

/*
 * Who keeps such memory: called, by any thread, when a large block is about to pass the limit together with what is in
 * use and idle; it should give back at least `bytes` of idle pages if it can. reclaim NULL: nobody any more.
 */
void tulle__account_keeper(tulle__account *account, void (*reclaim)(void *keeper, size_t bytes), void *keeper);

/* What a block of so many bytes is charged: large ones come in pages, huge ones unless the limit is small. */
size_t tulle__memory_footprint(size_t bytes);

/*
 * *block = count * size bytes, uninitialised; count * size is checked. count * size = 0 gives a valid block.
 * `what` names the thing in the message ("column indices of C"). Freed by any thread with tulle__free (NULL allowed).
 */
tulle_status tulle__alloc(size_t count, size_t size, const char *what, void *block);
tulle_status tulle__alloc_zero(size_t count, size_t size, const char *what, void *block);

/* Grows or shrinks *block to count * size bytes, contents kept; on failure *block is untouched. *block may be NULL. */
tulle_status tulle__realloc(size_t count, size_t size, const char *what, void *block);
void tulle__free(void *block);

/* Physical memory of this machine and what of it is free for us now (cgroup limits count), in bytes. */
size_t tulle__memory_physical(void);
size_t tulle__memory_available(void);

/* tulle__account_left of the account that is charged here, at most what is available. */
size_t tulle__memory_left(void);

/* Whether a limit, 0 for none, is so large that what huge pages round up matters less than that they are faster. */
int tulle__memory_plenty(size_t limit);

/* Asks for huge pages for [address, address + bytes), where the system has them on request. */
void tulle__memory_huge(void *address, size_t bytes);

#endif
