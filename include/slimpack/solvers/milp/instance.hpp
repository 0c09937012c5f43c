#ifndef SLIMPACK_SOLVERS_MILP_INSTANCE_HPP
#define SLIMPACK_SOLVERS_MILP_INSTANCE_HPP

#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace slimpack::detail {

/// One replica's sequences, cut as finely as the quantum allows, with the linear part of what a cost model says:
/// a pack takes its overhead and the least times of its atoms, a message a fixed time and one per token. For models
/// whose times add up that is all; for others it is a lower bound of what they say.
struct milp_instance {
  struct atom {
    slice run;
    bool last{};  ///< of its sequence
  };
  /// By stage, for packs of one pass.
  struct pass_rates {
    std::vector<double> time;           ///< [atom * stages + stage], seconds
    std::vector<double> overhead;       ///< seconds a pack
    std::vector<double> message;        ///< seconds a pack
    std::vector<double> message_token;  ///< seconds a token
  };

  std::size_t stages{};
  std::vector<sequence> sequences;
  std::vector<atom> atoms;  ///< sequence by sequence, from its beginning
  pass_rates rates[2];      ///< by pass
  std::vector<memory_rates> memory;
  double limit{};  ///< infinity: none

  [[nodiscard]] const pass_rates& of(pass p) const noexcept { return rates[p == pass::backward]; }
  [[nodiscard]] double time(std::size_t a, std::size_t stage, pass p) const { return of(p).time[a * stages + stage]; }

  /// How many atoms a sequence has.
  [[nodiscard]] static std::size_t count(tokens length, tokens quantum) {
    return static_cast<std::size_t>((length.value + quantum.value - 1) / quantum.value);
  }
};

/// Requires  one chunk; a cost model without `kept`
template <class Cost>
[[nodiscard]] milp_instance instance_of(std::span<const sequence> own, const shape& on, const Cost& cost,
                                        std::span<const memory_rates> rates) {
  milp_instance i;
  i.stages = static_cast<std::size_t>(on.stages);
  i.sequences.assign(own.begin(), own.end());
  i.memory.assign(rates.begin(), rates.end());
  i.limit = on.memory ? on.memory->amount : std::numeric_limits<double>::infinity();
  tokens all{};
  tokens least = longest_supported;
  for (const sequence& s : own) {
    for (tokens at{}; at < s.length; at += on.quantum) {
      const tokens length = std::min(on.quantum, s.length - at);
      i.atoms.push_back({{s.id, at, length}, at + length == s.length});
      all += length;
      least = std::min(least, length);
    }
  }
  for (const pass p : {pass::forward, pass::backward}) {
    milp_instance::pass_rates& r = i.rates[p == pass::backward];
    for (const milp_instance::atom& a : i.atoms)
      for (int part = 0; part < on.stages; ++part) r.time.push_back(least_time(cost, a.run, p, part).value);
    for (int part = 0; part < on.stages; ++part) {
      r.overhead.push_back(pack_overhead(cost, p, part).value);
      const bool sends = part != nth_place(p, on.stages - 1, on.stages);
      const auto message = [&](tokens size) { return sends ? message_time(cost, size, p, part).value : 0.0; };
      // A line through the least and the largest message, where those between lie on it.
      const double token = all > least ? (message(all) - message(least)) / static_cast<double>((all - least).value) : 0;
      const tokens half{(all.value + least.value) / 2};
      const double there = message(least) + token * static_cast<double>((half - least).value);
      const bool line = std::abs(there - message(half)) <= 1e-9 * message(all);
      r.message_token.push_back(line ? token : 0);
      r.message.push_back(message(least) - r.message_token.back() * static_cast<double>(least.value));
    }
  }
  return i;
}

}  // namespace slimpack::detail

#endif
