#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Another release of Debian: the archive of a release is built there, in a clean root, by its compiler with warnings as
# errors and against its libraries, and tested. What setup.sh wants is installed by setup.sh. Without the rights for a
# root, or where the packages of that release cannot be fetched, it says so.
# suite.sh FOLDER SUITE [PATTERN]: SUITE as in trixie; PATTERN: the tests, as for ctest -R
set -eu
. "$(dirname "$0")/own_mounts.sh"
cd "$(dirname "$0")/.."
folder=$(cd "$1" && pwd)
suite=$2
# the base, engines, faults of the MPIs, files, a product and a solver, the command
pattern=${3:-'^(base|comm|gemm|io|krylov|mat|product|scalapack|tool)[_/]'}
leave_out() {
    echo "$suite: $1: left out"
    exit 0
}
[ "$(id -u)" = 0 ] || leave_out 'not root'
command -v debootstrap >/dev/null 2>&1 || leave_out 'no debootstrap'
archive=$(./packaging/dist.sh "$folder")
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
root=$folder/root-$suite
log=$folder/root-$suite.log
if [ ! -e "$root/made" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$log" 2>&1 || {
        tail -3 "$log"
        leave_out 'its packages cannot be fetched'
    }
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true # how this machine reaches packages
    touch "$root/made"
fi
for kind in proc sysfs; do mount -t $kind $kind "$root/$(echo $kind | sed 's/fs$//')"; done
mount --bind /dev "$root/dev"
mount --bind /dev/pts "$root/dev/pts" # tests that look at what a terminal shows
mount -t tmpfs -o size=2g none "$root/dev/shm"
trap 'umount "$root/dev/shm" "$root/dev/pts" "$root/dev" "$root/sys" "$root/proc"' EXIT
rm -rf "$root/root/tulle"
mkdir "$root/root/tulle"
tar xf "$archive" -C "$root/root/tulle" --strip-components 1
cat >"$root/root/build.sh" <<'END'
set -eux
apt-get -q update
apt-get -q install -y --no-install-recommends build-essential
cd /root/tulle
./setup.sh
WERROR=ON make build
END
# a locale as every installed Debian has one: gnuplot 6 warns without
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root LANG=C.UTF-8 \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"; }
if ! inside sh /root/build.sh >"$log" 2>&1; then
    grep -E -A3 'FAILED|rror:' "$log" | head -20 || true
    tail -3 "$log"
    echo "$suite: FAILED: it does not build ($log)"
    exit 1
fi
echo "$suite: built by gcc $(inside gcc -dumpfullversion)"
inside /root/tulle/build/tulle info | sed -n "s/^\(mpi_[a-z]*\|shmem\|sim\): /$suite: &/p"
if ! inside ctest --test-dir /root/tulle/build -j "${JOBS:-$(nproc)}" -LE long -R "$pattern" --output-on-failure >"$log" 2>&1; then
    sed -n '/tests passed/,$p' "$log"
    echo "$suite: FAILED ($log)"
    exit 1
fi
echo "$suite: $(sed -n 's/.*tests passed.* out of \([0-9]*\)/\1/p' "$log") tests passed"
