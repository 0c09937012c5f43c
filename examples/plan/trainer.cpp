#include "trainer.hpp"

#include "terminal.hpp"
#include "texts.hpp"

#include <algorithm>

namespace cli {

using slimpack::costs::recompute;

bool trainer::recomputes(slimpack::costs::recompute what) const {
  return std::find(recompute.begin(), recompute.end(), what) != recompute.end();
}

const std::vector<std::string>& trainer_words() {
  static const std::vector<std::string> words{"packflow",      "plain",           "megatron",
                                              "shares-rows",   "queries",         "ring",
                                              "chunks",        "weights-apart",   "spread-vocabulary",
                                              "unequal-words", "lends-attention", "light",
                                              "attention",     "selective",       "full"};
  return words;
}

trainer trainer_named(const std::string& text) {
  trainer all;
  if (text == "packflow") return all;
  trainer can{.exchanges = slimpack::exchange_set::none(),
              .chunks = false,
              .weights_apart = false,
              .spread_vocabulary = false,
              .unequal_words = false,
              .lends_attention = false,
              .recompute = {recompute::none}};
  if (text == "plain") return can;
  if (text == "megatron") {
    can.cuts = false, can.chunks = true;
    can.recompute = {recompute::none, recompute::selective, recompute::full};
    return can;
  }
  for (const std::string& word : split(text, ',')) {
    if (word == "shares-rows")
      can.exchanges.keep = true;
    else if (word == "queries")
      can.exchanges.queries = true;
    else if (word == "ring")
      can.exchanges.ring = true;
    else if (word == "chunks")
      can.chunks = true;
    else if (word == "weights-apart")
      can.weights_apart = true;
    else if (word == "spread-vocabulary")
      can.spread_vocabulary = true;
    else if (word == "unequal-words")
      can.unequal_words = true;
    else if (word == "lends-attention")
      can.lends_attention = true;
    else if (const auto kind = std::find_if(all.recompute.begin() + 1, all.recompute.end(),
                                            [&](recompute r) { return word == name_of(r); });
             kind != all.recompute.end())
      can.recompute.push_back(*kind);
    else
      throw bad_usage{
          "--trainer " + shown_value(text) +
          " is not packflow, plain, megatron, or a list of shares-rows, queries, ring, chunks, weights-apart, "
          "spread-vocabulary, unequal-words, lends-attention, light, attention, selective and full"};
  }
  return can;
}

}  // namespace cli
