#!/bin/bash
# Fuzzes every reader, the executor's look at plans, and ranks' greetings with libFuzzer under the address and undefined
# behaviour sanitizers, one target after the other:
#
#   bash tests/fuzz/run.sh [seconds for each target, 60] [target...]
#
# Exits with 77 where clang++ or its runtime is missing (Debian 12: clang, libclang-rt-14-dev). An input that is found to
# be mishandled stays in build/fuzz/findings: mend its cause and keep it among the seeds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:-60}
targets=("${@:2}")
((${#targets[@]})) || targets=(lengths jsonl idx text_lengths tree_lines token_lines model_config gpu saved_tensors profile stage_profile plan_file plan_bytes greetings)
build=${SLIMPACK_FUZZ_BUILD:-build/fuzz}
mkdir -p "$build/findings"

flags=(-std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
if ! command -v clang++ > /dev/null; then
  echo "not fuzzed: clang++ is not installed"
  exit 77
fi
if ! echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ "${flags[@]}" -x c++ - -o "$build/probe" 2> /dev/null; then
  echo "not fuzzed: clang++ has no fuzzer runtime (Debian 12: libclang-rt-14-dev)"
  exit 77
fi
clang++ "${flags[@]}" -Iinclude tests/fuzz/fuzz.cpp -o "$build/fuzz"

failed=0
for target in "${targets[@]}"; do
  echo "== $target: $seconds s =="
  mkdir -p "$build/corpus/$target"
  SLIMPACK_FUZZ_TARGET=$target "$build/fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=8192 \
    -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/findings/$target-" \
    "$build/corpus/$target" "tests/fuzz/seeds/$target" || { echo "$target: a finding"; failed=1; }
done
exit "$failed"
