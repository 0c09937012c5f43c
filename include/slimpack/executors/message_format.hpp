#ifndef SLIMPACK_EXECUTORS_MESSAGE_FORMAT_HPP
#define SLIMPACK_EXECUTORS_MESSAGE_FORMAT_HPP

#include <slimpack/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace slimpack {

/// What the elements of a message are. The runtime only compares them between ranks and knows their size.
enum class element_type : unsigned char { float32, float64, float16, bfloat16, int8 };

[[nodiscard]] constexpr std::size_t size_of(element_type e) noexcept {
  switch (e) {
    case element_type::float64: return 8;
    case element_type::float32: return 4;
    case element_type::float16:
    case element_type::bfloat16: return 2;
    case element_type::int8: return 1;
  }
  return 0;
}

[[nodiscard]] inline std::string to_string(element_type e) {
  constexpr const char* names[] = {"float32", "float64", "float16", "bfloat16", "int8"};
  return names[static_cast<unsigned char>(e)];
}

/// The element_type of a C++ floating-point type.
template <class T>
  requires(std::is_same_v<T, float> || std::is_same_v<T, double>)
inline constexpr element_type element_of = std::is_same_v<T, float> ? element_type::float32 : element_type::float64;

/// What stages send each other for one token: activations forward, their gradients backward.
struct message_format {
  std::int64_t width{};      ///< elements per token, as a rule the model's hidden size
  element_type element{};

  [[nodiscard]] constexpr std::size_t bytes_per_token() const noexcept {
    return static_cast<std::size_t>(width) * size_of(element);
  }
  friend constexpr bool operator==(const message_format&, const message_format&) = default;
};

}  // namespace slimpack

#endif
