#ifndef SLIMPACK_PRICING_DETAIL_TIME_FAULTS_HPP
#define SLIMPACK_PRICING_DETAIL_TIME_FAULTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/forest/batch_view.hpp>
#include <slimpack/core/memory_rates.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/core/wiring/step_kinds.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>

namespace slimpack::detail {

/// What a cost model's answers may be: amounts that sums can hold.
[[nodiscard]] constexpr bool is_time(seconds t) noexcept { return t >= seconds{} && t <= seconds{1e12}; }
[[nodiscard]] constexpr bool is_memory(double of_bytes) noexcept { return of_bytes >= 0 && of_bytes <= 1e24; }

/// Of `like`: which parts may be asked instead of one.
[[nodiscard]] constexpr bool is_like(int given, int part) noexcept { return given >= 0 && given <= part; }

/// An answer as sentences say it: six digits, however large it is.
[[nodiscard]] std::string told_number(double given);
/// What is wrong with an answer to `like`.
[[nodiscard]] std::string told_like(int given, int part);

/// Which question of costs/hooks.hpp an answer was to.
enum class question : unsigned char {
  time,
  pack,
  overhead,
  call_overhead,
  useful,
  collectives,
  least,
  message,
  exchange,
  covers,
  weight_time,
  reduce_time,
  memory,
  kept,
  vocabulary,
  like
};

/// An answer of a cost model that is no time, no amount of memory or no part, and the question.
struct time_fault {
  question asked{};
  double given{};
  slice of{};  ///< of a message: as many tokens
  slimpack::pass pass{};
  int part{};           ///< or stage, of memory
  std::size_t count{};  ///< slices of a pack, sharers of an exchange
};

/// Keeps the first fault that any thread meets, and asks who is planning to stop.
class time_faults {
 public:
  explicit time_faults(std::stop_token outer) : outer_(std::move(outer), request{&stop_}) {}

  /// Stops where the caller's token does, or at a fault.
  [[nodiscard]] std::stop_token token() const noexcept { return stop_.get_token(); }
  [[nodiscard]] bool any() const noexcept { return found_; }

  /// The time that was given to a question, or 0 and a fault where it is none.
  /// Shapes    of: the slice asked for, of a message one of as many tokens; part: or stage; count: time_fault's
  [[nodiscard]] seconds sound(seconds t, question asked, const slice& of, pass p, int part, std::size_t count = 0) {
    return is_time(t) ? t : refused(t, asked, of, p, part, count);
  }
  /// The same of amounts of memory.
  [[nodiscard]] std::optional<memory_rates> sound(std::optional<memory_rates> held, int stage);
  [[nodiscard]] bytes sound(bytes kept, const slice& piece, int stage) {
    return is_memory(kept.value) ? kept : refused(kept, piece, stage);
  }
  /// The part that is asked instead of one: the part itself, and a fault, where the answer is none or a later one.
  [[nodiscard]] int sound_like(int given, int part) { return is_like(given, part) ? given : refused(given, part); }
  [[nodiscard]] seconds sound_vocabulary(seconds t, tokens size, instruction_kind call, int stage) {
    return sound(t, question::vocabulary, {{}, {0}, size}, facts_of(call).pass, stage);
  }
  [[nodiscard]] seconds sound_vocabulary(seconds t, tokens size, message_kind rows, int stage) {
    return sound(t, question::message, {{}, {0}, size}, facts_of(rows).pass, stage);
  }
  /// Of a pack's time that is none: 0, and a fault of the first of its slices that has none either, or of the pack.
  /// Shapes    time_of(slice): seconds
  template <class TimeOf>
  [[nodiscard, gnu::cold, gnu::noinline]] seconds blamed(seconds all, std::span<const slice> pack, pass p, int part,
                                                         const TimeOf& time_of) {
    for (const slice& s : pack)
      if (const seconds own = time_of(s); !is_time(own)) return refused(own, question::time, s, p, part, 0);
    return refused(all, question::pack, pack.empty() ? slice{} : pack.front(), p, part, pack.size());
  }

  [[gnu::cold, gnu::noinline]] void add(const time_fault& fault) {
    keep([&] { first_ = fault; });
  }
  /// The same of a fault of another policy, in a sentence.
  [[gnu::cold, gnu::noinline]] void add(error told) {
    keep([&] { told_ = std::move(told); });
  }

  /// The first fault in a sentence. Solvers number the sequences of a replica anew: named is one of the batch that can
  /// be cut so, the slice's own if it can.
  /// Requires  any()
  [[nodiscard]] error told(const batch_view& batch, tokens quantum) const;

 private:
  struct request {
    std::stop_source* stop;
    void operator()() const noexcept { stop->request_stop(); }
  };

  // Out of line, so that what is asked millions of times is short enough to be inlined with its two comparisons.
  [[gnu::cold, gnu::noinline]] seconds refused(seconds t, question asked, const slice& of, pass p, int part,
                                               std::size_t count) {
    add({asked, t.value, of, p, part, count});
    return {};
  }
  [[gnu::cold, gnu::noinline]] bytes refused(bytes kept, const slice& piece, int stage) {
    add({question::kept, kept.value, piece, {}, stage});
    return {};
  }
  [[gnu::cold, gnu::noinline]] int refused(int like, int part) {
    add({question::like, static_cast<double>(like), {}, {}, part});
    return part;
  }

  template <class Note>
  void keep(const Note& note) {
    const std::lock_guard lock(mutex_);
    if (found_) return;
    note();
    found_ = true;
    stop_.request_stop();
  }

  [[nodiscard]] static bool is_about_slice(question asked) noexcept;

  [[nodiscard]] static std::optional<std::size_t> owner_of(const slice& s, const batch_view& batch, tokens quantum);

  std::stop_source stop_;
  std::stop_callback<request> outer_;
  mutable std::mutex mutex_;  // guards the next two, of which one is set
  std::optional<time_fault> first_;
  std::optional<error> told_;
  std::atomic<bool> found_{false};
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/pricing/impl/time_faults.ipp>
#endif

#endif
