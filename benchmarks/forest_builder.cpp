// How long does it take to find what samples share, from their token ids?
//
// Two batches of made-up samples, seed 20261130:
//   groups         256 samples of 4,608 tokens: 32 prompts of 4,096 tokens, with 8 answers of 512 each
//   conversations  10,000,000 tokens: conversations that fork at turns of 100 tokens on average, a sample for each turn
//                  of 20; every token of an answer is trained on
// Each line is the median of 9 runs. Beside it is what a sort that compares samples token by token takes, without
// making a forest of them. Counts are checked: they follow from how samples were made.
//
//   slimpack-bench-forest_builder
#include "median_time.hpp"

#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/forests/from_tokens.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace slimpack;
using token_ids = std::vector<std::int32_t>;

struct batch {
  std::vector<token_ids> ids;
  std::vector<std::vector<forests::trained_run>> targets;
  std::int64_t different{};  ///< tokens

  void add(const token_ids& sample, std::size_t answer) {
    const auto length = static_cast<std::int64_t>(answer);
    ids.push_back(sample);
    targets.push_back({{tokens{static_cast<std::int64_t>(sample.size()) - length}, tokens{length}}});
  }
};

/// Appends so many tokens, the first of which no other call appends.
void say(token_ids& to, std::size_t count, std::mt19937_64& random, batch& of) {
  static std::int32_t spoken = 100000;
  to.push_back(spoken++);
  for (std::size_t i = 1; i < count; ++i) to.push_back(static_cast<std::int32_t>(random() % 100000));
  of.different += static_cast<std::int64_t>(count);
}

batch groups(std::mt19937_64& random) {
  batch made;
  for (int prompt = 0; prompt < 32; ++prompt) {
    token_ids said;
    say(said, 4096, random, made);
    for (int answer = 0; answer < 8; ++answer) {
      token_ids all = said;
      say(all, 512, random, made);
      made.add(all, 512);
    }
  }
  std::shuffle(made.ids.begin(), made.ids.end(), random);
  return made;
}

batch conversations(std::mt19937_64& random) {
  batch made;
  for (std::size_t all = 0; all < 10'000'000;) {
    token_ids first;
    for (int fork = 0; fork < 2; ++fork) {
      token_ids said = first;
      for (int turn = fork * 10; turn < 20; ++turn) {
        const std::size_t size = 50 + random() % 100;
        say(said, size, random, made);
        made.add(said, size - 1);
        all += said.size();
        if (turn == 9) first = said;
      }
    }
  }
  return made;
}

void measure(const char* name, const batch& b) {
  std::vector<forests::token_sample> samples;
  for (std::size_t i = 0; i < b.ids.size(); ++i) samples.push_back({b.ids[i], b.targets[i]});
  std::size_t flat = 0, sequences = 0;
  for (const token_ids& ids : b.ids) flat += ids.size();
  tokens different{};
  const double built = median_time(9, [&] {
    const forests::token_forest made = forests::from_tokens(samples).value();
    sequences = made.all.lengths.size();
    different = std::accumulate(made.all.lengths.begin(), made.all.lengths.end(), tokens{});
  });
  if (different.value != b.different) {
    std::printf("%s: %lld tokens are different, and %lld were found\n", name, static_cast<long long>(b.different),
                static_cast<long long>(different.value));
    std::exit(1);
  }
  const double sorted = median_time(9, [&] {
    std::vector<std::uint32_t> order(b.ids.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return b.ids[x] < b.ids[y]; });
  });
  std::printf("%-14s %6zu samples, %8zu tokens, %8lld different, %5zu sequences: %8.3f ms; sorted alone %8.3f ms\n",
              name, b.ids.size(), flat, static_cast<long long>(different.value), sequences, 1e3 * built, 1e3 * sorted);
}

}  // namespace

int main() {
  std::mt19937_64 random(20261130);
  measure("groups", groups(random));
  measure("conversations", conversations(random));
}
