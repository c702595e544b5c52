#!/usr/bin/env bash
# tools/setup.sh: installs what building, testing and running Hocket needs on
# Debian 12, through apt. Changes nothing, and needs no network, when all of it
# is there. On another system it prints the list and stops.
#
# LLVM 22 is not part of Debian 12: LLVM's own apt repository for bookworm has
# to be among apt's sources.
#
# Exit: 0 everything is installed, 2 another system or packages out of reach,
# 4 apt failed.
set -euo pipefail

packages=(
  # compiler, linker, build
  clang-22 lld-22 g++ ccache cmake ninja-build git
  # MLIR and LLVM; FileCheck and lit come with llvm-22-tools
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  # libraries
  libdnnl-dev flatbuffers-compiler libflatbuffers-dev libxxhash-dev
  nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libfmt-dev
  # tests: unit tests, sanitizers and libFuzzer, formatting, test drivers
  libgtest-dev libclang-rt-22-dev clang-format-22 python3
  # a text to train on
  bible-kjv bible-kjv-text
)

say() { echo "tools/setup.sh: $*" >&2; }

system=unknown
if [ -r /etc/os-release ]; then
  system=$(. /etc/os-release && echo "${ID:-unknown} ${VERSION_ID:-}")
fi
if [ "$system" != "debian 12" ] || ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  say "this is '$system'; only Debian 12 is set up by itself. Needed, by their Debian names:"
  printf '  %s\n' "${packages[@]}" >&2
  exit 2
fi

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/ installed$//p') || true
  comm -23 <(printf '%s\n' "${packages[@]}" | sort -u) <(printf '%s\n' "$installed" | sort -u)
}

mapfile -t missing < <(missing_packages)
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    say "not root, and there is no sudo; as root: apt-get install ${missing[*]}"
    exit 2
  fi
  as_root=(sudo)
fi

say "installing ${missing[*]}"
"${as_root[@]}" apt-get -q update </dev/null >&2 || { say "apt-get update failed"; exit 4; }

unreachable=()
for package in "${missing[@]}"; do
  candidate=$(LC_ALL=C apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
  if [ -z "$candidate" ] || [ "$candidate" = "(none)" ]; then
    unreachable+=("$package")
  fi
done
if [ ${#unreachable[@]} -gt 0 ]; then
  say "apt has no candidate for ${unreachable[*]}"
  case "${unreachable[*]}" in
    *-22*) say "hint: add LLVM's apt repository for bookworm, suite llvm-toolchain-bookworm-22, to apt's sources" ;;
  esac
  exit 2
fi

"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}" \
  </dev/null >&2 || { say "apt-get install failed"; exit 4; }

mapfile -t missing < <(missing_packages)
if [ ${#missing[@]} -gt 0 ]; then
  say "still missing after the installation: ${missing[*]}"
  exit 4
fi
