/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Density matrices of two water molecules against references of others: references SPEC PES.
 *
 * The first, with its density matrix, is the example PremadeMatrix of NTPoly (MIT licence; William Dawson and
 * others). The second pair comes from CP2K 2023.1: its regression test of one molecule, dm-ls-scf-4, whose
 * matrices KS_CSR_WRITE and S_CSR_WRITE have written; levels are those of NumPy's eigvalsh.
 */
#include <math.h>

#include <tulle/density.h>

#include "blocks.h"
#include "body.h"
#include "run_tests.h"

enum { ROWS = 7, MOST = 3 };

struct molecule {
    tulle_gidx n;
    tulle_gidx cut[MOST + 1]; /* by atom */
    double H[ROWS][ROWS], S[ROWS][ROWS];
    double electrons, mu, energy, below, above;
};

static const struct molecule molecules[] = {
    {7, {0, 5, 6, 7},
        {{-20.25347350882257, -5.165217418970458, -0.0203070033441316, -0.02030700334413158, 0, -1.081638325907527,
             -1.081638325907527},
            {-5.165217418970458, -2.443012374890067, -0.08727871855177764, -0.0872787185517775, 0, -0.9593043432903939,
                -0.9593043432903942},
            {-0.0203070033441316, -0.08727871855177764, -0.3092222248229185, -0.02655763888407738, 0,
                -0.5352828730107411, -0.03729266641622403},
            {-0.02030700334413158, -0.0872787185517775, -0.02655763888407738, -0.3092222248229184, 0,
                -0.03729266641622395, -0.5352828730107404},
            {0, 0, 0, 0, -0.3974903980178788, 0, 0},
            {-1.081638325907527, -0.9593043432903939, -0.5352828730107411, -0.03729266641622395, 0, -0.5387670686906536,
                -0.4131050052509069},
            {-1.081638325907527, -0.9593043432903942, -0.03729266641622403, -0.5352828730107404, 0, -0.4131050052509069,
                -0.5387670686906514}},
        {{1, 0.2367039365108476, 0, 0, 0, 0.04875181453348719, 0.04875181453348719},
            {0.2367039365108476, 1, 0, 0, 0, 0.4471469232940093, 0.4471469232940093},
            {0, 0, 1, 0, 0, 0.3782034852230235, 0}, {0, 0, 0, 1, 0, 0, 0.3782034852230235}, {0, 0, 0, 0, 1, 0, 0},
            {0.04875181453348719, 0.4471469232940093, 0.3782034852230235, 0, 0, 1, 0.2899015598951524},
            {0.04875181453348719, 0.4471469232940093, 0, 0.3782034852230235, 0, 0.2899015598951524, 1}},
        10, .1, -45.9439425565845, -0.3974904, 0.58252247},
    {6, {0, 4, 5, 6},
        {{-0.68235129333072, -0.1077771790837, -0.15942070073163, -0.050352397743787, -0.47975947427775,
             -0.47978554853626},
            {-0.1077771790837, -0.13875138990344, -0.03544705997336, 0.049748210260953, -0.27315362197103,
                -0.013868156142925},
            {-0.15942070073163, -0.03544705997336, -0.13690942826326, -0.023100646948024, -0.20161339042696,
                -0.2233363523884},
            {-0.050352397743787, 0.049748210260953, -0.023100646948024, -0.2018575637481, 0.1752095244832,
                -0.30969171149089},
            {-0.47975947427775, -0.27315362197103, -0.20161339042696, 0.1752095244832, -0.33670134060848,
                -0.19688932737819},
            {-0.47978554853626, -0.013868156142925, -0.2233363523884, -0.30969171149089, -0.19688932737819,
                -0.33677665630325}},
        {{0.99999999893362, 0, 0, 0, 0.44427650027201, 0.44427634872087},
            {0, 0.99999869450299, 0, 0, 0.32519138727164, -0.019037412192921},
            {0, 0, 0.99999869450299, 0, 0.21220909254086, 0.24103317079203},
            {0, 0, 0, 0.99999869450299, -0.2501483097779, 0.39356904105633},
            {0.44427650027201, 0.32519138727164, 0.21220909254086, -0.2501483097779, 1.0000001032758, 0.17079140704238},
            {0.44427634872087, -0.019037412192921, 0.24103317079203, 0.39356904105633, 0.17079140704238,
                1.0000001032758}},
        8, .15, -2.872219350360084, -0.08004979, 0.46570381}};
enum { COUNT = sizeof molecules / sizeof *molecules };

