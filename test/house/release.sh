#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packaging/release.sh in a repository of the files that it changes: a release, the tag's commit, the version after it, and
# what it refuses; packaging/dist.sh tells the release's archive from later ones. release.sh SOURCES
set -u
sources=$1
if ! command -v git >/dev/null 2>&1; then
    echo '1..0 # SKIP there is no git'
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$sources/test/tool/tap.sh"
for file in CMakeLists.txt pyproject.toml python/CMakeLists.txt CITATION.cff CHANGELOG.md packaging/debian/changelog \
    packaging/conda/meta.yaml packaging/spack/package.py packaging/release.sh packaging/dist.sh; do
    mkdir -p "$work/tree/$(dirname $file)"
    cp "$sources/$file" "$work/tree/$file"
done
cd "$work/tree" || exit 1
version=$(sed -n 's/^project(tulle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
sed -i "0,/^## $version (.*/s//## $version (unreleased)/; /^Tag \`v$version\`/d" CHANGELOG.md
git init -q .
commit() { git add . && git -c user.name=a -c user.email=a@localhost commit -q -m "$1"; }
commit first
release=./packaging/release.sh

! $release tagged 2>/dev/null && ! $release next 9.0.0 2>/dev/null && ! $release 2026-13-40 2>/dev/null && git diff --quiet
report $? "without a tag, or with no date: refused, nothing changes"
$release 2026-11-30 >/dev/null && grep -qx "## $version (2026-11-30)" CHANGELOG.md && grep -qx 'date-released: "2026-11-30"' CITATION.cff &&
    grep -q '30 Nov 2026' packaging/debian/changelog && ! $release 2026-12-01 2>/dev/null
report $? "a date, once"
commit release
git -c user.name=a -c user.email=a@localhost tag -a "v$version" -m release
tagged=$(git rev-parse HEAD)
./packaging/dist.sh "$work/out" >/dev/null 2>"$work/said" && ! grep -q after "$work/said"
report $? "the archive of the tag"
$release tagged >/dev/null && grep -qx "Tag \`v$version\`, commit $tagged." CHANGELOG.md && ! $release tagged 2>/dev/null
report $? "the tag's commit, once"
commit changelog
./packaging/dist.sh "$work/out" >/dev/null 2>"$work/said" && grep -q "1 commits after v$version" "$work/said"
report $? "an archive of a later commit says so"
! $release next "$version" 2>/dev/null && ! $release next 0.0.1 2>/dev/null && ! $release next 9 2>/dev/null && git diff --quiet
report $? "a version that is not after this one: refused"
$release next 9.0.1 >/dev/null && [ "$($release check)" = "version 9.0.1, in all files" ] && commit next && $release 2027-01-01 >/dev/null &&
    grep -qx '## 9.0.1 (2027-01-01)' CHANGELOG.md && grep -qx "## $version (2026-11-30)" CHANGELOG.md
report $? "the next version, and its release"
report_end
