#ifndef SLIMPACK_PRICING_DETAIL_TIME_FAULTS_HPP
#define SLIMPACK_PRICING_DETAIL_TIME_FAULTS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/slice.hpp>

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

/// Which question of costs/hooks.hpp an answer was to.
enum class question : unsigned char {
  time, pack, overhead, call_overhead, useful, least, message, exchange, covers, weight_time, reduce_time, memory, kept, vocabulary
};

/// An answer of a cost model that is no time, or no amount of memory, and the question.
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

  // Kept out of line, so that who asks millions of times pays for two comparisons only.
  [[gnu::cold, gnu::noinline]] void add(const time_fault& fault) {
    const std::lock_guard lock(mutex_);
    if (first_) return;
    first_ = fault;
    found_ = true;
    stop_.request_stop();
  }

  /// The first fault in a sentence. Solvers number the sequences of a replica anew: named is one of the batch that can be
  /// cut so, the slice's own if it can.
  /// Requires  any()
  [[nodiscard]] error told(std::span<const tokens> lengths, tokens quantum) const;

 private:
  struct request {
    std::stop_source* stop;
    void operator()() const noexcept { stop->request_stop(); }
  };

  [[nodiscard]] static bool is_about_slice(question asked) noexcept;

  [[nodiscard]] static std::optional<std::size_t> owner_of(const slice& s, std::span<const tokens> lengths,
                                                           tokens quantum);

  std::stop_source stop_;
  std::stop_callback<request> outer_;
  mutable std::mutex mutex_;  // guards the next
  std::optional<time_fault> first_;
  std::atomic<bool> found_{false};
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/pricing/impl/time_faults.ipp>
#endif

#endif
