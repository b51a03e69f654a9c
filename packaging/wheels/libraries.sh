#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The libraries that wheels hold inside, static, from the source packages of this system's Debian or Ubuntu: zlib, libbz2,
# liblzma, libzstd, cJSON, and HDF5 with nothing but zlib (no curl, no MPI). No rights of root. libraries.sh FOLDER makes
# FOLDER/libraries with include, lib and licenses.
set -eu
folder=$(cd "$1" && pwd)
. "$(dirname "$0")/toolchain.sh"
make_tools "$folder"
prefix=$folder/libraries
work=$folder/libraries-work
[ ! -e "$prefix/complete-$machine" ] || exit 0
rm -rf "$prefix" "$work"
mkdir -p "$prefix/include" "$prefix/lib" "$prefix/licenses" "$work/lists/partial" "$work/cache/archives/partial"
cd "$work"

# source packages, by lists of this script's own
. /etc/os-release
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\).*/\2/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
echo "deb-src $mirror $VERSION_CODENAME main universe" | sed "$([ "$ID" = ubuntu ] || echo 's/ universe//')" >sources.list
apt() {
    apt-get -q -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o Dir::Etc::sourcelist="$work/sources.list" \
        -o Dir::Etc::sourceparts=- -o APT::Sandbox::User="$(id -un)" "$@"
}
apt update >update.log
apt source hdf5 zlib bzip2 xz-utils libzstd cjson >source.log 2>&1 || { tail -5 source.log; exit 1; }
rm -f ./*.tar.* ./*.dsc

flags='-O3 -fPIC -fvisibility=hidden'
quietly() { "$@" >>build.log 2>&1 || { tail -20 build.log; exit 1; }; }

library() { # NAME FOLDER FILE...: of files that need no more than a compiler
    name=$1 at=$2
    shift 2
    objects=
    for file in "$@"; do
        object=$work/$name-$(basename "$file" .c).o
        # shellcheck disable=SC2086
        quietly "$CC" $flags -c "$at/$file" -o "$object"
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    quietly "$AR" rcs "$prefix/lib/lib$name.a" $objects
}

of() { echo "$work/$1"-*/ | sed 's|/$||'; }

at=$(of cjson)
library cjson "$at" cJSON.c
mkdir "$prefix/include/cjson"
cp "$at/cJSON.h" "$prefix/include/cjson/"
cp "$at/LICENSE" "$prefix/licenses/cJSON.txt"

at=$(of bzip2)
library bz2 "$at" blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c
cp "$at/bzlib.h" "$prefix/include/"
cp "$at/LICENSE" "$prefix/licenses/libbz2.txt"

at=$(of zlib)
(cd "$at" && CFLAGS="$flags" ./configure --static --prefix="$prefix" && make -j "$(nproc)" libz.a) >zlib.log 2>&1 || { tail zlib.log; exit 1; }
cp "$at/libz.a" "$prefix/lib/"
cp "$at/zlib.h" "$at/zconf.h" "$prefix/include/"
sed -n '/^  Copyright/,/^\*\//p' "$at/zlib.h" >"$prefix/licenses/zlib.txt"

at=$(of libzstd)
quietly make -C "$at/lib" -j "$(nproc)" libzstd.a CC="$CC" AR="$AR" CFLAGS="$flags" ZSTD_LEGACY_SUPPORT=0 ZSTD_NO_ASM=1
cp "$at/lib/libzstd.a" "$prefix/lib/"
cp "$at"/lib/*.h "$prefix/include/"
cp "$at/LICENSE" "$prefix/licenses/libzstd.txt"

at=$(of xz-utils)
(cd "$at" && CFLAGS="$flags" ./configure --quiet --host="$machine-linux-gnu" --prefix="$prefix" --disable-shared \
    --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-scripts --disable-doc --disable-nls \
    --disable-symbol-versions && make -C src/liblzma -j "$(nproc)" install) >xz.log 2>&1 || { tail xz.log; exit 1; }
sed -n '1,/^  *- liblzma is/p' "$at/COPYING" >"$prefix/licenses/liblzma.txt"

at=$(of hdf5)
# Debian's patches leave out the type of a function
(cd "$at" && CFLAGS="$flags -Wno-implicit-int -w" ./configure --quiet --host="$machine-linux-gnu" --prefix="$prefix" --disable-shared \
    --disable-tests --disable-tools --disable-hl --disable-cxx --disable-fortran --disable-parallel --enable-threadsafe \
    --without-szlib --with-zlib="$prefix" --enable-build-mode=production && make -C src -j "$(nproc)" install) >hdf5.log 2>&1 ||
    { tail hdf5.log; exit 1; }
cp "$at/COPYING" "$prefix/licenses/HDF5.txt"
cp "$openblas"-*.dist-info/licenses/LICENSE.txt "$prefix/licenses/OpenBLAS.txt"
rm -rf "$work"
: >"$prefix/complete-$machine"
