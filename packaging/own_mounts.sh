# SPDX-License-Identifier: Apache-2.0
# Read by scripts that mount /proc in clean roots: they start again where only they see their mounts, so that one that is
# killed leaves none. Without the rights for it they go on as they are.
if [ -z "${TULLE_OWN_MOUNTS:-}" ] && unshare --mount true 2>/dev/null; then
    export TULLE_OWN_MOUNTS=1
    exec unshare --mount "$0" "$@"
fi
