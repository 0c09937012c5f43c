#!/bin/bash
# Builds and tests slimpack on Debian 12, from any working directory; installs the packages that are missing.
#
#   bash tests/run.sh               every test and what it runs, optimised
#   bash tests/run.sh --sanitizers  by clang++, which compiles them in a fraction of g++'s time: what runs on threads with
#                                   the thread sanitizer, the unit tests with address and undefined behaviour
#   bash tests/run.sh --full        both, with whole matrices and many more random cases; besides every benchmark, every public
#                                   header and every unit test's file on its own, a minute of each fuzzer, and as root every command
#                                   of the READMEs on a bare Debian 12 if debootstrap is there
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unity=ON  # in one translation unit a file can live on what another includes: --full looks at each on its own
case "${1-}" in
  "") optimised=1 ;;
  --sanitizers) sanitizers=1 ;;
  --full) optimised=1 sanitizers=1 unity=OFF; export SLIMPACK_FULL=1 ;;
  *) echo "usage: tests/run.sh [--sanitizers | --full]" >&2; exit 2 ;;
esac

bash cmake/install-packages.sh python3 pkgconf libopenmpi-dev openmpi-bin libsimgrid-dev coinor-libcbc-dev \
  libtorch-dev libboost-iostreams-dev clang-format ${sanitizers+clang libclang-rt-14-dev}
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

# Builds a target of a preset and runs the preset's tests; further arguments are the configuration's.
run_preset() {
  local preset=$1 target=$2
  shift 2
  trap "print_times $preset" EXIT  # expanded here, since the variable ends with the function
  timed configure cmake --preset "$preset" "$@"
  timed build cmake --build --preset "$preset" -j "$jobs" --target "$target"
  timed ctest ctest --preset "$preset" -j "$tests"
  print_times "$preset"
  trap - EXIT
}

if [[ -n ${optimised-} ]]; then
  echo "== gcc-release: every test =="
  run_preset gcc-release all
fi

if [[ -n ${sanitizers-} ]]; then
  # Debug information takes an eighth of the time. Without it reports name functions but no lines, which the flags of the presets add.
  no_lines=(-D CMAKE_CXX_FLAGS_DEBUG=-O1)
  echo "== clang-thread: what runs on several threads =="
  run_preset clang-thread runtime-tests "${no_lines[@]}"
  echo "== clang-debug: unit tests =="
  run_preset clang-debug unit-tests "${no_lines[@]}" -D CMAKE_UNITY_BUILD="$unity"
fi

if [[ -n ${SLIMPACK_FULL-} ]]; then
  if ((EUID == 0)) && command -v debootstrap > /dev/null; then
    echo "== every command of the READMEs on a bare Debian 12, as a user and as root =="
    python3 tests/readme_commands_test.py --chroot build/bare
  else
    echo "== commands of the READMEs on a bare Debian 12: left out, that takes root and debootstrap =="
  fi
  echo "== gcc-release: benchmarks that no test runs, and every header on its own =="
  cmake --build --preset gcc-release -j "$jobs" --target benchmarks all_verify_interface_header_sets
  echo "== fuzzers: a minute each =="
  bash tests/fuzz/run.sh 60 || {
    (($? == 77))  # else a finding, or a fuzzer that does not compile
    echo "== fuzzers: left out, they take clang++ with its fuzzer runtime: nothing was fuzzed =="
  }
fi
