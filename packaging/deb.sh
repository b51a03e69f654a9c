#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Debian packages of the archive of `make dist`: source and binary, in FOLDER/deb. nanobind is in Debian from 13 on; where
# it is not, python3-tulle is left out. deb.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tulle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
work=$1/deb
rm -rf "$work"
mkdir -p "$work"
cp "$1/tulle-$version.tar.gz" "$work/tulle_$version.orig.tar.gz"
tar -x -z -f "$1/tulle-$version.tar.gz" -C "$work"
cp -r "$work/tulle-$version/packaging/debian" "$work/tulle-$version/debian"
profiles=
if ! dpkg-query -W nanobind-dev >/dev/null 2>&1; then
    echo 'deb: there is no nanobind-dev: python3-tulle is left out'
    profiles=nopython
fi
cd "$work/tulle-$version"
DEB_BUILD_PROFILES=$profiles DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" \
    dpkg-buildpackage --no-sign --build=full
