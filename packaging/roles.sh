#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Four roles, each from a clean machine to a result with what its tutorial says (doc/site/tutorial-ROLE.md), in under ten
# minutes: a fresh root by debootstrap, the archive of a release, packages that the tutorial names, its commands and its
# programs. roles.sh FOLDER [ROLE...]; roles: c python cluster chemist.
set -eu
. "$(dirname "$0")/own_mounts.sh"
cd "$(dirname "$0")/.."
folder=$(cd "$1" && pwd)
shift
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
    echo 'roles: no debootstrap, or not root: left out'
    exit 0
fi
archive=$(./packaging/dist.sh "$folder")
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
pristine=$folder/pristine
if [ ! -e "$pristine/made" ]; then
    rm -rf "$pristine"
    debootstrap --variant=minbase "$suite" "$pristine" "${mirror:-http://deb.debian.org/debian}" >"$folder/debootstrap.log" ||
        { tail -5 "$folder/debootstrap.log"; exit 1; }
    # how this machine reaches packages
    cp /etc/apt/apt.conf.d/* "$pristine/etc/apt/apt.conf.d/" 2>/dev/null || true
    cp /etc/apt/sources.list "$pristine/etc/apt/" 2>/dev/null || true
    cp /etc/pip.conf "$pristine/etc/" 2>/dev/null || true
    touch "$pristine/made"
fi

# the blocks of a language in a document, one after the other; `text` is what is indented
blocks() { # LANGUAGE DOCUMENT [NUMBER]
    awk -v language="$1" -v wanted="${3:-0}" '
        /^```/ { if (open) open = 0; else if ($0 == "```" language) { open = 1; n++ } next }
        open && (!wanted || n == wanted) { print }
        language == "text" && /^    / { sub(/^    /, ""); print }' "$2"
}

# What a role does in its root, as a script there.
script() {
    document=doc/site/tutorial-$1.md
    echo 'set -eux; cd /root; tar xf tulle-*.tar.gz; cd tulle-*/'
    case $1 in
    c)
        blocks text $document | sed -n '/^cmake/p; /^export/p'
        n=1
        while [ "$(blocks c $document $n)" ]; do
            printf "cat >program.c <<'END'\n%s\nEND\n" "$(blocks c $document $n)"
            blocks text $document | grep '^cc program.c'
            n=$((n + 1))
        done
        ;;
    python)
        echo 'python3 -m venv /root/env; PATH=/root/env/bin:$PATH; pip install scipy'
        blocks text $document | sed -n 's/ *#.*//; /^pip install/p'
        printf "cat >/root/program.py <<'END'\n%s\nEND\ncd /root; python program.py\n" "$(blocks python $document)"
        ;;
    cluster | chemist)
        blocks text doc/site/tutorial-c.md | sed -n '/^cmake/p'
        echo 'export PATH=$HOME/tulle/bin:$PATH; cd /root'
        blocks sh $document
        [ "$1" != cluster ] || echo 'tulle spmm rmat:scale=12 --cols 8 --comm mpi --pes 2 --check
            tulle spgemm rmat:scale=10 --comm sim:platform=summit --pes 96 --check'
        ;;
    esac
}

packages() {
    echo gcc libc6-dev make cmake pkgconf
    case $1 in
    python) echo g++ python3-dev python3-venv ;;
    cluster) echo g++ libopenmpi-dev openmpi-bin libsimgrid-dev ;;
    chemist) echo libopenblas-pthread-dev liblapack-dev ;;
    esac
}

# The root trusts whom this machine trusts.
trust() {
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
}

failed=0
for role in ${*:-c python cluster chemist}; do
    root=$folder/role-$role
    [ ! -d "$root" ] || { mountpoint -q "$root/proc" && umount "$root/proc"; rm -rf "$root"; }
    cp -a "$pristine" "$root"
    mount -t proc proc "$root/proc"
    trap 'umount "$root/proc"' EXIT
    cp "$archive" "$root/root/"
    script $role >"$root/root/role.sh"
    began=$(date +%s)
    status=0
    # shellcheck disable=SC2046
    inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 $(env | grep -E '^(PIP|SSL|REQUESTS|CURL)_[A-Z_]*=[^ ]*$') "$@"; }
    # shellcheck disable=SC2046
    { inside apt-get -q update && inside apt-get -q install -y --no-install-recommends $(packages $role) &&
        trust && inside sh /root/role.sh; } >"$folder/role-$role.log" 2>&1 || status=$?
    took=$(($(date +%s) - began))
    umount "$root/proc"
    trap - EXIT
    if [ "$status" = 0 ]; then
        echo "role $role: from a clean root to its results in $took s"
        rm -rf "$root"
        [ "$took" -le 600 ] || echo "role $role: more than ten minutes on this machine"
    else
        tail -20 "$folder/role-$role.log"
        echo "role $role: FAILED ($folder/role-$role.log)"
        failed=1
    fi
done
exit $failed
