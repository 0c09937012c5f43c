#ifndef SLIMPACK_SIMULATORS_MEMORY_HPP
#define SLIMPACK_SIMULATORS_MEMORY_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/wiring/wiring.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slimpack::simulators {

/// What one stage holds, instruction by instruction: it follows from order alone.
/// A live (token, chunk) counts 1 / chunks token; a running one and its pairs count whole, since logits and a layer
/// computed again are no smaller on a part of the model. What packs keep beside their tokens is shared by the chunks
/// too. Where weight gradients run apart, a token stays live until they have run, since they need its activations, and
/// from its B on keeps weight_token more; what is kept beside tokens, attention's scores, serves B alone and goes with
/// it. Where forward packs run alone, a sequence's tokens go with its last forward on a chunk.
/// Source    derived; what B and W release: Qi et al. (arXiv:2401.10241), table 1
/// Units     those of work.rates            Errors    none            Complexity  O(1) each
/// Requires  the workload outlives it
class stage_memory {
 public:
  stage_memory(const workload& work, int stage)
      : work_(&work),
        stage_(static_cast<std::size_t>(stage)),
        gradient_(static_cast<std::size_t>(work.shape.chunks), 0) {
    if (!work.loans.empty())
      lent_.resize((work.times.packs(pass::forward) + work.times.packs(pass::backward)) * gradient_.size());
    for (const loan& l : work.loans) {
      if (l.helper.stage != stage_) continue;
      lent& of = lent_[cell(l.helper.what)];
      of.keys += l.context.length.value, of.pairs += l.pairs();
    }
  }

  /// What the stage holds while `i` runs next.
  [[nodiscard]] double during(const instruction& i) const {
    if (!i.is_pass() && !i.is_weights()) return during_end(i);
    if (lent_.empty() || i.is_weights()) return during_pass(i);
    const memory_rates& rates = work_->rates[stage_];
    const lent& of = lent_[cell(i)];
    const bool forward = i.pass() == pass::forward;
    return during_pass(i) + rates.lent_token * static_cast<double>(of.keys) * (forward ? 1 : 2) +
           (forward ? rates.forward_pair : rates.backward_pair) * of.pairs;
  }

  /// Runs `i`: what it acquires stays, what it was kept for goes.
  void run(const instruction& i) {
    if (!i.is_pass() && !i.is_weights()) return run_end(i);
    if (i.pass() == pass::forward) {
      live_ += size_of(i);
      kept_ += kept_by(i);
      if (work_->is_forward_only()) {
        live_ -= work_->ended[i.pack.value];
        kept_ -= work_->ended_kept(i.pack.value, stage_);
      }
      return;
    }
    if (i.is_weights() || !splits(i)) live_ -= size_of(i);
    if (splits(i)) owed_ += i.is_weights() ? -size_of(i) : size_of(i);
    if (i.is_weights()) return;
    if (is_turn(i)) turned_ -= size_of(i);
    kept_ -= kept_by(i);
    gradients_ += work_->gradient_before[i.pack.value + 1] - gradient_[i.chunk];
    gradient_[i.chunk] = work_->gradient_before[i.pack.value + 1];
  }

 private:
  /// F, B or W, but for what is lent to it.
  [[nodiscard]] double during_pass(const instruction& i) const {
    const memory_rates& rates = work_->rates[stage_];
    const auto running = static_cast<double>(size_of(i));
    if (i.pass() == pass::forward)
      return rates.in_forward(share(live_ + size_of(i)), share(gradients_), running, pairs_of(i)) +
             share(kept_ + kept_by(i)) + owed(0) + ends();
    if (i.is_weights()) return rates.in_backward(share(live_), share(gradients_), 0) + share(kept_) + owed(0) + ends();
    if (const std::span<const backward_call> calls = work_->calls_of(i.pack.value); !calls.empty())
      return during(i, calls);
    const std::int64_t open = gradients_ - gradient_[i.chunk] + work_->gradient_running[i.pack.value];
    return rates.in_backward(share(live_), share(open), running, pairs_of(i)) + share(kept_) +
           owed(splits(i) ? size_of(i) : 0) + ends();
  }

  /// The most of what a backward pack holds in its calls, one after the other.
  [[nodiscard]] double during(const instruction& i, std::span<const backward_call> calls) const {
    const memory_rates& rates = work_->rates[stage_];
    double most = 0;
    std::int64_t tokens = 0, others = 0;  // that the calls before had
    for (const backward_call& c : calls) {
      const std::int64_t open = gradients_ - gradient_[i.chunk] + c.gradient_running;
      const double held = rates.in_backward(share(live_ - (splits(i) ? 0 : tokens)), share(open),
                                            static_cast<double>(c.tokens), c.pairs) +
                          share(kept_ - std::ceil(rates.other_token) * static_cast<double>(others)) +
                          owed(splits(i) ? tokens + c.tokens : 0) + ends();
      most = std::max(most, held);
      tokens += c.tokens, others += c.others;
    }
    return most;
  }

