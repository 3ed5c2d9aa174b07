# shellcheck shell=bash
# What the scripts beside this file share: sourced by them, never run.
# It leaves the caller in the top folder of the repository.

script=$(realpath "$0")
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# Debian keeps the broker in /usr/sbin, which is not on the path of an ordinary user.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '==> %s\n' "$*" >&2; }

# Prints the comment at the top of the calling script, which is its help.
show_help() { awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$script"; }

# What one types for the calling script, as its help says: scripts/check broker.
command_name() {
    local name
    name=$(show_help | sed -nE '1s/^Usage: (scripts\/[a-z/-]+( (--)?[a-z]+)?)( .*)?$/\1/p')
    printf '%s' "${name:-${script#"$PWD"/}}"
}

fail() {
    printf '%s: %s\n' "$(command_name)" "$1" >&2
    shift
    [ $# -eq 0 ] || printf '    %s\n' "$@" >&2
    exit 1
}

# Wrong usage: $1 says what is wrong with the word $2, and the rest are the words that it may be.
usage_error() {
    local text=$1 word=$2 meant
    shift 2
    # By how many letters must change; a word that has little in common is not meant.
    meant=$(printf '%s\n' "$@" | awk -v word="$word" '
        function least(a, b) { return a < b ? a : b }
        {
            for (j = 0; j <= length($0); j++) row[j] = j
            for (i = 1; i <= length(word); i++) {
                corner = row[0]
                row[0] = i
                for (j = 1; j <= length($0); j++) {
                    above = row[j]
                    same = substr(word, i, 1) == substr($0, j, 1)
                    row[j] = least(least(above, row[j - 1]) + 1, corner + !same)
                    corner = above
                }
            }
            if (NR == 1 || row[length($0)] < distance) { best = $0; distance = row[length($0)] }
        }
        END { if (distance <= 1 + length(word) / 3) print best }')
    if [ -n "$meant" ]; then meant="; did you mean $meant? See"; else meant="; see"; fi
    printf '%s: %s: %s%s %s --help\n' "$(command_name)" "$text" "$word" "$meant" "$(command_name)" >&2
    exit 64
}

# An option that the help of the calling script does not name.
no_option() {
    local options
    mapfile -t options < <({ echo --help; show_help; } | grep -oE -- '--[a-z][a-z-]*' | sort -u)
    usage_error "no such option" "$1" "${options[@]}"
}

# Runs the part $2 of a command, which is a file in the folder scripts/$1, with the rest. It is not on the list of
# commands: its help is that of `scripts/check NAME --help` and the like.
run_part() {
    local folder=$1 name=$2
    shift 2
    exec "scripts/$folder/$name" "$@"
}

# How everything is built that is no release, for all scripts. A module is compiled as a whole, and without an index and
# debug information: that takes half of the time, and what did not change of a module's interface compiles no other.
# Nothing is optimised, and assertions hold; the configuration is called release only because in the other one others'
# packages check themselves: the parser of arguments looks at its declarations so often that a verb takes twice the time.
# A module's interface is written by the process that compiles it: another one for that expands all macros of tests again.
compile_flags=(-c release -Xswiftc -Onone -Xswiftc -enable-testing -Xswiftc -DFAULT_POINTS --disable-dead-strip
    --disable-index-store -Xswiftc -gnone -Xswiftc -num-threads -Xswiftc 2 -Xswiftc -no-emit-module-separately-wmo)

# Sets build_flags for the scripts' own folder, .build-scripts, which serves test, check, demo, console and cluster:
# `swift build "${build_flags[@]}"`. It is not that of `swift build`, whose other flags would compile all of it again.
# What was built is in .build-scripts/bin.
#
# A switch of traits or of strictness compiles all of our own targets again, so the folder keeps to what it was built
# with once, see build_with.
shared_build() {
    build_flags=(--scratch-path .build-scripts "${compile_flags[@]}")
    mkdir -p .build-scripts
    ln -sfn release .build-scripts/bin
    if [ -e .build-scripts/with-strict ]; then export WAYPOST_STRICT=1; fi
    if [ -e .build-scripts/with-console ]; then build_flags+=(--traits "default,Console"); fi
}

# Who has just built all that is in that folder says so with ALL_IS_BUILT=1, as CI does for the steps that it begins then:
# each look whether there is something to build takes seconds of a processor, and has the others wait for its end.
if [ -n "${ALL_IS_BUILT:-}" ]; then
    swift() {
        case " $* " in
        *" --scratch-path .build-scripts "*" --show-bin-path "*) printf '%s/.build-scripts/release\n' "$PWD" ;;
        *" --scratch-path .build-scripts "*) ;;
        *) command swift "$@" ;;
        esac
    }
