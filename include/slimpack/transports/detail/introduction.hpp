#ifndef SLIMPACK_TRANSPORTS_DETAIL_INTRODUCTION_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_INTRODUCTION_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/rank_names.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace slimpack::detail {

/// What ranks tell each other before they join communicators: the first one's identities, and what must be alike on
/// all.
template <class Identity, std::size_t Kinds>
struct introduction {
  std::array<Identity, Kinds> identities{};
  std::int64_t keeps_launch_order{};
  std::int64_t streams{};

  /// Why ranks cannot work together, if so.            all: in order of rank
  [[nodiscard]] static std::optional<error> difference(std::span<const introduction> all) {
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r].keeps_launch_order != all[0].keeps_launch_order || all[r].streams != all[0].streams)
        return error_of_ranks(
            errc::disagreement, "rank ", own_rank{0}, ' ' + all[0].text() + ", rank ", own_rank{static_cast<int>(r)},
            ' ' + all[r].text(),
            ": NCCL_LAUNCH_ORDER_IMPLICIT must be set alike on all ranks, and NCCL be of one version");
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string text() const {
    return std::string(keeps_launch_order != 0 ? "keeps" : "does not keep") + " the order of launches and has " +
           std::to_string(streams) + " streams";
  }
};

}  // namespace slimpack::detail

#endif
