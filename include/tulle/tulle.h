/* SPDX-License-Identifier: Apache-2.0 */
/* Everything. */
#ifndef TULLE_TULLE_H
#define TULLE_TULLE_H

#include <tulle/algebra.h>
#include <tulle/array.h>
#include <tulle/budget.h>
#include <tulle/cyclic.h>
#include <tulle/density.h>
#include <tulle/device.h>
#include <tulle/direct.h>
#include <tulle/factor.h>
#include <tulle/gemm.h>
#include <tulle/gemm_blocks.h>
#include <tulle/io.h>
#include <tulle/krylov.h>
#include <tulle/layout.h>
#include <tulle/machine.h>
#include <tulle/mat.h>
#include <tulle/matfun.h>
#include <tulle/model.h>
#include <tulle/product.h>
#include <tulle/report.h>
#include <tulle/spectrum.h>
#include <tulle/status.h>
#include <tulle/stream.h>
#include <tulle/team.h>
#include <tulle/trisolve.h>
#include <tulle/types.h>
#include <tulle/version.h>
#include <tulle/words.h>

#endif
