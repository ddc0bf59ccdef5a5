#!/usr/bin/env bash
# Download Debian's Arm Compute Library for arm64 and unpack it to a folder, as any user. Nothing else
# on this machine changes: apt works with lists of its own.
#
#   tools/acl.sh DIR     # then ARM_COMPUTE_PATH=DIR/usr
set -euo pipefail

readonly VERSION=20.08+dfsg-7
readonly PACKAGES=("libarm-compute-dev:arm64=$VERSION" "libarm-compute20:arm64=$VERSION")
readonly MARKER=usr/include/aarch64-linux-gnu/arm_compute/core/Types.h

die() {
    printf 'acl: %s\n' "$*" >&2
    exit 1
}

[[ $# == 1 ]] || die "usage: tools/acl.sh DIR"
[[ ! -e $1/$MARKER ]] || exit 0
command -v apt-get >/dev/null || die "there is no apt-get; unpack libarm-compute-dev $VERSION for arm64 yourself"

work=$(mktemp -d -t ethosgen-acl.XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,archives/partial,unpacked}
touch "$work/status"
cat >"$work/apt.conf" <<EOF
APT::Architectures { "$(dpkg --print-architecture)"; "arm64"; };
APT::Sandbox::User "";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work";
EOF
export APT_CONFIG=$work/apt.conf
(
    cd "$work"
    { apt-get update -q && apt-get download -q "${PACKAGES[@]}"; } >"$work/log" 2>&1
) || {
    tail -n 5 "$work/log" >&2
    die "apt found no ${PACKAGES[0]}; it is in Debian 12, so name a server of Debian 12 in apt's sources"
}
for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/unpacked"
done
[[ -e $work/unpacked/$MARKER ]] || die "the packages have no $MARKER"
mkdir -p "$1"
cp -a "$work/unpacked/." "$1/"
