# SPDX-License-Identifier: Apache-2.0
# TAP lines and a folder of the script's own, to be read by `.`. Figures of this machine are measured there too, or once
# for all scripts in the folder $TULLE_TEST_CACHE.
. "$(dirname "$0")/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="${TULLE_TEST_CACHE:-$work/cache}"
