/* SPDX-License-Identifier: Apache-2.0 */
/* Memory accounts: charging, limits, peaks, failures asked for, growing, sizes that overflow, who is charged. */
#include "base/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "tap.h"

static void test_blocks(tulle__account *account)
{
    static const size_t sizes[] = {0, 1, 63, 64, 4097, (1 << 20) - 1, 1 << 20, (size_t)5 << 20};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    char *block[SIZES];
    size_t sum = 0;
    int fine = 1, aligned = 1, kept = 1;
    for (int s = 0; s < SIZES; s++) {
        fine &= tulle__alloc(sizes[s], 1, "a block", &block[s]) == TULLE_OK;
        aligned &= (uintptr_t)block[s] % 64 == 0;
        memset(block[s], s, sizes[s]);
        sum += tulle__memory_footprint(sizes[s]);
    }
    ok(fine && aligned, "blocks of %d sizes, each at a multiple of 64", (int)SIZES);
    ok(tulle__account_used(account) == sum && tulle__account_blocks(account) == SIZES, "all are charged");
    for (int s = 0; s < SIZES; s++) {
        for (size_t i = 0; i < sizes[s]; i++) kept &= block[s][i] == s;
        tulle__free(block[s]);
    }
    ok(kept, "none overlaps another");
    ok(tulle__account_used(account) == 0 && tulle__account_blocks(account) == 0, "all are credited");
    ok(tulle__account_peak(account) == sum, "the peak stays");
    tulle__account_reset_peak(account);
    ok(tulle__account_peak(account) == 0, "until it is put back");
    tulle__free(NULL);
}

static void test_zero(void)
{
    char *block;
    int zero = 1;
    for (int again = 0; again < 2; again++) { /* the second time a retained mapping may come back */
        if (!ok(tulle__alloc_zero(3 << 20, 1, "zeros", &block) == TULLE_OK, "3 MiB of zeros")) return;
        for (size_t i = 0; i < 3 << 20; i++) zero &= block[i] == 0;
        memset(block, 1, 3 << 20);
        tulle__free(block);
    }
    ok(zero, "are zeros, both times");
}

static void test_realloc(tulle__account *account)
{
    int *x = NULL;
    int fine = tulle__realloc(10, sizeof *x, "numbers", &x) == TULLE_OK;
    ok(fine && tulle__account_used(account) == 40, "from nothing");
    for (int i = 0; fine && i < 10; i++) x[i] = i;
    fine = tulle__realloc(1 << 20, sizeof *x, "numbers", &x) == TULLE_OK;
    for (int i = 0; fine && i < 10; i++) fine &= x[i] == i;
    ok(fine, "grown, contents kept");
    fine = tulle__realloc(5, sizeof *x, "numbers", &x) == TULLE_OK;
    for (int i = 0; fine && i < 5; i++) fine &= x[i] == i;
    ok(fine && tulle__account_used(account) == 20, "shrunk, the rest kept");
    int *before = x;
    tulle__account_fail_after(account, 0);
    ok(tulle__realloc(100, sizeof *x, "numbers", &x) == TULLE_ERR_MEMORY && x == before && x[4] == 4, "untouched if it "
                                                                                                      "fails");
    tulle__free(x);
}

static void test_limit(tulle__account *account)
{
    char *a = NULL, *b = NULL;
    tulle__account_set_limit(account, 1000);
    ok(tulle__account_limit(account) == 1000, "a limit");
    ok(tulle__alloc(1000, 1, "all of it", &a) == TULLE_OK, "can be used up");
    ok(tulle__alloc(1, 1, "one more", &b) == TULLE_ERR_LIMIT && !b, "and not passed");
    ok(strstr(tulle_error_message(), "one more needs"), "%s", tulle_error_message());
    ok(tulle__account_used(account) == 1000, "a refusal charges nothing");
    tulle__free(a);
    ok(tulle__account_charge(account, 900, "a segment") == TULLE_OK, "memory kept elsewhere is charged");
    ok(tulle__alloc(101, 1, "a block", &b) == TULLE_ERR_LIMIT, "and counts");
    tulle__account_credit(account, 900);
    tulle__account_set_limit(account, 0);
    ok(tulle__alloc(2000, 1, "a block", &b) == TULLE_OK, "no limit");
    tulle__free(b);
}

static void test_failures(tulle__account *account)
{
    char *block[5];
    tulle__account_fail_after(account, 2);
    int failed = 0;
    for (int i = 0; i < 5; i++) {
        block[i] = NULL;
        if (tulle__alloc(8, 1, "a block", &block[i]) == TULLE_ERR_MEMORY) failed |= 1 << i;
    }
    ok(failed == 1 << 2, "the third allocation fails, once");
    for (int i = 0; i < 5; i++) tulle__free(block[i]);
    tulle__account_fail_after(account, 1);
    ok(!tulle__account_fails(account) && tulle__account_fails(account) && !tulle__account_fails(account),
        "and so for allocators of their own");
    tulle__account_fail_after(account, 0);
    tulle__account_fail_after(account, -1);
    ok(tulle__alloc(8, 1, "a block", &block[0]) == TULLE_OK, "switched off");
    tulle__free(block[0]);
}

