#ifndef SLIMPACK_TESTS_EXECUTORS_DIARY_HPP
#define SLIMPACK_TESTS_EXECUTORS_DIARY_HPP

#include "everywhere.hpp"
#include "prefix_model.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace slimpack::tests {

inline constexpr std::int64_t width = 3;

template <class Compute>
std::vector<Compute> stages_of(const plan& p) {
  std::vector<Compute> stages;
  for (int rank = 0; rank < ranks_of(p); ++rank)
    stages.emplace_back(rank % p.shape.stages, p.shape.stages, p.shape.chunks, width);
  return stages;
}

/// Reports, one per rank, have the loss of uncut sequences, and stages the gradients: to the bit, since numbers are
/// integers that doubles hold exactly.
template <class Compute>
void expect_uncut(const plan& p, const std::vector<result<step_report>>& reports, const std::vector<Compute>& stages,
                  const std::string& what) {
  const prefix_model::gradients expected = prefix_model::whole(p.lengths, p.shape.parts());
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    ASSERT_TRUE(reports[rank]) << reports[rank].error().detail << ", " << what;
    EXPECT_EQ(reports[rank].value().loss_sum, expected.loss) << what;
    for (std::uint32_t chunk = 0; chunk < static_cast<std::uint32_t>(p.shape.chunks); ++chunk)
      EXPECT_EQ(stages[rank].gradient()[chunk], expected.weight[static_cast<std::size_t>(stages[rank].part(chunk))])
          << "rank " << rank << ", " << what;
  }
}

[[nodiscard]] inline plan small_plan(shape on = {.stages = 3, .quantum = {4}}) {
  testing::generator random(11);
  const std::vector<tokens> lengths = awkward_lengths(random, on.quantum, 12);
  return every_planner()[0].make(on, lengths).value();
}

/// Writes down what it is called with.
class diary : public prefix_by_piece {
 public:
  using prefix_by_piece::prefix_by_piece;
  struct entry {
    pass direction;
    piece what;
  };
  struct counts {
    int made{}, taken{}, discarded{};
  };
  class state {
   public:
    explicit state(counts& of, prefix_by_piece::state inner) : of_(&of), inner_(std::move(inner)) { ++of_->made; }
    prefix_by_piece::state take() { return std::move(inner_); }

   private:
    counts* of_;
    prefix_by_piece::state inner_;
  };

  void begin_step(const step_outline& o) {
    outline = o;
    lengths.assign(o.sequences.begin(), o.sequences.end());
    thread = std::this_thread::get_id();
  }
  result<state> forward(const piece& p, std::span<const std::byte> in, outgoing& out) {
    note(pass::forward, p);
    return state{*count, prefix_by_piece::forward(p, in, out).value()};
  }
  result<void> backward(const piece& p, state s, std::span<const std::byte> in, outgoing& out) {
    note(pass::backward, p);
    ++count->taken;
    return prefix_by_piece::backward(p, s.take(), in, out);
  }
  void discard(const piece&, state) { ++count->discarded; }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return {(s.length.value + 1) / 2}; }
  void sequence_forwarded(sequence_id s) { forwarded.push_back(s); }
  void sequence_done(sequence_id s) { done.push_back(s); }
  void abort_step() { ++aborts; }

  std::vector<entry> entries;
  std::vector<sequence_id> forwarded, done;
  std::vector<sequence> lengths;
  step_outline outline;
  std::thread::id thread;
  int strangers{};
  int aborts{};
  std::shared_ptr<counts> count = std::make_shared<counts>();

 private:
  void note(pass direction, const piece& p) {
    entries.push_back({direction, p});
    strangers += std::this_thread::get_id() != thread;
  }
};

}  // namespace slimpack::tests

#endif
