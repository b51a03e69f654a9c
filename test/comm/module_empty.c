/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that is no module. */
int tulle_test_nothing(void);
int tulle_test_nothing(void)
{
    return 0;
}