static void test_overflow(void)
{
    char *block = NULL;
    ok(tulle__alloc(SIZE_MAX / 2, 4, "too much", &block) == TULLE_ERR_MEMORY && !block, "count * size overflows");
    ok(strstr(tulle_error_message(), "too much needs"), "%s", tulle_error_message());
    ok(tulle__alloc(SIZE_MAX / 2, 1, "too much", &block) == TULLE_ERR_MEMORY, "half the address space");
    ok(tulle__alloc_zero(SIZE_MAX, 2, "too much", &block) == TULLE_ERR_MEMORY, "zeroed");
    ok(tulle__realloc(SIZE_MAX, SIZE_MAX, "too much", &block) == TULLE_ERR_MEMORY && !block, "grown");
}

static void *free_elsewhere(void *block)
{
    tulle__free(block);
    return NULL;
}

static void test_owners(tulle__account *account)
{
    char *block;
    pthread_t thread;
    tulle__account *other = tulle__account_new(0);
    tulle__account *before = tulle__account_enter(other);
    ok(before == account && tulle__account_current() == other, "another account is entered");
    ok(tulle__alloc(100, 1, "a block", &block) == TULLE_OK && tulle__account_used(other) == 100, "and charged");
    tulle__account_enter(before);
    ok(tulle__account_used(account) == 0, "the first is not");
    if (pthread_create(&thread, NULL, free_elsewhere, block) == 0) pthread_join(thread, NULL);
    ok(tulle__account_used(other) == 0, "the account of the block is credited, whoever frees it");
    tulle__account_enter(other);
    ok(tulle__alloc(100, 1, "a block", &block) == TULLE_OK, "a block that outlives its account");
    tulle__account_enter(before);
    tulle__account_free(other);
    tulle__free(block);
}

static const size_t MB = (size_t)1 << 20;

/* Two members share what their team may use, unevenly; what one keeps back gives way to the other's need. */
static void test_team(tulle__account *account)
{
    char *a = NULL, *b = NULL, *kept = NULL;
    tulle__account *team = tulle__account_new(40 * MB), *one = tulle__account_new(20 * MB),
                   *two = tulle__account_new(20 * MB);
    tulle__account_join(one, team);
    tulle__account_join(two, team);
    ok(tulle__account_shares(one) && !tulle__account_shares(team), "members share");
    ok(tulle__account_left(one) == 20 * MB, "half of it each");
    tulle__account_enter(one);
    ok(tulle__alloc(30 * MB, 1, "more than a share", &a) == TULLE_OK, "one may take more than its share");
    ok(tulle__account_used(team) == tulle__account_used(one), "which its team is charged");
    tulle__account_enter(two);
    ok(tulle__alloc(12 * MB, 1, "what is left", &b) == TULLE_ERR_LIMIT && !b, "but not the other as well");
    ok(strstr(tulle_error_message(), "all PEs"), "%s", tulle_error_message());
    ok(tulle__account_used(two) == 0 && tulle__account_left(two) < 5 * MB, "a refusal charges nobody");
    ok(tulle__alloc(8 * MB, 1, "what is left", &kept) == TULLE_OK, "the rest it may have");
    tulle__free(kept); /* may be kept back */
    tulle__account_enter(one);
    ok(tulle__alloc(8 * MB, 1, "what the other had", &b) == TULLE_OK, "and what it has given back others may have");
    tulle__account_enter(account);
    tulle__free(a);
    tulle__free(b);
    ok(tulle__account_used(team) == 0, "all is credited to the team");
    tulle__account_enter(two);
    ok(tulle__alloc(100, 1, "a block", &a) == TULLE_OK, "a block that outlives its account and the team");
    tulle__account_enter(account);
    tulle__account_free(one);
    tulle__account_free(two);
    tulle__account_free(team);
    tulle__free(a);
}

/* With a small limit a block is charged whole pages, without one huge ones; half a page at most is not. */
static void test_footprint(tulle__account *account)
{
    char *block = NULL;
    tulle__account_set_limit(account, 100 * MB);
    ok(tulle__memory_footprint(100) == 100, "small blocks are charged as they are");
    size_t bytes = 3 * MB + 5, charged = tulle__memory_footprint(bytes);
    ok(charged >= bytes && charged < bytes + 8192, "3 MiB and a little are charged %zu bytes", charged);
    ok(tulle__alloc(bytes, 1, "a block", &block) == TULLE_OK && tulle__account_used(account) == charged, "so they are");
    tulle__free(block);
    tulle__account_set_limit(account, 0);
    ok(tulle__memory_footprint(bytes) == 4 * MB, "without a limit in huge pages");
}

int main(void)
{
    tulle__account *account = tulle__account_new(0);
    tulle__account_enter(account);
    test_blocks(account);
    test_zero();
    test_realloc(account);
    test_limit(account);
    test_failures(account);
    test_overflow();
    test_owners(account);
    test_team(account);
    test_footprint(account);
    ok(tulle__account_blocks(account) == 0 && tulle__account_used(account) == 0, "nothing is left");
    ok(tulle__memory_physical() > 0 && tulle__memory_available() <= tulle__memory_physical(), "memory of the machine");
    tulle__account_trim(account);
    tulle__account_enter(NULL);
    ok(tulle__account_current() != account, "the process's account");
    tulle__account_free(account);
    tulle__account_free(NULL);
    return tap_done();
}
