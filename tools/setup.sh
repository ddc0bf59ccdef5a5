#!/usr/bin/env bash
# Install ethosgen's requirements on Debian or Ubuntu, and create .venv. Quick if all is installed.
#
#   PYTHON=/path/to/python3.12 tools/setup.sh     # choose the Python for .venv
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VENV=.venv
readonly STAMP=$VENV/.ethosgen-setup
readonly PYTHON_VERSIONS="3.11, 3.12 or 3.13"

say() { printf 'setup: %s\n' "$*"; }

die() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

# Run a command with its output in a log. Only if the command fails, show the end of the log, without
# the warnings that pip repeats for every package if its configuration names a missing index.
quietly() {
    local log
    log=$(mktemp -t ethosgen-setup.XXXXXX)
    if ! "$@" >"$log" 2>&1; then
        printf 'setup: this failed: %s\n' "$*" >&2
        grep -v "^WARNING: Location '.*' is ignored" "$log" | tail -n 40 >&2
        die "the whole log is in $log"
    fi
    rm -f "$log"
}

have() { command -v "$1" >/dev/null 2>&1; }

# If only the compiler is requested, apt-get installs it without a C library.
have_newlib() {
    have arm-none-eabi-gcc && [[ $(arm-none-eabi-gcc -print-file-name=libc.a) == */* ]]
}

# The same is true of the compiler for 64-bit Arm Linux.
have_glibc() {
    have aarch64-linux-gnu-g++ && [[ $(aarch64-linux-gnu-g++ -print-file-name=libc.a) == */* ]]
}

suits() {
    have "$1" && "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if suits "$candidate"; then
            echo "$candidate"
            return
        fi
    done
}

# Ubuntu 22.04's python3 is 3.10, but it has a python3.11 beside it.
newer_python() {
    local version
    for version in 3.13 3.12 3.11; do
        if have apt-cache && apt-cache show "python$version-venv" >/dev/null 2>&1; then
            printf '%s\n' "python$version" "python$version-venv"
            return
        fi
    done
    return 1
}

missing_packages() {
    local python
    have_newlib || printf '%s\n' gcc-arm-none-eabi libnewlib-arm-none-eabi
    have qemu-system-arm || echo qemu-system-arm
    have_glibc || printf '%s\n' gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross
    have qemu-aarch64 || echo qemu-user
    have cmake || echo cmake
    have ninja || echo ninja-build
    have make || echo make
    have cc || printf '%s\n' gcc libc6-dev
    python=$(find_python)
    if [[ -z $python ]]; then
        have python3 && newer_python || printf '%s\n' python3 python3-venv
    elif ! has_venv "$python"; then
        echo "python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
    fi
}

apt() {
    if [[ $(id -u) -eq 0 ]]; then
        DEBIAN_FRONTEND=noninteractive apt-get "$@"
    else
        sudo DEBIAN_FRONTEND=noninteractive apt-get "$@"
    fi
}

install_packages() {
    local packages
    mapfile -t packages < <(missing_packages)
    [[ ${#packages[@]} -gt 0 ]] || return 0
    have apt-get || die "install these (Debian's names) with your system's package manager: ${packages[*]}"
    if [[ $(id -u) -ne 0 ]] && ! have sudo; then
        die "ask an administrator to run:  apt-get update && apt-get install -y ${packages[*]}"
    fi
    say "installing ${packages[*]}"
    if [[ $(id -u) -ne 0 ]]; then
        sudo -v || die "sudo was refused; ask an administrator to run:  apt-get install -y ${packages[*]}"
    fi
    quietly apt update -q
    quietly apt install -y -q --no-install-recommends "${packages[@]}"
}

# With ccache the tests compile a source once for all projects; without it they only take longer.
install_ccache() {
    have ccache || ! have apt-get || [[ $(id -u) -ne 0 ]] ||
        apt install -y -q --no-install-recommends ccache >/dev/null 2>&1 || true
}

# On a new machine, apt-get finds no other Python until its lists have been updated.
install_newer_python() {
    local packages
    [[ -z $(find_python) ]] || return 0
    [[ -z ${PYTHON:-} ]] || die "PYTHON=$PYTHON is not Python $PYTHON_VERSIONS"
    mapfile -t packages < <(newer_python)
    [[ ${#packages[@]} -gt 0 ]] ||
        die "no Python $PYTHON_VERSIONS here: install one, then run:  make setup PYTHON=/path/to/python3.12"
    say "installing ${packages[*]}, since python3 is $(python3 --version)"
    quietly apt install -y -q --no-install-recommends "${packages[@]}"
}

# Identify the place and the pyproject.toml of .venv: if one of them changes, install again.
fingerprint() {
    echo "$PWD"
    sha256sum pyproject.toml
}

make_environment() {
    local python
    if [[ -f $STAMP && -x $VENV/bin/python && $(<"$STAMP") == "$(fingerprint)" ]]; then
        return
    fi
    if [[ -f $STAMP && $(head -n 1 "$STAMP") != "$PWD" ]]; then
        say "$VENV was made in another directory, and its commands point there: making it again"
        rm -rf "$VENV"
    fi
    if [[ ! -x $VENV/bin/python ]] || ! suits "$VENV/bin/python"; then
        python=$(find_python)
        say "making $VENV with $("$python" --version)"
        rm -rf "$VENV"
        quietly "$python" -m venv "$VENV"
    fi
    install_ccache
    say "installing Python packages into $VENV (TVM, Vela, TFLite Micro: a minute or two)"
    quietly "$VENV/bin/python" -m pip install --disable-pip-version-check --editable '.[dev,demo,packs]'
    fingerprint >"$STAMP"
    say "done: $VENV/bin/ethosgen is ready"
}

# If PYTHONDONTWRITEBYTECODE is set, every command would otherwise compile all of ethosgen again.
compile_ethosgen() {
    "$VENV/bin/python" -m compileall -q generator >/dev/null || true # without it, only slower
}

install_packages
install_newer_python
make_environment
compile_ethosgen
