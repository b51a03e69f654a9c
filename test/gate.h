/* SPDX-License-Identifier: Apache-2.0 */
/* Gates for values (src/io/file/gate.h): one that refuses none, one that wants finite ones. */
#ifndef TULLE_TEST_GATE_H
#define TULLE_TEST_GATE_H

#include "io/file/gate.h"

__attribute__((unused)) static tulle__gate *open_gate(tulle_type type)
{
    static tulle__gate gate;
    gate = (tulle__gate){.name = "file", .type = type};
    return &gate;
}

__attribute__((unused)) static tulle__gate *strict_gate(tulle_type type)
{
    static tulle__gate gate;
    gate = (tulle__gate){.name = "file", .type = type, .finite = true};
    return &gate;
}

/* Values that a strict gate refuses. */
__attribute__((unused)) static int64_t refused_counts(const tulle__gate *gate)
{
    return gate->counts.nans + gate->counts.infs + gate->counts.overflows;
}

#endif