/* Density of the first molecule, after an iteration: 4e-7 from the dense one. */
static const double density_of_first[ROWS][ROWS] = {
    {1.054909596742122, -.2330221337903308, .03764641933511670, .03764641933511669, 0, -.0075642046773935134,
        -.0075642046773937563},
    {-.2330221337903308, 1.029264110291733, -.2098291826628859, -.2098291826628858, 0, -.04311732688288,
        -.04311732688288},
    {.03764641933511670, -.2098291826628859, .4688372281220384, .06850165108633056, 0, .3746696500737671,
        -.03141423930568628},
    {.03764641933511669, -.2098291826628858, .06850165108633056, .4688372281220408, 0, -.03141423930568631,
        .3746696500737663},
    {0, 0, 0, 0, 1, 0, 0},
    {-.0075642046773935134, -.04311732688288, .3746696500737671, -.03141423930568631, 0, .3252513874426635,
        -.08666345747572325},
    {-.0075642046773937563, -.04311732688288, -.03141423930568628, .3746696500737663, 0, -.08666345747572325,
        .3252513874426611}};

static tulle_status build(tulle_comm *comm, const struct molecule *m, const double (*A)[ROWS], tulle_mat **V)
{
    tulle_status status;
    int npes = tulle_comm_size(comm);
    tulle_layout *layout = NULL;
    tulle_mat *entries = NULL;
    tulle_gidx row[ROWS * ROWS], col[ROWS * ROWS];
    double val[ROWS * ROWS];
    int64_t n = 0;
    const tulle_layout_spec spec = {.m = m->n,
        .n = m->n,
        .grid_rows = npes,
        .grid_cols = 1,
        .row_blocks = {MOST, m->cut},
        .col_blocks = {MOST, m->cut}};
    for (tulle_gidx i = tulle_comm_rank(comm); i < m->n; i += npes)
        for (tulle_gidx j = 0; j < m->n; j++) {
            row[n] = i;
            col[n] = j;
            val[n++] = A[i][j];
        }
    TULLE_TRY(tulle_layout_new(&spec, npes, &layout));
    TULLE_TRY(tulle_mat_from_entries(comm, layout, TULLE_F64, n, row, col, val, TULLE_DUPLICATES_ERROR, &entries));
    TULLE_TRY(tulle_mat_to_vbsr(entries, layout, V));
out:
    tulle_mat_free(entries);
    tulle_layout_free(layout);
    return status;
}

/* The largest difference of D from the reference. */
static tulle_status difference(const tulle_mat *D, double *worst)
{
    double dense[ROWS][ROWS];
    tulle_status status = blocks_to_dense(D, &dense[0][0]);
    for (int i = 0; i < ROWS && status == TULLE_OK; i++)
        for (int j = 0; j < ROWS; j++) *worst = fmax(*worst, fabs(dense[i][j] - density_of_first[i][j]));
    return status;
}

static tulle_status test(tulle_comm *comm, void *arg)
{
    static const tulle_density_method methods[] = {TULLE_DENSITY_SUBMATRIX, TULLE_DENSITY_SUBMATRIX,
        TULLE_DENSITY_NEWTON_SCHULZ, TULLE_DENSITY_MCWEENY, TULLE_DENSITY_TC2, TULLE_DENSITY_TRS4,
        TULLE_DENSITY_SUBMATRIX, TULLE_DENSITY_SUBMATRIX};
    tulle_status status = TULLE_OK;
    double *worst = arg;
    for (int which = 0; which < COUNT; which++)
        for (int k = 0; k < 8; k++) {
            const struct molecule *m = &molecules[which];
            bool counted = k == 1 || (k > 3 && k < 7);
            tulle_density_options options = {.method = methods[k], .nonorthogonal = k > 5};
            tulle_density_report report;
            tulle_mat *H = NULL, *S = NULL, *D = NULL;
            double error = 0;
            TULLE_TRY(build(comm, m, m->H, &H));
            TULLE_TRY(build(comm, m, m->S, &S));
            status = counted ? tulle_density_of_electrons(H, S, m->electrons, &options, &D, &report)
                             : tulle_density_of_mu(H, S, m->mu, &options, &D, &report);
            if (status != TULLE_OK) goto out;
            EXPECT(fabs(report.energy - m->energy) < 1e-9 && fabs(report.electrons - m->electrons) < 1e-9);
            EXPECT(fabs(report.stored - m->electrons) < 1e-9 && fabs(report.stored_energy - m->energy) < 1e-9);
            if (k < 2 || k > 5) EXPECT(fabs(report.below - m->below) < 1e-7 && fabs(report.above - m->above) < 1e-7);
            if (which == 0) {
                TULLE_TRY(difference(D, &error));
                EXPECT(error < 5e-7);
                if (tulle_comm_rank(comm) == 0) *worst = fmax(*worst, error);
            }
            tulle_mat_free(D);
            tulle_mat_free(S);
            tulle_mat_free(H);
        }
out:
    return status;
}

int main(int argc, char **argv)
{
    static const struct named_test tests[] = {{"one molecule of water", test}};
    double worst = 0;
    return run_tests(argc, argv, 1, tests, &worst, &worst);
}
