#ifndef SLIMPACK_CORE_PLAN_HASH_HPP
#define SLIMPACK_CORE_PLAN_HASH_HPP

#include <slimpack/core/plan.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace slimpack {

namespace detail {

/// A fingerprint of 64-bit words in order: each is mixed in by a multiplication and a shift.
/// Source    the multiply-xorshift step of splitmix64 (G. L. Steele, D. Lea and C. H. Flood, 2014)
class word_hash {
 public:
  void add(std::uint64_t word) noexcept {
    state_ = (state_ ^ word) * 0xbf58476d1ce4e5b9ULL;
    state_ ^= state_ >> 31;
  }
  void add(std::int64_t n) noexcept { add(static_cast<std::uint64_t>(n)); }
  void add(std::uint32_t n) noexcept { add(std::uint64_t{n}); }
  void add(int n) noexcept { add(std::int64_t{n}); }
  void add(double x) noexcept { add(std::bit_cast<std::uint64_t>(x)); }
  template <class Unit, class Rep>
  void add(quantity<Unit, Rep> q) noexcept {
    add(q.value);
  }
  void add(std::string_view text) noexcept {
    add(std::uint64_t{text.size()});
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_{0x9e3779b97f4a7c15ULL};
};

}  // namespace detail

/// A hash as plan files and messages show it: 16 hexadecimal digits.
[[nodiscard]] inline std::string hash_text(std::uint64_t hash) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; hash >>= 4) text[i] = "0123456789abcdef"[hash & 15];
  return text;
}

/// Fingerprint of a text: of an input that a plan was made with.
[[nodiscard]] inline std::uint64_t text_hash(std::string_view text) noexcept {
  detail::word_hash h;
  h.add(text);
  return h.value();
}

/// Fingerprint of everything in the plan file but hash, planning time, rank time, MFU, origin, data and the truncated
/// mark. Equal on every compiler and build type: it reads values, not memory.
/// Errors    none            Complexity  O(size of the plan)
[[nodiscard]] std::uint64_t hash_of(const plan& p) noexcept;

}  // namespace slimpack

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/core/impl/plan_hash.ipp>
#endif

#endif
