#!/usr/bin/env bash
# Install Chromium from Debian, in which tests open the pages that ethosgen writes.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
    ! command -v "$name" >/dev/null || exit 0
done

die() {
    printf 'browser: %s\n' "$*" >&2
    exit 1
}

command -v apt-get >/dev/null || die "install Chromium with your system's package manager"
as_root=()
if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || die "ask an administrator to run:  apt-get install -y chromium"
    as_root=(sudo)
fi
log=$(mktemp -t ethosgen-browser.XXXXXX)
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y -q --no-install-recommends chromium; }
{ install || { "${as_root[@]}" apt-get update -q && install; }; } >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "apt-get could not install chromium; the whole log is in $log"
}
rm -f "$log"
