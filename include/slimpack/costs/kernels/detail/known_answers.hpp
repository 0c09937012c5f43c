#ifndef SLIMPACK_COSTS_KERNELS_DETAIL_KNOWN_ANSWERS_HPP
#define SLIMPACK_COSTS_KERNELS_DETAIL_KNOWN_ANSWERS_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace slimpack::detail {

/// Answers to questions that were asked before: a place in a fixed table for each, which the last of those that fall
/// there has. Any thread may ask; copies have one table, since what they would answer is the same.
/// Units     those of the question            Errors    none            Complexity  O(Dimensions)
template <std::size_t Dimensions, class Answer>
class known_answers {
 public:
  using question = std::array<double, Dimensions>;

  [[nodiscard]] std::optional<Answer> find(const question& asked) const noexcept {
    const std::size_t at = slot_of(asked);
    const std::unique_lock lock(table_->locks[at % lock_count], std::try_to_lock);
    const slot& known = table_->slots[at];
    if (!lock || !known.is_used || known.asked != asked) return std::nullopt;
    return known.answer;
  }
  /// A table that another thread has just now keeps what it has.
  void keep(const question& asked, const Answer& answer) const noexcept {
    const std::size_t at = slot_of(asked);
    const std::unique_lock lock(table_->locks[at % lock_count], std::try_to_lock);
    if (lock) table_->slots[at] = {asked, answer, true};
  }

 private:
  static constexpr std::size_t places = 1 << 15;
  static constexpr std::size_t lock_count = 64;

  struct slot {
    question asked{};
    Answer answer{};
    bool is_used{};
  };
  struct table {
    std::vector<slot> slots = std::vector<slot>(places);
    std::array<std::mutex, lock_count> locks{};
  };

  static std::size_t slot_of(const question& asked) noexcept {
    std::uint64_t mixed = 0;
    for (const double number : asked) {
      mixed = (mixed ^ std::bit_cast<std::uint64_t>(number)) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 32;
    }
    return mixed % places;
  }

  std::shared_ptr<table> table_ = std::make_shared<table>();
};

}  // namespace slimpack::detail

#endif
