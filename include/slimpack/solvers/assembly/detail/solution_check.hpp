#ifndef SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_SOLUTION_CHECK_HPP
#define SLIMPACK_SOLVERS_ASSEMBLY_DETAIL_SOLUTION_CHECK_HPP

#include <slimpack/core/detail/by_pass.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/core/merge.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/solvers/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace slimpack::detail {

/// Whether a solver's answer can be simulated: what it names is there, each sequence runs on one replica or on those
/// that share it, in order, and rows name the packs of their slices. Cuts, memory and which sharer runs a token
/// backward are left to testing/solver_laws.hpp; programs to task_graph::assign.
class solution_check {
 public:
  /// passes: those that it plans
  solution_check(const solution& solved, std::span<const tokens> lengths, const shape& on,
                 std::span<const pass> passes = both_passes)
      : solved_(solved),
        lengths_(lengths),
        shape_(on),
        replicas_(static_cast<std::size_t>(on.replicas)),
        passes_(passes),
        of_(lengths.size()) {}
  /// The same of one group: it runs its sequences on its replicas, and the others run nothing.
  solution_check(const group_solution& group, std::span<const tokens> lengths, const shape& on)
      : solution_check(group.solved, lengths, on) {
    group_ = &group;
  }

  /// Errors    invalid_input: what is wrong, with its sequence
  /// Complexity O(sequences + slices + rows * sharers)
  result<void> operator()();

 private:
  /// What is known of a sequence so far.
  struct state {
    const merge* shared{};
    bool elsewhere{};           // on replicas outside of the group that is checked
    std::size_t listed{};       // replicas
    std::uint32_t last{};       // that lists it, counted from 1
    by_pass<std::size_t> rows;  // that this one has run
    by_pass<tokens> ran;
  };

  static std::string number(auto n) { return std::to_string(n); }
  static error wrong(std::size_t sequence, const std::string& what) {
    return {errc::invalid_input, "the solver's answer is wrong: sequence " + number(sequence) + " " + what};
  }

  result<void> check(const group_solution& group);

  result<void> check(const merge& m);

  result<void> check(std::uint32_t replica);

  result<void> check(const slice& one, pass p, std::uint32_t replica, std::size_t pack);

  const solution& solved_;
  std::span<const tokens> lengths_;
  shape shape_;
  std::size_t replicas_;
  std::span<const pass> passes_;
  const group_solution* group_{};
  std::vector<state> of_;  // sequences
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/solvers/assembly/impl/solution_check.ipp>
#endif

#endif
