/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that the job before has fetched. Under stealing a PE does not know its next jobs, but those of
 * one claim are often bands of one chain, or chains of one tile column: then tiles of the job that
 * started before serve the next one as well. A tile of B is shared between different tile rows only
 * if both jobs need all of it.
 *
 * Memory: the tiles of two jobs.
 */
#ifndef TULLE_PRODUCT_LAST_JOB_H
#define TULLE_PRODUCT_LAST_JOB_H

#include "algo/product/source/required_rows.h"
#include "algo/product/source/source.h"

typedef struct tulle__last_job tulle__last_job;

/*
 * Local. batch: most summands of a job. required may be NULL: all tiles are fetched whole. for_pairs: tiles come for
 * one product of tiles each (norm_source.h), of which bands may share them.
 */
tulle_status tulle__last_job_new(
    const tulle__required *required, int batch, bool for_pairs, tulle__last_job **last_job);
void tulle__last_job_free(tulle__last_job *last_job);
/* A source above the one that brings what the last job has not. */
tulle__source *tulle__last_job_source(tulle__last_job *last_job, tulle__source *below);

#endif
