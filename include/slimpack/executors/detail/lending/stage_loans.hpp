#ifndef SLIMPACK_EXECUTORS_DETAIL_LENDING_STAGE_LOANS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_LENDING_STAGE_LOANS_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/program.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// What one stage lends and is lent, by its instructions.
class stage_loans {
 public:
  struct of_pack {
    std::vector<loan> lent;
    std::vector<loan> helped;
  };

  stage_loans() = default;
  stage_loans(std::span<const loan> all, std::uint32_t stage) {
    for (const loan& l : all) {
      if (l.lender.stage == stage) packs_[name_of(l.lender.what, 2)].lent.push_back(l);
      if (l.helper.stage == stage) packs_[name_of(l.helper.what, 2)].helped.push_back(l);
    }
  }

  [[nodiscard]] bool empty() const noexcept { return packs_.empty(); }
  /// Null where the instruction has none.
  [[nodiscard]] const of_pack* of(const instruction& i) const {
    if (packs_.empty() || !i.is_pass()) return nullptr;
    const auto found = packs_.find(name_of(i, 2));
    return found == packs_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, of_pack> packs_;
};

}  // namespace slimpack::detail

#endif
