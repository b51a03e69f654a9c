#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prepares a release: all files must name the version of CMakeLists.txt; `release.sh check` says only whether they do.
# `release.sh DATE` (as 2026-11-30) dates the newest heading of CHANGELOG.md, CITATION.cff and Debian's changelog, and says
# what is left to do; `release.sh tagged`, once that is committed and tagged, names the tag's commit in CHANGELOG.md;
# `release.sh next VERSION` after that raises the version in all files: what is built later is no release.
set -eu
cd "$(dirname "$0")/.."
[ $# = 1 ] || [ "$#:${1:-}" = 2:next ] || { sed -n 's/^# //p' "$0" >&2; exit 2; }
version=$(sed -n 's/^project(tulle VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
bad=0
names() { # FILE PATTERN: a line of it must match
    grep -q "$2" "$1" || { echo "release: $1 does not name $version" >&2; bad=1; }
}
number=$(echo "$version" | sed 's/\./\\./g')
names pyproject.toml "^version = \"$number\"\$"
names python/CMakeLists.txt "^project(tulle_python VERSION $number "
names CITATION.cff "^version: $number\$"
names CHANGELOG.md "^## $number ("
names packaging/debian/changelog "^tulle ($number-"
names packaging/conda/meta.yaml "set version = \"$number\""
names packaging/spack/package.py "version(\"$number\", tag=\"v$number\")"
[ "$(sed -n 's/^## \([0-9.]*\) .*/\1/p' CHANGELOG.md | head -1)" = "$version" ] ||
    { echo "release: the newest heading of CHANGELOG.md is not $version" >&2; bad=1; }
[ $bad = 0 ] || exit 1
if [ "$1" = check ]; then
    echo "version $version, in all files"
    exit 0
fi
if [ "$1" = tagged ]; then
    commit=$(git rev-parse -q --verify "v$version^{commit}") || { echo "release: there is no tag v$version" >&2; exit 1; }
    git show "$commit:CHANGELOG.md" | grep -q "^## $number ([0-9-]*)\$" || { echo "release: v$version has no date in CHANGELOG.md" >&2; exit 1; }
    ! grep -q "^Tag \`v$number\`, commit" CHANGELOG.md || { echo "release: CHANGELOG.md names its commit already" >&2; exit 1; }
    sed -i "s/^## $number (.*)\$/&\n\nTag \`v$version\`, commit $commit./" CHANGELOG.md
    echo "CHANGELOG.md names v$version's commit, $commit"
    exit 0
fi
if [ "$1" = next ]; then
    git rev-parse -q --verify "v$version^{commit}" >/dev/null || { echo "release: there is no tag v$version" >&2; exit 1; }
    if [ "$2" = "$version" ] || ! echo "$2" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' ||
        [ "$(printf '%s\n' "$version" "$2" | sort -V | tail -1)" != "$2" ]; then
        echo "release: '$2' is no version after $version" >&2
        exit 2
    fi
    sed -i "s/^project(tulle VERSION $number /project(tulle VERSION $2 /" CMakeLists.txt
    sed -i "s/^project(tulle_python VERSION $number /project(tulle_python VERSION $2 /" python/CMakeLists.txt
    sed -i "s/^version = \"$number\"\$/version = \"$2\"/" pyproject.toml
    sed -i "/^date-released:/d; s/^version: $number\$/version: $2/" CITATION.cff
    sed -i "s/set version = \"$number\"/set version = \"$2\"/" packaging/conda/meta.yaml
    sed -i "s/^    version(\"$number\", /    version(\"$2\", tag=\"v$2\")\n&/" packaging/spack/package.py
    sed -i "0,/^## /s/^## /## $2 (unreleased)\n\n&/" CHANGELOG.md
    { printf 'tulle (%s-1) unstable; urgency=medium\n\n  * Not released yet.\n\n' "$2"
        sed -n '/^ -- /{p;q}' packaging/debian/changelog
        echo; } >packaging/debian/changelog.new
    cat packaging/debian/changelog >>packaging/debian/changelog.new
    mv packaging/debian/changelog.new packaging/debian/changelog
    exec ./packaging/release.sh check
fi
date -d "$1" +%F | grep -qx "$1" || { echo "release: '$1' is no date as 2026-11-30" >&2; exit 2; }
grep -qx "## $version (unreleased)" CHANGELOG.md || { echo "release: CHANGELOG.md has no '## $version (unreleased)'" >&2; exit 1; }
sed -i "s/^## $number (unreleased)\$/## $version ($1)/" CHANGELOG.md
sed -i "/^date-released:/d; s/^version: $number\$/&\ndate-released: \"$1\"/" CITATION.cff
sed -i "0,/^  [*] Not released yet/s//  * See CHANGELOG.md/" packaging/debian/changelog
sed -i "0,/^ -- /s/^\( -- .*>  \).*/\1$(LC_ALL=C date -u -d "$1 12:00" -R)/" packaging/debian/changelog
echo "version $version is dated $1 in CHANGELOG.md, CITATION.cff and packaging/debian/changelog. Next:"
echo "    git commit -am 'Release $version'"
echo "    git tag -a v$version -m 'Tulle $version'"
echo "    make dist wheels          # of the tag: build/tulle-$version.tar.gz, build/wheels"
echo "    make check-all PART=data  # abi/released compares with the tag"
echo "    packaging/release.sh tagged && git commit -am 'Changelog: the commit of $version'"
echo "    packaging/release.sh next VERSION && git commit -am 'Version VERSION begins'"
echo "    git push --follow-tags    # the forge's workflow keeps wheels as files of its run"