fi

# From now on that folder is built with these: `strict`, warnings as errors, as scripts/check wants; `console`, the console's
# web server, as scripts/console does. To forget them: rm .build-scripts/with-*
build_with() {
    local setting
    mkdir -p .build-scripts
    for setting in "$@"; do [ -e ".build-scripts/with-$setting" ] || : >".build-scripts/with-$setting"; done
    shared_build
}

# Builds the tests and what they start in the folder $1, with build_flags; what follows stands before each command.
#
# Not by `--build-tests`: in the end, and on one processor, that builds the programs of others' packages too, and for them the
# parser of arguments once more. What a suite depends on comes with it, also a program.
build_tests() {
    local folder=$1 suites=,${WAYPOST_SUITES:-WaypostTests},
    local probe=$folder/release/LinkedProbe stamp=$folder/linked-probe
    shift
    [ -z "${ALL_IS_BUILT:-}" ] || return 0
    # To find out that there is nothing to build takes the package manager seconds. When a file was changed is what the system
    # says (ctime), for whoever copies an older one may keep its date.
    local built=$folder/built-tests compiler
    compiler=$(stat -Lc '%n %Y' "$(type -P swift)")
    local key="$compiler ${build_flags[*]} ${WAYPOST_SUITES:-} ${WAYPOST_STRICT:-}"
    if [ -x "$folder/release/waypostPackageTests.xctest" ] && [ "$(cat "$built" 2>/dev/null)" = "$key" ] &&
        [ -z "$(find -L Package.* Sources Tests -path Tests/Benchmarks -prune -o -cnewer "$built" -print -quit)" ]; then
        return 0
    fi
    rm -f "$built"
    printf '%s\n' "$key" >"$built.new"
    "$@" swift build --product waypostPackageTests "${build_flags[@]}"
    # It starts the program and does not depend on it, so as not to wait for it; among all suites others do.
    [[ $suites != *,SnippetTests,* ]] || "$@" swift build --product waypost "${build_flags[@]}"
    # No suite depends on this one: what it declares would be in the routers of all tests.
    if [[ $suites == *,WaypostTests,* ]] &&
        { [ ! -x "$probe" ] || [ ! -e "$stamp" ] || [ -n "$(find Package.swift Sources/C* Sources/Threading Sources/Waypost \
            Tests/LinkedProbe -newer "$stamp" -print -quit)" ]; }; then
        : >"$stamp.new"
        "$@" swift build --product LinkedProbe "${build_flags[@]}"
        mv "$stamp.new" "$stamp"
    fi
    mv "$built.new" "$built"
}

# Sets build_flags for $1: `debug`, the folder above, or `release`, optimised, in one of its own.
flags_of() {
    case $1 in
    debug) shared_build ;;
    release) build_flags=(--configuration release --scratch-path .build-release --traits "default,Console") ;;
    *) fail "--configuration is debug or release, not '$1'" ;;
    esac
}

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
    zlib1g-dev) pkg-config --exists zlib ;;
    python3-jsonschema) /usr/bin/python3 -c 'import jsonschema' ;;
    python3-selenium) /usr/bin/python3 -c 'import selenium' ;;
    chromium-driver) command -v chromedriver ;;
    node-typescript) command -v tsc ;;
    nodejs) command -v node ;;
    xvfb) command -v Xvfb ;;
    xdg-utils) command -v xdg-open ;;
    nginx-light) command -v nginx || [ -x /usr/sbin/nginx ] ;;
    dpkg-dev) command -v dpkg-buildpackage ;;
    debhelper) command -v dh ;;
    binutils) command -v strip ;;
    systemd) command -v systemd-analyze ;;
    systemd-container) command -v systemd-nspawn ;;
    docker.io) command -v docker && command -v dockerd ;;
    qemu-user-static) command -v qemu-aarch64-static ;;
    binutils-aarch64-linux-gnu) command -v aarch64-linux-gnu-strip ;;
    python3-yaml) /usr/bin/python3 -c 'import yaml' ;;
    python3-venv) /usr/bin/python3 -c 'import ensurepip, venv' ;;
    node-mqtt) [ -d /usr/share/nodejs/mqtt ] ;;
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
        zlib1g-dev mosquitto mosquitto-clients openssl
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
