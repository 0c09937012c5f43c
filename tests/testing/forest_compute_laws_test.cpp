#include "../executors/path_stage.hpp"
#include "../laws/cases.hpp"

#include <slimpack/testing/stage_compute_laws.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace slimpack::forest_compute_laws_test {
namespace {

using testing::document;
using tests::path_model;
using tests::path_packs;

/// A path_stage whose words are those of documents.
template <class Stage = path_packs<backward_cuts::any>>
struct paths_under_test {
  [[nodiscard]] std::unique_ptr<Stage> make(int stage, int stages) const {
    return std::make_unique<Stage>(stage, stages, 1, tokens{4});
  }
  void load(Stage& s, std::span<const document> batch) const {
    std::vector<std::vector<document>> parts;
    for (const document& d : batch) parts.push_back({d});
    load_parts(s, parts);
  }
  void load_parts(Stage& s, std::span<const std::vector<document>> batch) const {
    s.text.clear();
    for (const std::vector<document>& parts : batch) {
      std::vector<std::size_t>& own = s.text.emplace_back();
      for (const document& d : parts)
        for (std::uint64_t at = 0; at < static_cast<std::uint64_t>(d.length.value); ++at)
          own.push_back(static_cast<std::size_t>((d.key * 31 + at * (at + d.key % 7)) % path_model::words));
    }
  }
  [[nodiscard]] std::vector<double> gradients(const Stage& s) const {
    std::vector<double> all;
    path_model::append(s.gradients_of(0), all);
    path_model::append(s.embedding_gradients(), all), path_model::append(s.output_gradients(), all);
    return all;
  }
  void zero(Stage& s) const { s.zero(); }
};

template <class Stage>
testing::report tried(int cases = 8) {
  return testing::stage_compute_laws(paths_under_test<Stage>{}, {.cases = cases, .stages = 2, .one_model = false});
}

/// Some failure says this sentence.
bool says(const testing::report& r, std::string_view sentence) {
  return std::any_of(r.failures().begin(), r.failures().end(),
                     [&](const testing::failure& f) { return f.line.find(sentence) != std::string::npos; });
}

TEST(ForestComputeLaws, AcceptAComputeThatSharesPrefixes) {
  const testing::report any = tried<path_packs<backward_cuts::any>>(tests::cases(10));
  EXPECT_TRUE(any) << any;
  const testing::report pieces = tried<tests::path_pieces<backward_cuts::forward_cuts>>(tests::cases(10));
  EXPECT_TRUE(pieces) << pieces;
}

/// Pieces as a compute would see them that reads them otherwise.
template <class Change>
struct changed : path_packs<backward_cuts::any> {
  using base = path_packs<backward_cuts::any>;
  using base::base;
  static std::vector<piece> of(std::span<const piece> pack) {
    std::vector<piece> other(pack.begin(), pack.end());
    for (piece& p : other) Change{}(p);
    return other;
  }
  result<void> forward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return base::forward(of(pack), in, out);
  }
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    return base::backward(of(pack), in, out);
  }
};

struct drop_forks {
  void operator()(piece& p) const {
    while (!p.edges.empty() && p.edges.back().sequence != p.slice.sequence) p.edges = p.edges.first(p.edges.size() - 1);
  }
};
TEST(ForestComputeLaws, FindEdgesThatAreLeftOutAtForks) {
  const testing::report r = tried<changed<drop_forks>>();
  EXPECT_TRUE(says(r, "the loss of samples that share beginnings is that of each alone")) << r;
}

/// Attends to what comes before a sequence, and gives it no gradients.
struct forgetful : path_packs<backward_cuts::any> {
  using base = path_packs<backward_cuts::any>;
  using base::base;
  result<void> backward(std::span<const piece> pack, std::span<const std::byte> in, outgoing& out) {
    adds_above = false;
    return base::backward(pack, in, out);
  }
};
TEST(ForestComputeLaws, FindGradientsOfChildrenThatAreNotAdded) {
  const testing::report r = tried<forgetful>();
  EXPECT_TRUE(says(r, "gradients of samples that share beginnings are those of each alone")) << r;
}

}  // namespace
}  // namespace slimpack::forest_compute_laws_test
