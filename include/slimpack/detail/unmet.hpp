#ifndef SLIMPACK_DETAIL_UNMET_HPP
#define SLIMPACK_DETAIL_UNMET_HPP

#include <cstddef>

namespace slimpack::detail {

template <std::size_t Size>
struct fixed_string {
  char text[Size]{};
  consteval fixed_string(const char (&s)[Size]) {  // NOLINT: implicit, so that a literal is a template argument
    for (std::size_t i = 0; i < Size; ++i) text[i] = s[i];
  }
};

/// False. Compilers quote the sentence when it is the last alternative of an unsatisfied concept.
template <fixed_string Sentence>
consteval bool unmet() {
  return false;
}

/// True where Met. Otherwise compilers quote the sentence, in fewer lines than for an alternative of `unmet`.
template <bool Met, fixed_string Sentence>
consteval bool met() {
  return Met;
}

}  // namespace slimpack::detail

#endif