  /// What is neither F, B nor W, beside the live tokens of layers.
  [[nodiscard]] double during_end(const instruction& i) const {
    const memory_rates& rates = work_->rates[stage_];
    const std::int64_t more = i.kind == instruction_kind::output ? size_of(i) : 0;
    return rates.in_forward(share(live_), share(gradients_), 0) + share(kept_) + owed(0) + ends() +
           rates.logit_token * static_cast<double>(more);
  }
  void run_end(const instruction& i) {
    if (i.kind == instruction_kind::output_weights) logits_ -= size_of(i);
    if (i.kind != instruction_kind::output) return;
    logits_ += size_of(i);
    if (is_last()) turned_ += size_of(i);
  }
  [[nodiscard]] bool is_last() const { return stage_ + 1 == static_cast<std::size_t>(work_->shape.stages); }
  /// A B of the last part, which the gradients of V have waited for.
  [[nodiscard]] bool is_turn(const instruction& i) const {
    return has(work_->shape, instruction_kind::output) && is_last() && i.chunk + 1 == gradient_.size();
  }
  /// What V, U and B hold between them.
  [[nodiscard]] double ends() const {
    const memory_rates& rates = work_->rates[stage_];
    return rates.logit_token * static_cast<double>(logits_) + rates.turned_token * static_cast<double>(turned_);
  }

  template <class Number>
  [[nodiscard]] double share(Number n) const {
    return static_cast<double>(n) / work_->shape.chunks;
  }
  [[nodiscard]] std::int64_t size_of(const instruction& i) const {
    const std::vector<std::int64_t>& before = work_->times.before[i.pass()];
    return before[i.pack.value + 1] - before[i.pack.value];
  }
  [[nodiscard]] double pairs_of(const instruction& i) const { return work_->pairs_of(i.pass(), i.pack.value); }
  /// A pack's place on a chunk, backward ones behind those of forward.
  [[nodiscard]] std::size_t cell(const instruction& i) const {
    return (i.pack.value + (i.pass() == pass::forward ? 0 : work_->times.packs(pass::forward))) * gradient_.size() +
           i.chunk;
  }
  [[nodiscard]] bool splits(const instruction& i) const { return work_->times.apart.splits(i.pack.value); }
  /// What tokens keep for weight gradients that are to come, and `more` tokens with them.
  [[nodiscard]] double owed(std::int64_t more) const { return work_->rates[stage_].weight_token * share(owed_ + more); }
  [[nodiscard]] double kept_by(const instruction& i) const {
    return work_->times.kept_by(i.pass(), i.pack.value, stage_);
  }

  /// What others lend an instruction.
  struct lent {
    std::int64_t keys{};
    double pairs{};
  };

  const workload* work_;
  std::size_t stage_;
  std::vector<std::int64_t> gradient_;  // per chunk
  std::int64_t live_{};                 // in (token, chunk)
  std::int64_t gradients_{};            // sum over chunks
  std::int64_t owed_{};                 // (token, chunk) between B and W
  std::int64_t logits_{};               // tokens between V and U
  std::int64_t turned_{};               // tokens between V on the last stage and B on the last part
  std::vector<lent> lent_;              // while a pack runs on a chunk, of both passes; empty: none
  double kept_{};                       // whole bytes, so sums are exact
};

/// Calls visit(instruction, held) for each instruction of a stage's program with what the stage holds while it runs.
/// Units     those of work.rates            Complexity  O(instructions)
template <class Visit>
void follow_memory(const workload& work, const program& code, int stage, Visit&& visit) {
  stage_memory memory(work, stage);
  for (const instruction& i : code) {
    visit(i, memory.during(i));
    memory.run(i);
  }
}

/// The most each stage holds at any time, `fixed` included.
[[nodiscard]] inline std::vector<double> peak_memory(const workload& work, std::span<const program> programs) {
  std::vector<double> peak;
  for (std::size_t r = 0; r < programs.size(); ++r) {
    peak.push_back(work.rates[r].fixed);
    follow_memory(work, programs[r], static_cast<int>(r),
                  [&](const instruction&, double held) { peak.back() = std::max(peak.back(), held); });
  }
  return peak;
}

}  // namespace slimpack::simulators

#endif
