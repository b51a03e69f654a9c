#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packages as a distribution makes them: the archive, Debian packages built in a clean root (debootstrap; without it, or
# without the rights, on this system), lintian, then the packages installed there and a program built against them by
# somebody who has nothing else; recipes of Spack and conda as far as they can be checked without these. check.sh FOLDER
set -eu
. "$(dirname "$0")/own_mounts.sh"
cd "$(dirname "$0")/.."
folder=$(cd "$1" && pwd)
[ "$(./packaging/dist.sh "$folder")" = "$(./packaging/dist.sh "$folder")" ]
python3 - packaging/spack/package.py packaging/conda/meta.yaml CMakeLists.txt <<'EOF'
import ast, re, sys
spack, conda, cmake = (open(name).read() for name in sys.argv[1:])
ast.parse(spack)
version = re.search(r"project\(tulle VERSION ([0-9.]+)", cmake).group(1)
switches = set(re.findall(r"TULLE_WITH_([A-Z0-9]+)", spack + conda))
import glob
known = set()
for name in glob.glob("src/**/CMakeLists.txt", recursive=True):
    known |= set(re.findall(r"tulle_dependency\((\w+)", open(name).read()))
assert f'version("{version}"' in spack, "Spack: another version"
assert f'version = "{version}"' in conda, "conda: another version"
assert switches <= known, f"recipes: unknown switches {switches - known}"
print(f"recipes of Spack and conda: version {version}, {len(switches)} switches, all known")
EOF
root=$folder/root
needs=$(sed -n '/^Build-Depends:/,/^Standards/p' packaging/debian/control | sed 's/Build-Depends://; /^Standards/d; s/\[[^]]*\]//g' |
    tr ',' '\n' | grep -v nopython | sed 's/(.*)//; s/debhelper-compat/debhelper/' | xargs)
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null 2>&1; then
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
    if [ ! -e "$root/made" ]; then
        rm -rf "$root"
        debootstrap --variant=minbase "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" >"$folder/debootstrap.log" ||
            { tail -5 "$folder/debootstrap.log"; exit 1; }
        cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
        touch "$root/made"
    fi
    inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive HOME=/root "$@"; }
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    trap 'umount "$root/proc"' EXIT
    # shellcheck disable=SC2086
    inside apt-get -q install -y --no-install-recommends build-essential fakeroot $needs >"$folder/needs.log"
else
    echo 'packages: no debootstrap, or not root: built on this system'
    root=
    inside() { "$@"; }
fi
# the folder of the packages, as the root that builds them has it
place=/packages
[ "$root" ] || place=$folder/packages
rm -rf "$root$place" # never the root itself: place is not empty
mkdir -p "$root$place/packaging"
cp CMakeLists.txt "$root$place/"
cp packaging/deb.sh "$root$place/packaging/"
cp "$folder"/tulle-*.tar.gz "$root$place/"
inside sh "$place/packaging/deb.sh" "$place" >"$folder/deb.log" 2>&1 || { tail -40 "$folder/deb.log"; exit 1; }
echo "Debian packages: $(cd "$root$place/deb" && ls ./*.deb | grep -v dbgsym | wc -l) of them, built in ${root:-this system}"
if command -v lintian >/dev/null 2>&1; then
    # no bug of Debian's asks for the package yet
    lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
        "$root$place"/deb/*.changes
    echo 'lintian: no error, no warning'
else
    echo 'lintian is not installed: left out'
fi
if [ "$root" ]; then
    inside sh -c 'cd /packages/deb && apt-get -q install -y --no-install-recommends --allow-downgrades --reinstall \
        ./libtulle0_*.deb ./libtulle-dev_*.deb ./tulle_*.deb ./libtulle-sim_*.deb ./tulle-doc_*.deb' >"$folder/installed.log"
    inside sh -c 'cd /tmp && cc /usr/share/doc/tulle/examples/from_arrays.c $(pkg-config --cflags --libs tulle) -o user && ./user &&
        tulle spmm rmat:scale=10,seed=1 --cols 8 --check && tulle spmm rmat:scale=10,seed=1 --cols 8 --comm sim --pes 8 --check' \
        >"$folder/used.log" 2>&1 || { cat "$folder/used.log"; exit 1; }
    echo 'installed in the clean root: a program of an example, the command, and a module'
fi
