#ifndef SLIMPACK_SOLVERS_IMPROVE_SPLIT_HPP
#define SLIMPACK_SOLVERS_IMPROVE_SPLIT_HPP

#include <slimpack/solvers/improve/sites.hpp>

#include <cstddef>
#include <string_view>

namespace slimpack::solvers::improve {

/// A pack becomes two.
/// Source    derived
struct split {
  static constexpr std::string_view name = "split";
  [[nodiscard]] static constexpr double weight(const search_options& o) noexcept { return o.tuning.split_weight; }

  bool operator()(pack_site& at) const {
    const auto pack = at.times.begin() + static_cast<std::ptrdiff_t>(at.pack);
    const double first = *pack * at.share;
    *pack -= first;
    at.times.insert(pack, first);
    return true;
  }
};

}  // namespace slimpack::solvers::improve

#endif
