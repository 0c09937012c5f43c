#!/bin/bash
# Builds and tests slimpack on Debian 12, from any working directory; installs the packages that are missing.
#
#   bash tests/run.sh               every program and test, optimised
#   bash tests/run.sh --sanitizers  what runs on threads with the thread sanitizer, the unit tests with address and
#                                   undefined behaviour
#   bash tests/run.sh --full        both, with whole matrices and many more random cases; besides every public header on
#                                   its own, the unit tests and a minute of each fuzzer with clang if it is there, and
#                                   as root every command of the READMEs on a bare Debian 12 if debootstrap is there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1-}" in
  "") optimised=1 ;;
  --sanitizers) sanitizers=1 ;;
  --full) optimised=1 sanitizers=1; export SLIMPACK_FULL=1 ;;
  *) echo "usage: tests/run.sh [--sanitizers | --full]" >&2; exit 2 ;;
esac

bash cmake/install-packages.sh python3 pkgconf libopenmpi-dev openmpi-bin libsimgrid-dev coinor-libcbc-dev libboost-iostreams-dev
jobs=$(nproc)
tests=$((jobs + 1))  # at a time: some wait more than they work

# Runs a command and notes under a name how long it took.
took=()
timed() {
  local name=$1 begin=$SECONDS
  shift
  "$@"
  took+=("$name=$((SECONDS - begin))")
}

# Where the minutes went, also of a run that fails.
print_times() {
  if [[ ${#took[@]} -gt 0 ]]; then
    python3 tests/where_time_goes.py "build/$1" "${took[@]}" || true
    took=()
  fi
}

if [[ -n ${optimised-} ]]; then
  echo "== gcc-release: every test =="
  trap 'print_times gcc-release' EXIT
  timed configure cmake --preset gcc-release
  timed build cmake --build --preset gcc-release -j "$jobs" --target all
  timed ctest ctest --preset gcc-release -j "$tests"
  print_times gcc-release
  trap - EXIT
fi

if [[ -n ${sanitizers-} ]]; then
  echo "== gcc-thread: what runs on several threads =="
  cmake --preset gcc-thread
  cmake --build --preset gcc-thread -j "$jobs"
  ctest --preset gcc-thread -j "$tests"
fi

# What these compilations add is their view of the unit tests.
unit_tests() {
  echo "== $1: unit tests =="
  cmake --preset "$1"
  cmake --build --preset "$1" -j "$jobs" --target unit-tests
  ctest --preset "$1" -j "$tests" -L "unit|runtime"
}
[[ -z ${sanitizers-} ]] || unit_tests gcc-debug

if [[ -n ${SLIMPACK_FULL-} ]]; then
  if ((EUID == 0)) && command -v debootstrap > /dev/null; then
    echo "== every command of the READMEs on a bare Debian 12, as a user and as root =="
    python3 tests/readme_commands_test.py --chroot build/bare
  else
    echo "== commands of the READMEs on a bare Debian 12: left out, that takes root and debootstrap =="
  fi
  echo "== gcc-release: every header on its own =="
  cmake --build --preset gcc-release -j "$jobs" --target all_verify_interface_header_sets
  if command -v clang++ > /dev/null; then
    bash cmake/install-packages.sh libclang-rt-14-dev
    unit_tests clang-debug
    echo "== fuzzers: a minute each =="
    bash tests/fuzz/run.sh 60 || (($? == 77))
  else
    echo "== clang-debug: left out, clang++ is not installed =="
  fi
fi
