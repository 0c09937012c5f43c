#ifndef SLIMPACK_IO_DETAIL_LISTED_HPP
#define SLIMPACK_IO_DETAIL_LISTED_HPP

#include <slimpack/io/detail/numbered_lines.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace slimpack::io::detail {

/// Names of a file for a message, with what a nameless one is called. Long names are cut off, and so are long lists.
[[nodiscard]] inline std::string listed(std::span<const std::string> names) {
  constexpr std::size_t most = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    list += (i == 0 ? "" : ", ") + (names[i].empty() ? "one without a name" : shown(names[i]));
  if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
  return names.empty() ? "none" : list;
}

}  // namespace slimpack::io::detail

#endif
