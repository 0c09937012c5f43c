#!/bin/bash
# Builds and tests slimpack on Debian 12, from any working directory; installs the packages that are missing.
#
#   bash tests/run.sh          every program and test optimised; what runs on threads with the thread sanitizer
#   bash tests/run.sh --full   the same with whole matrices and many more random cases; besides every public header on its
#                              own, and the unit tests with the other sanitizers, and with clang if it is there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1-}" in
  "") ;;
  --full) export SLIMPACK_FULL=1 ;;
  *) echo "usage: tests/run.sh [--full]" >&2; exit 2 ;;
esac

bash cmake/install-packages.sh python3 pkgconf libopenmpi-dev openmpi-bin libsimgrid-dev
jobs=$(nproc)

echo "== gcc-release: every test =="
cmake --preset gcc-release
cmake --build --preset gcc-release -j "$jobs" --target all
ctest --preset gcc-release -j "$jobs"

echo "== gcc-thread: what runs on several threads =="
cmake --preset gcc-thread
cmake --build --preset gcc-thread -j "$jobs"
ctest --preset gcc-thread -j "$jobs"

[[ -n ${SLIMPACK_FULL-} ]] || exit 0

echo "== gcc-release: every header on its own =="
cmake --build --preset gcc-release -j "$jobs" --target all_verify_interface_header_sets

# What the other compilations add is their view of the unit tests.
for preset in gcc-debug clang-debug; do
  if [[ $preset == clang-debug ]] && ! command -v clang++ > /dev/null; then
    echo "== clang-debug: left out, clang++ is not installed =="
    continue
  fi
  echo "== $preset: unit tests =="
  cmake --preset "$preset"
  cmake --build --preset "$preset" -j "$jobs" --target unit-tests
  ctest --preset "$preset" -j "$jobs" -L "unit|runtime"
done
