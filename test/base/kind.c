/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a machine, from files of machines that are not this one: kind FOLDER, where they are written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/host/kind.h"
#include "machine_files.h"
#include "tap.h"

static char root[1024];

static void put(const char *path, const char *text)
{
    machine_put(root, path, text);
}

static const struct machine {
    const char *name, *processor, *memory, *l2, *l3;
    int cores;
} machines[] = {
    {"one",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: A Processor 1\n\n"
        "processor\t: 1\nmodel name\t: another\n",
        "MemTotal:       24684084 kB\n", "2048K", "32768K", 2},
    {"arm", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n", "MemTotal: 65000000 kB\n", "1024K", "",
        64},
    {"power", "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n\n", "MemTotal: 500000000 kB\n", "512K", "10240K",
        4},
    {"bare", NULL, NULL, NULL, NULL, 1},
};
static const char *const texts[] = {"6 143 A Processor 1 cores=2 L2=2048K L3=32768K memory=32G tulle=",
    "0x41 0xd40 cores=64 L2=1024K memory=64G tulle=",
    "POWER9, altivec supported cores=4 L2=512K L3=10240K memory=512G tulle=", "unknown cores=1 memory=1G tulle="};

static void make(const char *folder, const struct machine *m)
{
    snprintf(root, sizeof root, "%s/kind-%s", folder, m->name);
    (void)mkdir(root, 0777);
    if (m->processor) put("proc/cpuinfo", m->processor);
    if (m->memory) put("proc/meminfo", m->memory);
    if (m->l2) put("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
    if (m->l2) put("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
    if (m->l2) put("sys/devices/system/cpu/cpu0/cache/index2/level", "2\n");
    if (m->l2) put("sys/devices/system/cpu/cpu0/cache/index2/size", m->l2);
    if (m->l3) put("sys/devices/system/cpu/cpu0/cache/index3/level", "3\n");
    if (m->l3) put("sys/devices/system/cpu/cpu0/cache/index3/size", m->l3);
}

int main(int argc, char **argv)
{
    enum { MACHINES = sizeof machines / sizeof *machines };
    const char *folder = argc > 1 ? argv[1] : ".";
    char text[MACHINES][TULLE__KIND_MAX], again[TULLE__KIND_MAX];
    for (int i = 0; i < MACHINES; i++) {
        make(folder, &machines[i]);
        tulle__machine_kind(root, machines[i].cores, text[i]);
        ok(strncmp(text[i], texts[i], strlen(texts[i])) == 0, "%s: '%s'", machines[i].name, text[i]);
        for (int j = 0; j < i; j++)
            ok(tulle__kind_hash(text[i]) != tulle__kind_hash(text[j]), "another file than that of %s",
                machines[j].name);
    }
    struct machine node = machines[0];
    node.name = "node";
    node.memory = "MemTotal:       24590000 kB\n"; /* the firmware of equal nodes takes unequally much */
    make(folder, &node);
    tulle__machine_kind(root, node.cores, again);
    ok(strcmp(again, text[0]) == 0, "nodes of a kind share a file: '%s'", again);
    tulle__machine_kind(root, 1, again);
    ok(strcmp(again, text[0]) != 0, "with fewer cores it is another kind");
    tulle__machine_kind("", 1, again);
    ok(*again && !strchr(again, '\n'), "this machine: '%s'", again);
    char command[2048];
    snprintf(command, sizeof command, "rm -rf '%s'/kind-*", folder);
    ok(system(command) == 0, "the files are removed");
    return tap_done();
}
