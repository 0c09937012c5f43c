#!/bin/bash
# Installs with apt those Debian packages that are missing and that slimpack's preset gcc-release builds with, and any
# more that are named as arguments. Does nothing when all are there.
set -euo pipefail

packages=(g++ cmake ninja-build libeigen3-dev libboost-dev librange-v3-dev nlohmann-json3-dev libcli11-dev libgtest-dev
          libbenchmark-dev "$@")

if ! command -v dpkg-query > /dev/null; then
  echo "This is no Debian system, so nothing is installed; on Debian 12 the packages are: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

# A stale list of some other repository must not stop the installation, so an update may fail.
commands="apt-get update; apt-get install -y --no-install-recommends ${missing[*]}"
echo "Installing ${missing[*]}"
if ((EUID == 0)); then
  DEBIAN_FRONTEND=noninteractive sh -c "$commands"
elif ! command -v sudo > /dev/null || ! sudo env DEBIAN_FRONTEND=noninteractive sh -c "$commands"; then
  echo "Packages are missing. As root, run: $commands" >&2
  exit 1
fi
