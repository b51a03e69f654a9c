#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The archive of a release: what is committed, under a folder of its name. Equal commits give equal bytes. dist.sh FOLDER
set -eu
cd "$(dirname "$0")/.."
folder=$1
version=$(sed -n 's/^project(tulle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null) && [ "$tag" != "v$version" ]; then
    echo "dist: the tag is $tag, but CMakeLists.txt says $version" >&2
    exit 1
fi
if [ -z "${tag:-}" ] && after=$(git rev-list --count "v$version..HEAD" 2>/dev/null); then
    echo "dist: HEAD is $after commits after v$version: the archive is not that of the release" >&2
fi
git diff --quiet HEAD || echo 'dist: what is not committed is not in the archive' >&2
mkdir -p "$folder"
git archive --format=tar --prefix="tulle-$version/" HEAD | gzip -n -9 >"$folder/tulle-$version.tar.gz.part"
mv "$folder/tulle-$version.tar.gz.part" "$folder/tulle-$version.tar.gz"
echo "$folder/tulle-$version.tar.gz"
