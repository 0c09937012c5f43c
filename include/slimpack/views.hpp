#ifndef SLIMPACK_VIEWS_HPP
#define SLIMPACK_VIEWS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/views/detail/each_of.hpp>

#include <range/v3/view/filter.hpp>
#include <range/v3/view/iota.hpp>
#include <range/v3/view/transform.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// A finished plan as ranges: what one would write nested loops and index arithmetic for. Nothing is copied; a view
/// holds a pointer to its plan, which must outlive it, so that none is made of a temporary plan.
/// What does not name a pass is of both: of each replica first forward, then backward. Packs, slices and rows come in
/// run order. Views compose with those of range-v3 and work with its algorithms. Those that choose (slices and rows of
/// a sequence, row_slices) cannot be iterated when they are const, as all of range-v3 that filter. Items are made on
/// the way: what transforms them returns values, by a lambda and not by a pointer to a member, which would return a
/// reference into an item that is gone. nvcc cannot parse range-v3: leave this header out of .cu files.
/// Requires  a plan of planner or read_plan, whose tables fit its packs
/// Errors    none            Complexity  to make a view O(1); to walk it O(what it walks over), said where that is more
namespace slimpack {

/// A micropack of a plan, with what it costs.
struct pack_view {
  std::uint32_t replica{};
  slimpack::pass pass{};
  pack_id pack;  ///< its place in the run order of the pass
  std::span<const slice> slices;
  std::span<const seconds> times;         ///< on each part of the model, per-pack overhead included
  std::span<const seconds> weight_times;  ///< of its W instructions, likewise; empty where it has none
  std::span<const seconds> messages;      ///< over each boundary b, between parts b and b + 1; forward on to b + 1,
                                          ///< backward on to b
};

/// A slice of a sequence, with where it runs.
struct slice_view {
  std::uint32_t replica{};
  slimpack::pass pass{};
  pack_id pack;
  slimpack::slice slice;
};

/// An instruction of a stage, with what it takes and what it runs on.
struct instruction_view {
  std::uint32_t replica{};
  std::uint32_t stage{};
  slimpack::instruction instruction;
  seconds time;
  std::span<const slice> slices;
};

/// What a pack sends over a boundary between two parts of the model.
struct message_view {
  std::uint32_t replica{};
  slimpack::pass pass{};
  pack_id pack;
  std::uint32_t from{};  ///< part; chunk c of stage r is part c * stages + r
  std::uint32_t to{};    ///< part: from + 1 forward, from - 1 backward
  seconds time;          ///< from its end on `from` to its arrival at `to`
};

/// A row of a shared sequence: packs of several replicas that run jointly (core/merge.hpp).
struct row_view {
  sequence_id sequence;
  slimpack::pass pass{};
  std::uint32_t row{};                     ///< its place in the run order of the pass
  std::span<const std::uint32_t> sharers;  ///< replicas, ascending
  std::span<const pack_id> packs;          ///< of each sharer, or merge::none
};

namespace views {

/// One pack.
/// Requires  the pack is one of that pass
[[nodiscard]] inline pack_view pack(const plan& p, std::size_t replica, slimpack::pass of, pack_id which) {
  const replica_plan& r = p.replicas[replica];
  const auto parts = static_cast<std::size_t>(p.shape.parts());
  const std::size_t first = which.value * parts;
  const auto row = [&](const std::vector<seconds>& table) { return std::span(table).subspan(first, parts); };
  const bool apart = of == pass::backward && r.times.apart.splits(which.value);
  return {static_cast<std::uint32_t>(replica),
          of,
          which,
          r.partition.of(of)[which.value],
          row(r.times.calls[of]),
          apart ? row(r.times.calls[instruction_kind::weights]) : std::span<const seconds>{},
          slimpack::detail::boundaries(row(r.times.messages[of]), of)};
}
void pack(const plan&&, std::size_t, slimpack::pass, pack_id) = delete;

/// One instruction.
[[nodiscard]] inline instruction_view instruction(const plan& p, std::size_t replica, std::size_t stage,
                                                  const slimpack::instruction& i) {
  const replica_plan& r = p.replicas[replica];
  return {static_cast<std::uint32_t>(replica), static_cast<std::uint32_t>(stage), i,
          time_of(r.times, i, stage, p.shape), r.partition.of(i.pass())[i.pack.value]};
}
void instruction(const plan&&, std::size_t, std::size_t, const slimpack::instruction&) = delete;

namespace detail {

/// The packs of one pass of a replica, or the program of one of its stages: what the views go through in turn.
struct track {
  const plan* of;
  std::size_t replica;
  slimpack::pass pass{};
  std::size_t stage{};
};

struct packs_of_track {
  static std::size_t count(const track& l) { return l.of->replicas[l.replica].partition.of(l.pass).size(); }
  static pack_view at(const track& l, std::size_t i) {
    return views::pack(*l.of, l.replica, l.pass, {static_cast<std::uint32_t>(i)});
  }
};

struct instructions_of_track {
  static std::size_t count(const track& l) { return l.of->replicas[l.replica].programs[l.stage].size(); }
  static instruction_view at(const track& l, std::size_t i) {
    return views::instruction(*l.of, l.replica, l.stage, l.of->replicas[l.replica].programs[l.stage][i]);
  }
};

struct slices_of_pack {
  static std::size_t count(const pack_view& p) { return p.slices.size(); }
  static slice_view at(const pack_view& p, std::size_t i) { return {p.replica, p.pass, p.pack, p.slices[i]}; }
};

struct merge_pass {
  const merge* of;
  slimpack::pass pass;
};

struct rows_of_merge {
  static std::size_t count(const merge_pass& m) { return m.of->of(m.pass).size(); }
  static row_view at(const merge_pass& m, std::size_t i) {
    return {m.of->sequence, m.pass, static_cast<std::uint32_t>(i), m.of->replicas, m.of->of(m.pass)[i]};
  }
};

/// make(0), make(1), ... make(n - 1)
template <class Make>
[[nodiscard]] auto each(std::size_t n, Make make) {
  return ranges::views::iota(std::size_t{0}, n) | ranges::views::transform(make);
}

/// make(0, forward), make(0, backward), make(1, forward), ...
template <class Make>
[[nodiscard]] auto each_of_both(std::size_t n, Make make) {
  return each(2 * n, [make](std::size_t k) { return make(k / 2, k % 2 == 0 ? pass::forward : pass::backward); });
}

template <class Packs>
[[nodiscard]] auto slices_in(Packs packs, sequence_id sequence) {
  return slimpack::detail::each_of<slices_of_pack>(packs) |
         ranges::views::filter([sequence](const slice_view& s) { return s.slice.sequence == sequence; });
}

template <class Packs>
[[nodiscard]] auto messages_over(Packs packs, std::size_t boundary) {
  return packs | ranges::views::transform([boundary](const pack_view& p) {
           const auto below = static_cast<std::uint32_t>(boundary);
           const bool up = p.pass == pass::forward;
           return message_view{p.replica,           p.pass, p.pack, up ? below : below + 1, up ? below + 1 : below,
                               p.messages[boundary]};
         });
}

}  // namespace detail

/// The packs of one pass of a replica, by number: packs(p, 0, pass::forward)[3].
[[nodiscard]] inline auto packs(const plan& p, std::size_t replica, slimpack::pass of) {
  const plan* const all = &p;
  return detail::each(p.replicas[replica].partition.of(of).size(), [all, replica, of](std::size_t i) {
    return pack(*all, replica, of, {static_cast<std::uint32_t>(i)});
  });
}

/// The packs of one pass, replica by replica.
[[nodiscard]] inline auto packs(const plan& p, slimpack::pass of) {
  const plan* const all = &p;
  return slimpack::detail::each_of<detail::packs_of_track>(
      detail::each(p.replicas.size(), [all, of](std::size_t replica) {
        return detail::track{all, replica, of};
      }));
}

/// All packs.
[[nodiscard]] inline auto packs(const plan& p) {
  const plan* const all = &p;
  return slimpack::detail::each_of<detail::packs_of_track>(
      detail::each_of_both(p.replicas.size(), [all](std::size_t replica, pass of) {
        return detail::track{all, replica, of};
      }));
}

/// The slices of a sequence in one pass; of a shared sequence, sharer by sharer.
/// Complexity O(slices of the pass)
[[nodiscard]] inline auto slices(const plan& p, sequence_id sequence, slimpack::pass of) {
  return detail::slices_in(packs(p, of), sequence);
}

/// The slices of a sequence in both passes.
/// Complexity O(slices of the plan)
[[nodiscard]] inline auto slices(const plan& p, sequence_id sequence) { return detail::slices_in(packs(p), sequence); }

/// What a stage of a replica runs, by number.
[[nodiscard]] inline auto instructions(const plan& p, std::size_t replica, std::size_t stage) {
  const plan* const all = &p;
  return detail::each(p.replicas[replica].programs[stage].size(), [all, replica, stage](std::size_t i) {
    return instruction(*all, replica, stage, all->replicas[replica].programs[stage][i]);
  });
}

/// What a stage runs, replica by replica.
[[nodiscard]] inline auto instructions(const plan& p, std::size_t stage) {
  const plan* const all = &p;
  return slimpack::detail::each_of<detail::instructions_of_track>(
      detail::each(p.replicas.size(), [all, stage](std::size_t replica) {
        return detail::track{all, replica, {}, stage};
      }));
}

/// All instructions: of each replica, stage by stage.
[[nodiscard]] inline auto instructions(const plan& p) {
  const plan* const all = &p;
  const auto stages = static_cast<std::size_t>(p.shape.stages);
  return slimpack::detail::each_of<detail::instructions_of_track>(
      detail::each(stages * p.replicas.size(), [all, stages](std::size_t k) {
        return detail::track{all, k / stages, {}, k % stages};
      }));
}

/// The messages of one pass over the boundary between parts `boundary` and `boundary` + 1, replica by replica.
/// Requires  boundary + 1 < parts of the shape
[[nodiscard]] inline auto messages(const plan& p, std::size_t boundary, slimpack::pass of) {
  return detail::messages_over(packs(p, of), boundary);
}

/// The same of both passes.
[[nodiscard]] inline auto messages(const plan& p, std::size_t boundary) {
  return detail::messages_over(packs(p), boundary);
}

/// The rows of one pass of a merge.
[[nodiscard]] inline auto rows(const merge& m, slimpack::pass of) {
  const detail::merge_pass one{&m, of};
  return detail::each(m.of(of).size(), [one](std::size_t i) { return detail::rows_of_merge::at(one, i); });
}

/// All rows: of each merge first forward, then backward.
[[nodiscard]] inline auto rows(const plan& p) {
  const plan* const all = &p;
  return slimpack::detail::each_of<detail::rows_of_merge>(
      detail::each_of_both(p.merges.size(), [all](std::size_t m, pass of) {
        return detail::merge_pass{&all->merges[m], of};
      }));
}

/// The rows of a sequence in both passes; none where no replicas share it.
/// Complexity O(rows of the plan)
[[nodiscard]] inline auto rows(const plan& p, sequence_id sequence) {
  return rows(p) | ranges::views::filter([sequence](const row_view& r) { return r.sequence == sequence; });
}

/// The rows of a sequence in one pass.
/// Complexity O(rows of the plan)
[[nodiscard]] inline auto rows(const plan& p, sequence_id sequence, slimpack::pass of) {
  return rows(p) |
         ranges::views::filter([sequence, of](const row_view& r) { return r.sequence == sequence && r.pass == of; });
}

/// The slices that a row runs jointly, sharer by sharer.
/// Complexity O(slices of its packs)
[[nodiscard]] inline auto row_slices(const plan& p, const row_view& row) {
  const plan* const all = &p;
  return detail::slices_in(
      detail::each(row.sharers.size(),
                   [all, row](std::size_t j) { return pack(*all, row.sharers[j], row.pass, row.packs[j]); }),
      row.sequence);
}

// A view of a temporary plan would outlive it.
template <class... Which>
void packs(const plan&&, Which...) = delete;
template <class... Which>
void slices(const plan&&, Which...) = delete;
template <class... Which>
void instructions(const plan&&, Which...) = delete;
template <class... Which>
void messages(const plan&&, Which...) = delete;
template <class... Which>
void rows(const plan&&, Which...) = delete;
void rows(const merge&&, slimpack::pass) = delete;
void row_slices(const plan&&, const row_view&) = delete;

}  // namespace views
}  // namespace slimpack

#endif
