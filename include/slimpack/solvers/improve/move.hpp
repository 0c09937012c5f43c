#ifndef SLIMPACK_SOLVERS_IMPROVE_MOVE_HPP
#define SLIMPACK_SOLVERS_IMPROVE_MOVE_HPP

#include <slimpack/solvers/improve/sites.hpp>
#include <slimpack/solvers/search_options.hpp>
#include <slimpack/solvers/search_report.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

/// Moves change a plan by little; a walk keeps what makes the step no longer. Shipped ones:
///   swap      two instructions of a stage change places            (instruction_site)
///   shift     the border between two packs moves, in its order     (window_site)
///   merge     several packs become one fewer, in their order       (window_site)
///   split     one pack becomes two                                 (pack_site)
///   join      two packs become one                                 (pack_site)
///   take      a pack takes a share of the next                     (pack_site)
///   give      a pack gives a share to the next                     (pack_site)
///   reorder   a sequence runs earlier or later                     (sequence_site)
/// shipped.hpp has and registers them. A move of your own is a class like these, and one line:
///
///   solvers::two_phase_with<improve::shipped::and_also<my_move>> solver{{.effort = ...}};
namespace slimpack::solvers::improve {

/// Whether a move is tried at a kind of site.
template <class M, class Site>
concept is_at = requires(const M& m, Site& at) {
  { m(at) } -> std::same_as<bool>;
};

/// A move of the search: a name for reports, a weight, and what it does at a site (sites.hpp).
///  1. it says whether it changed anything that is to be tried; at an instruction, whether the change stays
///  2. it draws numbers from the site alone, as many for equal sites, so that equal problems get equal plans
///  3. it never fails: what cannot be done at a site is left
/// testing/improve/move_laws.hpp checks these laws.
/// At each site the walk draws one of the moves for such sites, by their weights; a weight of 0 turns one off.
template <class M>
concept move = std::default_initializable<M> && requires(const M& m, const search_options& o) {
  { M::name } -> std::convertible_to<std::string_view>;
  { m.weight(o) } -> std::same_as<double>;
} &&(is_at<M, instruction_site> || is_at<M, window_site> || is_at<M, pack_site> || is_at<M, sequence_site>);

/// Moves that a search knows, in the order in which one is drawn.
template <class... Moves>
struct moves {
  static constexpr bool all_are_moves = (move<Moves> && ...);  // compilers say less of a constant than of a concept
  static_assert(all_are_moves,
                "a move offers static constexpr string_view name, double weight(const search_options&) const, and bool "
                "operator()(site&) const for a site of solvers/improve/sites.hpp");

  template <class... More>
  using and_also = moves<Moves..., More...>;

  static constexpr std::size_t size = sizeof...(Moves);

  /// A move by its index, `size` for none, and what it said.
  struct drawn {
    std::size_t move{size};
    bool wanted{};
  };

  /// Tries the one of the moves for such a site that `draw`, from [0, 1), chooses by weight.
  template <class Site>
  static drawn try_one(Site& at, double draw) {
    drawn made;
    try_first(at, draw * (0.0 + ... + weight_at<Moves, Site>(at.options)), made, std::index_sequence_for<Moves...>{});
    return made;
  }
  /// The same, where it draws that number itself if there is a choice.
  template <class Site>
  static drawn try_one(Site& at) {
    constexpr std::size_t choices = (std::size_t{is_at<Moves, Site>} + ... + 0);
    return try_one(at, choices > 1 ? at.random.uniform() : 0.0);
  }

  /// The names, by index.
  static constexpr std::array<std::string_view, size> names{Moves::name...};

 private:
  template <class M, class Site>
  static double weight_at(const search_options& o) {
    if constexpr (is_at<M, Site>)
      return M{}.weight(o);
    else
      return 0;
  }
  /// The first move whose weight is more than what those before it leave of the draw.
  template <class Site, std::size_t... I>
  static void try_first([[maybe_unused]] Site& at, [[maybe_unused]] double draw, [[maybe_unused]] drawn& made,
                        std::index_sequence<I...>) {
    static_cast<void>((tried<I, Moves>(at, draw, made) || ...));
  }
  template <std::size_t Index, class M, class Site>
  static bool tried(Site& at, double& draw, drawn& made) {
    if constexpr (is_at<M, Site>) {
      const M m{};
      const double weight = m.weight(at.options);
      if (draw < weight) {
        made = {Index, m(at)};
        return true;
      }
      draw -= weight;
    }
    return false;
  }
};

/// moves<...>
template <class L>
concept move_list = requires {
  { L::size } -> std::convertible_to<std::size_t>;
  L::names;
};

/// What each move of a list has done, by index: walks add to it without looking for names.
template <class Moves>
struct move_counts {
  std::array<move_report, Moves::size + 1> of{};  ///< the last one: no move

  void add(const move_counts& other) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i].add(other.of[i]);
  }
  void add_to(search_report& report) const {
    for (std::size_t i = 0; i < Moves::size; ++i)
      if (of[i].tried > 0) report.of(Moves::names[i]).add(of[i]);
  }
};

}  // namespace slimpack::solvers::improve

#endif
