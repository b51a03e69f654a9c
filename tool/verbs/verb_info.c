/* SPDX-License-Identifier: Apache-2.0 */
/* tulle info: what was found, and why something was not. */

#include <tulle/budget.h>
#include <tulle/launch.h>

#include "verb.h"

static void show_launchers(void)
{
    char path[4096];
    const tulle_launcher *launcher;
    for (int i = 0; (launcher = tulle_launcher_list(i)); i++) {
        if (launcher->program && tulle_launcher_program(launcher, path, sizeof path) == TULLE_OK)
            printf("%s: yes (%s, %s)\n", launcher->module, launcher->command, *path ? path : "this program");
        else if (tulle_launcher_usable(launcher))
            printf("%s: yes (%s)\n", launcher->module, launcher->command);
        else
            printf("%s: no (%s)\n", launcher->module, tulle_error_message());
    }
}

/* Wrappers need nothing but a device. */
static void show_devices(void)
{
    const char *name;
    tulle_device_facts facts;
    for (int i = 0, wrapper; (name = tulle_device_list(i, NULL, &wrapper)); i++) {
        if (wrapper) continue;
        if (tulle_device_probe(name, &facts) == TULLE_OK)
            printf("device %s: yes (%s, %.1f GB)\n", name, facts.text, (double)facts.memory / 1e9);
        else
            printf("device %s: no (%s)\n", name, tulle_error_message());
    }
}

static tulle_status run(const struct options *options)
{
    (void)options;
    char path[4096];
    tulle_machine machine;
    const int cores = tulle_cores_free();
    printf("tulle %s\n", tulle_version());
    const char *fact;
    for (int i = 0; (fact = tulle_build_fact(i)); i++) printf("%s\n", fact);
    show_launchers();
    if (tulle_engine_usable("sim"))
        printf("sim: yes\n");
    else
        printf("sim: no (%s); install libsimgrid-dev and build again\n", tulle_error_message());
    show_devices();
    printf("cores: %d\n", cores);
    if (tulle_machine_load(NULL, cores, &machine) == TULLE_OK)
        printf("calibration: of %s: memory %.1f GB/s, cache %.1f GB/s, f64 %.1f GF/s, f32 %.1f GF/s\n", machine.kind,
            machine.stream / 1e9, machine.cache / 1e9, machine.fma[TULLE_F64] / 1e9, machine.fma[TULLE_F32] / 1e9);
    else
        printf("calibration: none (%s)\n", tulle_error_message());
    if (tulle_machine_system_path(cores, path, sizeof path) == TULLE_OK) printf("calibration of all users: %s\n", path);
    if (tulle_machine_path(cores, path, sizeof path) == TULLE_OK) printf("calibration of this user: %s\n", path);
    return TULLE_OK;
}

static const struct option options[] = {OPTION_HELP, {.name = NULL}};

const struct verb verb_info = {
    .name = "info",
    .operands = "",
    .summary = "Show the version, the libraries and engines found, and what is missing",
    .description = "Each line is a fact about this build or this machine. Missing parts are listed with the reason.",
    .examples = "tulle info",
    .options = options,
    .run = run,
};
