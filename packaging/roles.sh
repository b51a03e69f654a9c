#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Roles, each from a clean machine to a result with what its tutorial says (doc/site/tutorial-ROLE.md), in under ten
# minutes: a fresh root by debootstrap, the archive of a release, and the packages, commands and programs of the tutorial.
# roles.sh FOLDER [ROLE...]; all tutorials unless some are named.
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

# The commands that a document indents, without what it says beside them.
commands() { # DOCUMENT PATTERN
    blocks text "$1" | sed 's/  *# .*//' | grep -E "$2"
}

# What a role does in its root, as a script there.
script() {
    document=doc/site/tutorial-$1.md
    echo 'set -eux; cd /root; tar xf tulle-*.tar.gz; cd tulle-*/'
    commands "$document" '^(cmake|export|pip|python3) '
    n=1
    while [ "$(blocks c "$document" $n)" ]; do
        printf "cat >program.c <<'END'\n%s\nEND\n" "$(blocks c "$document" $n)"
        commands "$document" '^cc program.c'
        n=$((n + 1))
    done
    echo 'cd /root'
    blocks sh "$document"
    ! [ "$(blocks python "$document")" ] || printf "cat >program.py <<'END'\n%s\nEND\npython program.py\n" "$(blocks python "$document")"
    [ "$1" != cluster ] || commands "$document" '^tulle .*--comm (mpi|sim)'
}

packages() {
    commands "doc/site/tutorial-$1.md" '^apt install' | sed 's/apt install//'
}

# The root trusts whom this machine trusts.
trust() {
    mkdir -p "$root/etc/ssl/certs"
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || true
}

# shellcheck disable=SC2046
[ $# != 0 ] || set -- $(printf '%s\n' doc/site/tutorial-*.md | sed 's/.*tutorial-\(.*\)\.md$/\1/')
failed=0
for role; do
    root=$folder/role-$role
    [ ! -d "$root" ] || { mountpoint -q "$root/proc" && umount "$root/proc"; rm -rf "$root"; }
    cp -a "$pristine" "$root"
    mount -t proc proc "$root/proc"
    trap 'umount "$root/proc"' EXIT
    cp "$archive" "$root/root/"
    script "$role" >"$root/root/role.sh"
    began=$(date +%s)
    status=0
    # shellcheck disable=SC2046
    inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 $(env | grep -E '^(PIP|SSL|REQUESTS|CURL)_[A-Z_]*=[^ ]*$') "$@"; }
    # shellcheck disable=SC2046
    { inside apt-get -q update && inside apt-get -q install -y --no-install-recommends $(packages "$role") &&
        trust && inside sh /root/role.sh; } >"$folder/role-$role.log" 2>&1 || status=$?
    took=$(($(date +%s) - began))
    umount "$root/proc"
    trap - EXIT
    if [ "$status" = 0 ]; then
        echo "role $role: from a clean root to its results in $took s"
        rm -rf "$root"
        [ "$took" -le 600 ] || { echo "role $role: FAILED: more than ten minutes"; failed=1; }
    else
        tail -20 "$folder/role-$role.log"
        echo "role $role: FAILED ($folder/role-$role.log)"
        failed=1
    fi
done
exit $failed
