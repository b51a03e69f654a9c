/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API in a program that has set a locale with a decimal comma: specs of teams, devices, generators and
 * preconditioners, options, machine files, traces, Matrix Market files and messages have points.
 */
#include <locale.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <tulle/algebra.h>
#include <tulle/tulle.h>

#include "tap.h"
#include "temporary.h"

static char folder[TEMPORARY_MOST], path[TEMPORARY_MOST + 32];

/* The text of a file. */
static const char *text_of(const char *name)
{
    static char text[1 << 20];
    FILE *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    return text;
}

/* True if a digit stands on both sides of such a sign. */
static int has_fraction(const char *text, char sign)
{
    for (const char *p = text; (p = strchr(p, sign)) != NULL; p++)
        if (p > text && p[-1] >= '0' && p[-1] <= '9' && p[1] >= '0' && p[1] <= '9') return 1;
    return 0;
}

static void test_words(void)
{
    double x = 0;
    int64_t i = 0;
    ok(tulle_parse_real("2.5", "--tol", 0, 10, &x) == TULLE_OK && x == 2.5, "a number: %s", tulle_error_message());
    ok(tulle_parse_real("2,5", "--tol", 0, 10, &x) == TULLE_ERR_ARG, "no comma: %s", tulle_error_message());
    ok(tulle_parse_real("12.5", "--tol", 0, 10, &x) == TULLE_ERR_ARG &&
            strstr(tulle_error_message(), "12.5 is outside"),
        "messages have points: %s", tulle_error_message());
    ok(tulle_parse_bytes("1.5G", "--memory", &x) == TULLE_OK && x == 1.5e9, "bytes");
    ok(tulle_parse_int("1000", "--pes", 1, 2000, &i) == TULLE_OK && i == 1000, "a whole number");
}

/* ---- on a team whose spec has a fraction ---- */

static tulle_status write_and_read(tulle_comm *comm, void *arg)
{
    double *norm = arg;
    tulle_mat *A = NULL, *B = NULL;
    tulle_status status = tulle_mat_load(comm, "stencil2d:n=6,shift=0.125", NULL, TULLE_CSR, NULL, NULL, &A);
    if (status == TULLE_OK) status = tulle_mat_scale(A, 0.1, NULL, NULL);
    if (status == TULLE_OK) status = tulle_mat_norm(A, TULLE_NORM_MAX, &norm[0]);
    if (status == TULLE_OK) status = tulle_mat_save(A, path);
    if (status == TULLE_OK) status = tulle_mat_load(comm, path, NULL, TULLE_CSR, NULL, NULL, &B);
    if (status == TULLE_OK) status = tulle_mat_norm(B, TULLE_NORM_MAX, &norm[1]);
    tulle_mat_free(A);
    tulle_mat_free(B);
    return status;
}

static void test_team(void)
{
    tulle_team *team = NULL;
    double norm[2] = {0, 1};
    tulle_status status = tulle_team_new("trace+net:latency=0.5us,bw=12.5G+threads", 2, NULL, &team);
    ok(status == TULLE_OK, "a team: %s", tulle_error_message());
    if (status != TULLE_OK) return;
    snprintf(path, sizeof path, "%s/a.mtx", folder);
    status = tulle_team_run(team, write_and_read, norm);
    ok(status == TULLE_OK && norm[0] == norm[1] && fabs(norm[0] - .4125) < 1e-15, "written and read: %s",
        tulle_error_message());
    ok(has_fraction(text_of(path), '.') && !strchr(text_of(path), ','), "a Matrix Market file has points");
    unlink(path);
    snprintf(path, sizeof path, "%s/trace.json", folder);
    status = tulle_team_trace_write(team, path);
    const char *text = text_of(path), *ts = strstr(text, "\"dur\":");
    ok(status == TULLE_OK && ts && strcspn(ts, ".") < strcspn(ts + 6, ",}") + 6, "a trace has points: %.40s",
        ts ? ts : "");
    unlink(path);
    tulle_team_free(team);
}

static void test_machine(void)
{
    tulle_machine machine, again;
    tulle_status status = tulle_machine_find("summit", 1, &machine);
    snprintf(path, sizeof path, "%s/machine", folder);
    if (status == TULLE_OK) status = tulle_machine_save(path, &machine);
    if (status == TULLE_OK) status = tulle_machine_load(path, 0, &again);
    ok(status == TULLE_OK &&
            fabs(again.tier[TULLE_OTHER_NODE].bandwidth / machine.tier[TULLE_OTHER_NODE].bandwidth - 1) < 1e-5 &&
            fabs(again.tier[TULLE_OTHER_NODE].latency / machine.tier[TULLE_OTHER_NODE].latency - 1) < 1e-5,
        "a machine's file: %s", tulle_error_message());
    ok(has_fraction(text_of(path), '.') && !has_fraction(text_of(path), ','), "which has points");
    unlink(path);
}

int main(void)
{
    char text[16];
    if (!setlocale(LC_ALL, "") || !temporary_folder(folder)) {
        printf("Bail out! no locale\n");
        return EXIT_FAILURE;
    }
    snprintf(text, sizeof text, "%g", 1.5);
    ok(!strcmp(text, "1,5"), "this program has a decimal comma: %s", text);
    test_words();
    test_team();
    test_machine();
    snprintf(text, sizeof text, "%g", 1.5);
    ok(!strcmp(text, "1,5"), "and still has it: %s", text);
    rmdir(folder);
    return tap_done();
}
