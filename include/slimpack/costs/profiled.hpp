#ifndef SLIMPACK_COSTS_PROFILED_HPP
#define SLIMPACK_COSTS_PROFILED_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/sequence.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/time_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// Times as a trainer measured them on its own machine: a costs::time_table for each pass and part of the model.
/// Source    measured; the rules between and outside measurements are derived, see costs::time_table
/// Units     tokens in, seconds out
/// Law       time does not fall when a slice's prefix or length grows. Cutting a sequence does not conserve its time,
///           as it does not on machines: thin slices run slower (cost_model law 4 is for analytic models)
/// Errors    none once made            Complexity  O(log samples) a question
class profiled {
 public:
  /// One measurement of a slice: several at one place count by their median.
  struct sample {
    slimpack::pass pass{};
    int part{};
    tokens queries;  ///< the slice's own
    tokens keys;     ///< what they attend to: prefix + queries
    seconds time;    ///< without what each pack costs besides its slices
  };

  /// What a step costs beside its slices.
  struct extras {
    std::vector<seconds> forward_overhead{};   ///< of each pack, by part; empty: none
    std::vector<seconds> backward_overhead{};
    seconds message{};                         ///< end on a part to arrival at the next, of an empty message
    seconds message_token{};                   ///< and for each of its tokens
    std::vector<memory_rates> memory{};        ///< bytes of each stage; empty: not known, limits are in tokens
    seconds reduce{};                          ///< gradient reduction after the step
  };

  /// Errors    invalid_input: no samples; a pass of a part without any; sizes or times that are none; a wrong number of
  ///           overheads or memory rates. The detail names which            Complexity  O(samples * distinct queries)
  [[nodiscard]] static result<profiled> make(std::span<const sample> samples, extras beside) {
    int parts = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (std::optional<error> wrong = fault(samples[i], i)) return std::move(*wrong);
      parts = std::max(parts, samples[i].part + 1);
    }
    if (parts == 0) return invalid("no samples: a profile needs times of both passes on every part");
    if (std::optional<error> wrong = fault(beside, static_cast<std::size_t>(parts))) return std::move(*wrong);
    std::vector<std::vector<time_table::point>> points(2 * static_cast<std::size_t>(parts));
    for (const sample& s : samples) points[index(s.pass, s.part)].push_back({s.queries, s.keys - s.queries, s.time});
    profiled made;
    for (int part = 0; part < parts; ++part) {
      for (const pass p : {pass::forward, pass::backward}) {
        std::vector<time_table::point>& own = points[index(p, part)];
        if (own.empty())
          return invalid("no " + name(p) + " times of part " + std::to_string(part) + " of " + std::to_string(parts));
        made.tables_.emplace_back(std::move(own));
      }
    }
    made.beside_ = std::move(beside);
    return made;
  }
  [[nodiscard]] static result<profiled> make(std::span<const sample> samples) { return make(samples, extras{}); }

  [[nodiscard]] seconds time(const slice& s, pass p, int part) const noexcept {
    return tables_[index(p, part)](s.length, s.begin);
  }
  /// Measured times do not add up, so bounds rest on the part of them that does; and so does useful work, which is then
  /// no more than the time of any packs.
  [[nodiscard]] seconds least(const slice& s, pass p, int part) const noexcept {
    return tables_[index(p, part)].least(s.length, s.begin);
  }
  [[nodiscard]] seconds useful(const slice& s, pass p, int part) const noexcept { return least(s, p, part); }
  [[nodiscard]] seconds overhead(pass p, int part) const noexcept {
    const std::vector<seconds>& all = p == pass::forward ? beside_.forward_overhead : beside_.backward_overhead;
    return all.empty() ? seconds{} : all[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] seconds message(tokens size, pass, int /*part*/) const noexcept {
    return beside_.message + beside_.message_token * static_cast<double>(size.value);
  }
  [[nodiscard]] std::optional<memory_rates> memory(int stage) const noexcept {
    const auto at = static_cast<std::size_t>(stage);
    return at < beside_.memory.size() ? std::optional(beside_.memory[at]) : std::nullopt;
  }
  [[nodiscard]] seconds reduce_time() const noexcept { return beside_.reduce; }
  [[nodiscard]] int parts() const noexcept { return static_cast<int>(tables_.size() / 2); }

  /// The most by which a sample was changed so that no time falls, as a ratio of it: of noise, a few percent.
  [[nodiscard]] double largest_change() const noexcept {
    double most = 0;
    for (const time_table& t : tables_) most = std::max(most, t.largest_change());
    return most;
  }

  template <class Traits>
  friend std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const profiled& p) {
    return out << "costs::profiled of " << p.parts() << " parts";
  }

 private:
  profiled() = default;

  static std::size_t index(pass p, int part) noexcept {
    return 2 * static_cast<std::size_t>(part) + (p == pass::forward ? 0 : 1);
  }
  static std::string name(pass p) { return p == pass::forward ? "forward" : "backward"; }

  static error invalid(std::string detail) { return {errc::invalid_input, std::move(detail)}; }

  static std::optional<error> fault(const sample& s, std::size_t i) {
    const auto says = [&](const std::string& what) {
      return invalid("sample " + std::to_string(i) + " (" + name(s.pass) + ", part " + std::to_string(s.part) + ", " +
                     std::to_string(s.queries.value) + " queries, " + std::to_string(s.keys.value) + " keys): " + what);
    };
    if (s.part < 0 || s.part > 65535) return says("parts are counted from 0 to 65535");
    if (s.queries < tokens{1} || s.keys > longest_supported)
      return says("tokens are counted from 1 to " + std::to_string(longest_supported.value));
    if (s.keys < s.queries) return says("keys are the prefix and the queries themselves, so no fewer than the queries");
    if (!(s.time > seconds{}) || !std::isfinite(s.time.value))
      return says("takes " + std::to_string(s.time.value) + " s, a time must be more than 0");
    return std::nullopt;
  }

  static std::optional<error> fault(const extras& beside, std::size_t parts) {
    const auto is_time = [](seconds t) { return t >= seconds{} && std::isfinite(t.value); };
    for (const pass p : {pass::forward, pass::backward}) {
      const std::vector<seconds>& all = p == pass::forward ? beside.forward_overhead : beside.backward_overhead;
      if (!all.empty() && all.size() != parts)
        return invalid(std::to_string(all.size()) + " " + name(p) + " overheads for " + std::to_string(parts) +
                       " parts");
      for (std::size_t part = 0; part < all.size(); ++part)
        if (!is_time(all[part]))
          return invalid("the " + name(p) + " overhead of part " + std::to_string(part) + " is " +
                         std::to_string(all[part].value) + " s");
    }
    for (const auto& [what, t] : {std::pair{"a message", beside.message}, {"a message's token", beside.message_token},
                                  {"the reduction", beside.reduce}})
      if (!is_time(t)) return invalid(std::string(what) + " takes " + std::to_string(t.value) + " s");
    if (!beside.memory.empty() && parts % beside.memory.size() != 0)
      return invalid(std::to_string(beside.memory.size()) + " memory rates for " + std::to_string(parts) +
                     " parts: give one per stage");
    return std::nullopt;
  }

  std::vector<time_table> tables_;  ///< [part * 2 + pass]
  extras beside_;
};

}  // namespace slimpack::costs

#endif
