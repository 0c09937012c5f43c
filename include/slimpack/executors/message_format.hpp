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
    case element_type::float64:
      return 8;
    case element_type::float32:
      return 4;
    case element_type::float16:
    case element_type::bfloat16:
      return 2;
    case element_type::int8:
      return 1;
  }
  return 0;
}

[[nodiscard]] inline std::string to_string(element_type e) {
  constexpr const char* names[] = {"float32", "float64", "float16", "bfloat16", "int8"};
  const auto number = static_cast<unsigned char>(e);  // that another rank sent, perhaps
  return number < sizeof names / sizeof *names ? names[number] : "element type " + std::to_string(number);
}

/// The element_type of a C++ floating-point type.
template <class T>
requires(std::is_same_v<T, float> ||
         std::is_same_v<T, double>) inline constexpr element_type element_of = std::is_same_v<T, float>
                                                                                   ? element_type::float32
                                                                                   : element_type::float64;

/// What stages send each other for one token: activations forward, their gradients backward.
struct message_format {
  std::int64_t width{};  ///< elements per token, as a rule the model's hidden size
  element_type element{};

  [[nodiscard]] constexpr std::size_t bytes_per_token() const noexcept {
    return static_cast<std::size_t>(width) * size_of(element);
  }
  friend constexpr bool operator==(const message_format&, const message_format&) = default;
};

/// What stages send each other for one token of the output layer, where the vocabulary is spread over them
/// (core/wiring/step_kinds.hpp). All else has the format of hidden rows, that of format(): embedded rows (E), hidden
/// rows (from the last part to V on each stage), and their gradients (from V on the last stage to the last part, and
/// G).
struct vocabulary_format {
  /// From V on each stage to V on the last, of the stage's own words. Of width 0 in a compute that has its vocabulary
  /// in one place, where neither is used.
  /// For a hidden size of h as a rule 2 h + 3 elements: the largest logit, the sum of exponentials, and the target's
  /// logit (minus infinity where the target is no word of the stage); the sum of weight rows times exponentials; and
  /// the target's weight row (zeros where it is none).
  message_format partial{};
  /// From V on the last stage to U on each: as a rule one element, the logarithm of the sum of exponentials over all
  /// words.
  message_format statistics{};
  friend constexpr bool operator==(const vocabulary_format&, const vocabulary_format&) = default;
};

}  // namespace slimpack

#endif
