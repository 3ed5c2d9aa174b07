# shellcheck shell=bash
# What the scripts beside this file share: sourced by them, never run.
# It leaves the caller in the top folder of the repository.

script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Debian keeps the broker in /usr/sbin, which is not on the path of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '==> %s\n' "$*" >&2; }

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '    %s\n' "$@" >&2
    exit 1
}

# Prints the comment at the top of the calling script, which is its help.
show_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$script"; }

# The version that the sources have, in their one place.
waypost_version() {
    sed -n 's/.*static let current = "\([^"]*\)".*/\1/p' Sources/WaypostMessages/Support/Version.swift
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Whether what the Debian package $1 is wanted for is there, however it was installed.
has() {
    case $1 in
    libmosquitto-dev) pkg-config --exists libmosquitto ;;
    libsqlite3-dev) pkg-config --exists sqlite3 ;;
    libjansson-dev) pkg-config --exists jansson ;;
    libssl-dev) pkg-config --exists libcrypto ;;
    libyaml-dev) pkg-config --exists yaml-0.1 ;;
    python3-jsonschema) /usr/bin/python3 -c 'import jsonschema' ;;
    python3-selenium) /usr/bin/python3 -c 'import selenium' ;;
    chromium-driver) command -v chromedriver ;;
    node-typescript) command -v tsc ;;
    nodejs) command -v node ;;
    dpkg-dev) command -v dpkg-buildpackage ;;
    debhelper) command -v dh ;;
    binutils) command -v strip ;;
    systemd) command -v systemd-analyze ;;
    systemd-container) command -v systemd-nspawn ;;
    docker.io) command -v docker && command -v dockerd ;;
    qemu-user-static) command -v qemu-aarch64-static ;;
    binutils-aarch64-linux-gnu) command -v aarch64-linux-gnu-strip ;;
    python3-yaml) /usr/bin/python3 -c 'import yaml' ;;
    mosquitto-clients) command -v mosquitto_pub && command -v mosquitto_sub ;;
    *) command -v "$1" ;;
    esac >/dev/null 2>&1
}

# Installs, with apt, those of the named Debian packages that are missing.
require_packages() {
    local package missing=()
    for package in "$@"; do
        has "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get >/dev/null ||
        fail "missing, and there is no apt-get to install it with: ${missing[*]}" \
            "Install what these Debian packages hold with your own package manager, then run this again."
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        fail "missing: ${missing[*]}; to install them takes root, and there is no sudo. As root, run:" \
            "apt-get update && apt-get install ${missing[*]}"

    say "missing: ${missing[*]}; installing with apt"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
    if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
        as_root apt-get update -q
        as_root "${install[@]}" "${missing[@]}"
    elif ! as_root "${install[@]}" "${missing[@]}"; then
        say "that failed; trying once more with fresh package lists"
        as_root apt-get update -q
        as_root "${install[@]}" "${missing[@]}"
    fi
    for package in "${missing[@]}"; do
        has "$package" || fail "$package was installed, but cannot be used"
    done
    # Debian starts a broker as soon as its package is there; nothing here uses that one.
    for package in "${missing[@]}"; do
        case $package in
        mosquitto | rabbitmq-server | nats-server)
            [ ! -d /run/systemd/system ] ||
                say "Debian has started its own $package; 'systemctl disable --now $package' stops it"
            ;;
        esac
    done
}

# Everything that building and running needs, except Swift.
require_system_packages() {
    require_packages pkg-config libmosquitto-dev libsqlite3-dev libssl-dev libyaml-dev \
        mosquitto mosquitto-clients openssl
}

require_swift() {
    local wanted=6.2 found
    command -v swift >/dev/null ||
        fail "Swift $wanted or newer is needed, and there is no swift on the path" \
            "How to install it: https://www.swift.org/install/linux/"
    found=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
    [ -n "$found" ] || fail "'swift --version' prints no version; is the toolchain complete?" "$(command -v swift)"
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ] ||
        fail "Swift $wanted or newer is needed; $(command -v swift) is $found" \
            "How to update it: https://www.swift.org/install/linux/"
}
