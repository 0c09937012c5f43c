#ifndef SLIMPACK_PRICING_LEND_HPP
#define SLIMPACK_PRICING_LEND_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/lending/loan_messages.hpp>
#include <slimpack/core/micropack.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/costs/hooks.hpp>
#include <slimpack/pricing/workload.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace slimpack {

/// Puts the loans of a replica into its priced packs.
/// Formula   layers of both sides run side by side: a helper computes a lender's attention behind its own, and the
///           lender goes on when it has the results. With L layers on the part, and what a loan's attention takes as
///           the difference of the queries' slice with these keys and without them,
///             helper  own + lent attention + L max(0, queries - own attention to prefixes / L), at least L sum of
///                     contexts
///             lender  max(own less what it lends, its helpers) + L results
///           Contexts are there before a layer begins, so they travel beside the layer before. That queries of one
///           lender hide behind attention of the helper counts only what the helper attends to before its own slices:
///           less than all
/// Source    derived
/// Requires  loans of these packs, of parts with equal layers; nothing lent before
/// Complexity O(packs * parts + slices of helpers + loans)
template <class Cost>
void lend(const partition& packs, const Cost& cost, std::span<const loan> loans, workload& w) {
  w.loans.assign(loans.begin(), loans.end());
  const auto part_of = [&](const loan::side& s) {
    return static_cast<int>(s.what.chunk) * w.shape.stages + static_cast<int>(s.stage);
  };
  const auto cell_of = [&](const loan::side& s) {
    return s.what.pack.value * static_cast<std::size_t>(w.shape.parts()) + static_cast<std::size_t>(part_of(s));
  };
  const auto time_of = [&](const loan::side& s) -> seconds& { return w.times.calls[s.what.pass()][cell_of(s)]; };
  const auto changed = [&](seconds& time, seconds to) { w.times.communication += to - time, time = to; };
  struct help {
    loan::side who;
    seconds queries{}, context{};
  };  // what one side waits for, of all that it helps
  std::vector<help> helps;
  by_pass<std::vector<std::size_t>> help_of;  // a helper, by cell; counted from 1, 0: none yet
  for (const pass p : both_passes) help_of[p].resize(w.times.calls[p].size());
  for (const loan& l : loans) {
    const auto with_keys_from = [&](tokens first) {
      return cost.time(slice{l.queries.sequence, l.queries.begin - first, l.queries.length}, l.pass(),
                       part_of(l.lender));
    };
    const seconds attention = with_keys_from(l.context.begin) - with_keys_from(l.context.end());
    time_of(l.lender) = std::max(seconds{}, time_of(l.lender) - attention);
    time_of(l.helper) += attention;
    const loan_messages m = loan_messages_of(cost, l, part_of(l.helper));
    std::size_t& at = help_of[l.pass()][cell_of(l.helper)];
    if (at == 0) helps.push_back({l.helper}), at = helps.size();
    help& h = helps[at - 1];
    h.queries = std::max(h.queries, m.queries * m.layers), h.context += m.context * m.layers;
  }
  for (const help& h : helps) {
    seconds before{};
    for (const slice& s : packs.of(h.who.what.pass())[h.who.what.pack.value])
      before += cost.time(s, h.who.what.pass(), part_of(h.who)) -
                cost.time(slice{s.sequence, {0}, s.length}, h.who.what.pass(), part_of(h.who));
    seconds& time = time_of(h.who);
    changed(time, std::max(time + std::max(seconds{}, h.queries - before), h.context));
  }
  for (std::size_t i = 0, end = 0; i < loans.size(); i = end) {
    seconds until = time_of(loans[i].lender);
    for (; end < loans.size() && loans[end].lender == loans[i].lender; ++end) {
      const loan_messages m = loan_messages_of(cost, loans[end], part_of(loans[end].lender));
      until = std::max(until, time_of(loans[end].helper) + m.results * m.layers);
    }
    changed(time_of(loans[i].lender), until);
  }
}

}  // namespace slimpack

#endif
