#ifndef SLIMPACK_CORE_RANK_NAMES_HPP
#define SLIMPACK_CORE_RANK_NAMES_HPP

#include <slimpack/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

/// How sentences of transports name ranks. A transport knows its own numbers of its ranks alone, and a job of several
/// transports has others. So an error says where such numbers stand in its line, and packflow and watchdog, which are
/// told the trainer's numbers, put these there. A sentence then has one numbering.
namespace slimpack {

/// A rank of a transport, by the transport's own number.
struct own_rank {
  int number{};
};

namespace detail {
inline void add_to_line(error& to, std::string_view text) { to.detail += text; }
inline void add_to_line(error& to, own_rank rank) {
  const auto free = std::find(to.ranks.begin(), to.ranks.end(), 0);
  if (free != to.ranks.end() && to.detail.size() <= std::numeric_limits<std::uint16_t>::max())
    *free = static_cast<std::uint16_t>(to.detail.size());
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

/// The same error with the trainer's numbers of its ranks.            trainer_rank: may be empty, it stays as it is then
[[nodiscard]] inline error in_trainer_numbers(error e, const std::function<int(int)>& trainer_rank) {
  if (!trainer_rank) return e;
  std::ptrdiff_t shift = 0;
  for (std::uint16_t& place : e.ranks) {
    if (place == 0) continue;
    const auto begin = static_cast<std::size_t>(place + shift);
    const std::size_t end = std::min(e.detail.find_first_not_of("-0123456789", begin), e.detail.size());
    const std::string number = std::to_string(trainer_rank(std::stoi(e.detail.substr(begin, end - begin))));
    e.detail.replace(begin, end - begin, number);
    shift += static_cast<std::ptrdiff_t>(number.size()) - static_cast<std::ptrdiff_t>(end - begin);
    place = 0;
  }
  return e;
}

}  // namespace slimpack

#endif
