#ifndef SLIMPACK_CORE_RANK_NAMES_HPP
#define SLIMPACK_CORE_RANK_NAMES_HPP

#include <slimpack/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// How sentences of transports name ranks. A transport knows its own numbers of its ranks alone, and a job of several
/// transports has others. So an error says where such numbers stand in its line, and packflow and watchdog, which are
/// told the trainer's numbers, put these there. A sentence then has one numbering.
namespace slimpack {

/// A rank of a transport, by the transport's own number.            Requires   none is negative
struct own_rank {
  int number{};
};

namespace detail {
inline void add_to_line(error& to, std::string_view text) { to.detail += text; }
inline void add_to_line(error& to, own_rank rank) {
  for (std::uint16_t& place : to.ranks) {
    if (place != 0 || to.detail.size() > UINT16_MAX) continue;
    place = static_cast<std::uint16_t>(to.detail.size());
    break;
  }
  to.detail += std::to_string(rank.number);
}
}  // namespace detail

/// An error of a transport, put together of texts and at most two ranks, the first of which is a text:
///
///   return error_of_ranks(errc::timed_out, "no message from rank ", own_rank{peer}, " in 30 s");
template <class... Parts>
[[nodiscard]] error error_of_ranks(errc code, const Parts&... parts) {
  error made{code, {}};
  (detail::add_to_line(made, parts), ...);
  return made;
}

/// An error of a transport with the trainer's numbers of its ranks.
/// trainer_rank: of a rank of the transport, an int; or an empty function, the error stays as it is then
template <class Number>
[[nodiscard]] error in_trainer_numbers(error e, const Number& trainer_rank) {
  if constexpr (requires { !trainer_rank; })
    if (!trainer_rank) return e;
  std::ptrdiff_t shift = 0;
  for (std::uint16_t& place : e.ranks) {
    if (place == 0) continue;
    const auto begin = static_cast<std::size_t>(place + shift);
    std::size_t end = begin;
    while (end < e.detail.size() && e.detail[end] >= '0' && e.detail[end] <= '9') ++end;
    const std::string number = std::to_string(trainer_rank(std::stoi(e.detail.substr(begin, end - begin))));
    e.detail.replace(begin, end - begin, number);
    shift += static_cast<std::ptrdiff_t>(number.size()) - static_cast<std::ptrdiff_t>(end - begin);
    place = 0;
  }
  return e;
}

}  // namespace slimpack

#endif
