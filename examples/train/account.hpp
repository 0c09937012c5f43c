#ifndef SLIMPACK_EXAMPLES_TRAIN_ACCOUNT_HPP
#define SLIMPACK_EXAMPLES_TRAIN_ACCOUNT_HPP

#include "ending.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace train {

/// Something that all ranks of a job must have alike: an option and its value, or an input and its fingerprint.
struct fact {
  std::string name;
  std::string value{};  ///< empty: not given

  friend bool operator==(const fact&, const fact&) = default;
};

/// What a rank tells the others before any of them trains.
struct account {
  std::optional<ending> ended{};  ///< the rank has nothing to train: it was asked for help, or it refuses
  std::vector<fact> facts{};
};

/// An account as bytes, and back.
/// Complexity  O(bytes)
[[nodiscard]] std::string written(const account& a);
[[nodiscard]] account read_account(std::string_view text);

/// How all ranks end where their accounts, in order of rank, let none of them train; nothing where all train.
/// Rule      A rank that refuses is told of first, by its own sentence. If all ranks say the same, no rank is named.
///           Otherwise each fact that differs is told, with every value and its ranks.
/// Requires  an account or more
[[nodiscard]] std::optional<ending> verdict(std::span<const account> of_ranks);

/// The accounts of all ranks, in order of rank, on every rank.
/// Errors    those of the transport
template <class Transport>
[[nodiscard]] slimpack::result<std::vector<account>> exchanged(Transport& transport, const account& own) {
  std::string text = written(own);
  const slimpack::result<std::vector<std::uint64_t>> sizes = slimpack::gathered(transport, std::uint64_t{text.size()});
  if (!sizes) return sizes.error();
  const auto longest = static_cast<std::size_t>(*std::max_element(sizes.value().begin(), sizes.value().end()));
  text.resize(longest);
  const slimpack::result<std::vector<char>> texts = slimpack::gathered(transport, std::span<const char>(text));
  if (!texts) return texts.error();
  std::vector<account> all;
  for (std::size_t rank = 0; rank < sizes.value().size(); ++rank)
    all.push_back(read_account({texts.value().data() + rank * longest, static_cast<std::size_t>(sizes.value()[rank])}));
  return all;
}

}  // namespace train

#endif
