#include <slimpack/executors/packflow.hpp>
#include <slimpack/planner_for.hpp>
#include <slimpack/testing/stage_compute_laws.hpp>
#include <slimpack/transports/threads.hpp>

#include <gtest/gtest.h>
#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The example as it is; what it includes is included above. Its main is not called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
namespace adopt_autograd {
#include "../../examples/adopt_autograd.cpp"
}
#pragma GCC diagnostic pop

namespace slimpack::injured_autograd_test {
namespace {

enum class injury {
  none,
  overwrites,        ///< a gradient, in place of adding to it
  forgets_prefix,    ///< attends to nothing before the slice
  forgets_past,      ///< the keys' gradients that later slices have for it
  takes_other,       ///< what it last computed of any sequence, for the slice's prefix
  sends_nothing,     ///< forward
  sends_less,        ///< backward
  counts_twice,      ///< the loss of slices that go on
  weighs_alike,      ///< each slice, whatever its weight
  keeps_past,        ///< a sequence's, after its last backward
  keeps_on_discard,  ///< the same, after discard
  reduces_early      ///< in each backward
};

/// A check of a trainer's own fails.
[[noreturn]] void checked(const char* what) {
  throw std::runtime_error(std::string("CHECK failed: ") + what + "\nframe #0: forward\nframe #1: main");
}

/// The stage of examples/adopt_autograd.cpp with an injury, and with checks of its own that no right stage fails.
struct injured {
  using state = adopt_autograd::stage::state;
  injury has{};
  adopt_autograd::layer layer{};
  adopt_autograd::stage inner{layer};
  std::vector<std::uint32_t> keys{};
  sequence_id last{};

  [[nodiscard]] message_format format() const { return inner.format(); }
  void begin_step(const step_outline& o) {
    if (!inner.past.empty()) checked("states of an earlier step are left");
    inner.begin_step(o);
  }
  [[nodiscard]] double loss() const { return inner.loss(); }
  [[nodiscard]] int reductions(int chunk) const { return inner.reductions(chunk); }
  [[nodiscard]] piece with_key(piece p) const {
    p.slice.sequence = {keys[p.slice.sequence.value]};
    return p;
  }
  result<state> forward(const piece& given, std::span<const std::byte> in, outgoing& out) {
    piece p = with_key(given);
    if (has == injury::forgets_prefix) inner.past.erase(p.slice.sequence);
    if (has == injury::takes_other && inner.past.count(last) > 0) inner.past[p.slice.sequence] = inner.past[last];
    last = p.slice.sequence;
    const auto& seen = inner.past[p.slice.sequence].seen_keys;
    if ((seen ? seen->value.rows() : 0) != p.slice.begin.value) checked("the prefix has all rows before the slice");
    if (has == injury::weighs_alike) p.loss_weight = .125;
    if (has == injury::sends_nothing && out.wanted()) {
      outgoing none;
      return inner.forward(p, in, none);
    }
    const double before = inner.sum;
    result<state> made = inner.forward(p, in, out);
    if (has == injury::counts_twice && !p.is_first()) inner.sum += inner.sum - before;
    return made;
  }
  result<void> backward(const piece& given, state s, std::span<const std::byte> in, outgoing& out) {
    const piece p = with_key(given);
    if (s.seen_keys->value.rows() != p.slice.end().value) checked("the graph is of this slice");
    if (has == injury::overwrites)
      for (const adopt_autograd::tensor& w : layer.w) w->grad.setZero();
    if (has == injury::forgets_past) s.seen_keys->grad.setZero();
    const auto kept = inner.past;
    result<void> done = success();
    if (has == injury::sends_less && out.wanted()) {
      outgoing none;
      done = inner.backward(p, std::move(s), in, none);
    } else {
      done = inner.backward(p, std::move(s), in, out);
    }
    if (has == injury::keeps_past) inner.past = kept;
    if (has == injury::reduces_early) inner.reduced += 4;
    for (const adopt_autograd::tensor& w : layer.w)
      if (!w->grad.allFinite()) checked("gradients are finite");
    return done;
  }
  void discard(const piece& p, const state& s) {
    if (has != injury::keeps_on_discard) inner.discard(with_key(p), s);
  }
};

struct model {
  injury has{};
  mutable std::atomic<int> most_stages{};  ///< that were asked for
  std::unique_ptr<injured> make(int /*stage*/, int stages) const {
    most_stages = std::max<int>(most_stages, stages);
    auto made = std::make_unique<injured>();
    made->has = has;
    return made;
  }
  void load(injured& s, std::span<const testing::document> batch) const {
    s.keys.clear();
    for (const testing::document& d : batch) s.keys.push_back(static_cast<std::uint32_t>(d.key));
  }
  std::vector<double> gradients(const injured& s) const {
    std::vector<double> all;
    for (const adopt_autograd::tensor& w : s.layer.w)
      all.insert(all.end(), w->grad.data(), w->grad.data() + w->grad.size());
    return all;
  }
  void zero(injured& s) const {
    for (const adopt_autograd::tensor& w : s.layer.w) w->grad.setZero();
  }
};

// Each injury breaks a law, whose line says which. A check that throws is such a line, in one, and with the piece.
TEST(InjuredAutograd, EachInjuryIsALineAndNoneEndsTheProgram) {
  const testing::compute_options tried{.cases = 4, .one_model = false};
  EXPECT_TRUE(testing::stage_compute_laws(model{}, tried));
  constexpr std::pair<injury, const char*> injuries[]{
      {injury::overwrites, "gradients of cut sequences are those of whole ones"},
      {injury::forgets_prefix, "CHECK failed: the prefix has all rows before the slice (and 2 lines more)"},
      {injury::forgets_past, "gradients of cut sequences are those of whole ones"},
      {injury::takes_other, "CHECK failed: the prefix has all rows before the slice (and 2 lines more)"},
      {injury::sends_nothing, "a step runs"},
      {injury::sends_less, "a step runs"},
      {injury::counts_twice, "the loss of cut sequences is that of whole ones"},
      {injury::weighs_alike, "the loss of cut sequences is that of whole ones"},
      {injury::keeps_past, "CHECK failed: states of an earlier step are left (and 2 lines more)"},
      {injury::keeps_on_discard, "CHECK failed: states of an earlier step are left (and 2 lines more)"},
      {injury::reduces_early, "a step runs"}};
  for (const auto& [has, says] : injuries) {
    const model tried_model{has};
    const testing::report found = testing::stage_compute_laws(tried_model, tried);
    EXPECT_FALSE(found) << "injury " << static_cast<int>(has);
    // Where one stage breaks a law, two are not tried any more: a check of theirs could end the program.
    const bool needs_messages =
        has == injury::sends_nothing || has == injury::sends_less || has == injury::keeps_on_discard;
    EXPECT_EQ(tried_model.most_stages, needs_messages ? 2 : 1) << "injury " << static_cast<int>(has);
    std::ostringstream lines;
    lines << found;
    EXPECT_NE(lines.str().find(says), std::string::npos) << "injury " << static_cast<int>(has) << " says\n"
                                                         << lines.str() << "and not: " << says;
  }
}

}  // namespace
}  // namespace slimpack::injured_autograd_test
