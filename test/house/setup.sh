#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh SOURCE: the set-up script on a machine where one is root and nothing can be installed, as GPU machines are.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# no package is there, none can be had, and one is root
printf '#!/bin/sh\nexit 1\n' >"$work/dpkg-query"
printf '#!/bin/sh\nexit 100\n' >"$work/apt-get"
printf '#!/bin/sh\necho 0\n' >"$work/id"
chmod +x "$work"/*

output=$(PATH="$work:$PATH" sh "$1/setup.sh" 2>&1)
status=$?
if [ $status != 0 ] || ! printf '%s\n' "$output" | grep -q 'could not be installed:.*zlib1g-dev' ||
    ! printf '%s\n' "$output" | grep -q 'going on without them'; then
    echo "not ok 1 - with cmake there it goes on: status $status"
    printf '%s\n' "$output"
    failed=1
else
    echo "ok 1 - with cmake there it goes on, and says what is left out"
fi

# told to install nothing, it names what is missing and goes on; a wrong word is refused
printf '#!/bin/sh\necho "apt-get $*" >>"%s/installed"\n' "$work" >"$work/apt-get"
output=$(PATH="$work:$PATH" sh "$1/setup.sh" --no-install --all 2>&1)
status=$?
if [ $status = 0 ] && [ ! -e "$work/installed" ] && printf '%s\n' "$output" | grep -q 'apt-get install.* zlib1g-dev.* debootstrap' &&
    ! PATH="$work:$PATH" sh "$1/setup.sh" --none >/dev/null 2>&1; then
    echo "ok 2 - with --no-install it only says what is missing"
else
    echo "not ok 2 - with --no-install it only says what is missing: status $status"
    printf '%s\n' "$output"
    failed=1
fi
printf '#!/bin/sh\nexit 100\n' >"$work/apt-get"

# the same without cmake
mkdir "$work/few"
for tool in sh cc make cat grep sed dirname gcc; do
    path=$(command -v $tool) && ln -s "$path" "$work/few/$tool"
done
output=$(PATH="$work:$work/few" "$work/few/sh" "$1/setup.sh" 2>&1)
status=$?
if [ $status = 1 ] && printf '%s\n' "$output" | grep -q 'there is no cmake'; then
    echo "ok 3 - without cmake it ends, and says why"
else
    echo "not ok 3 - without cmake it ends, and says why: status $status"
    printf '%s\n' "$output"
    failed=1
fi
echo 1..3
exit $failed
