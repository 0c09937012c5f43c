#include "batches.hpp"

#include "laws.hpp"

#include <slimpack/io/lengths.hpp>

#include <algorithm>
#include <random>
#include <utility>

namespace slimpack::plan_quality {
namespace {

/// Fisher and Yates with a fixed rule for indices, since that of std::shuffle is up to the library.
void shuffle(std::vector<tokens>& lengths, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  for (std::size_t i = lengths.size(); i > 1; --i) std::swap(lengths[i - 1], lengths[engine() % i]);
}

}  // namespace

std::vector<batch> batches(const std::filesystem::path& data, std::size_t sequences, std::uint64_t seed,
                           tokens context) {
  std::vector<batch> all;
  for (const char* name : {"mooncake_conversation", "narrativeqa_stories", "linux_source", "azure_chat_2023",
                           "azure_code_2023", "gsm8k_sft", "arxiv_summarization"}) {
    batch made{name, all.size() < 3, io::read_lengths(data / "lengths" / (std::string(name) + ".txt")).value()};
    if (made.name == "linux_source") {
      shuffle(made.lengths, seed);
      made.name += " shuffled";
    }
    made.lengths.resize(std::min(made.lengths.size(), sequences));
    all.push_back(std::move(made));
  }
  all.push_back({"log-normal", true, log_normal(sequences, seed)});
  all.push_back({"bimodal", true, bimodal(sequences, seed)});
  for (batch& b : all) {
    b.name += " " + std::to_string(b.lengths.size());
    for (tokens& length : b.lengths) length = std::min(length, context);
  }
  return all;
}

}  // namespace slimpack::plan_quality
