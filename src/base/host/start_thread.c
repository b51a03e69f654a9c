/* SPDX-License-Identifier: Apache-2.0 */
#include "base/host/start_thread.h"

int tulle__start_thread(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    const size_t least = 1 << 20;
    size_t size = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < least)
        (void)pthread_attr_setstacksize(&attributes, least);
    const int error = pthread_create(thread, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    return error;
}
