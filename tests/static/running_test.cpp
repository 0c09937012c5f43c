#include <slimpack/concepts/running.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

/// What is decided at compile time: these tests pass by compiling. What a concept says of a type that it refuses is in
/// compile_fail.
namespace slimpack::running_test {
namespace {

struct any_transport {
  struct handle {};
  int rank() const;
  int size() const;
  result<bool> test(handle&);
  result<handle> send(int, int, std::span<const std::byte>);
  result<handle> receive(int, int, std::span<std::byte>);
  result<void> wait(handle&);
  void abort(std::string_view);
};

struct transport_that_moves_only : any_transport {
  std::unique_ptr<int> communicator;
};

struct transport_that_blocks {
  int rank() const;
  int size() const;
  result<void> send(int, int, std::span<const std::byte>);
  result<void> receive(int, int, std::span<std::byte>);
  void abort(std::string_view);
};

struct transport_without_abort {
  struct handle {};
  int rank() const;
  int size() const;
  result<bool> test(handle&);
  result<handle> send(int, int, std::span<const std::byte>);
  result<handle> receive(int, int, std::span<std::byte>);
  result<void> wait(handle&);
};

struct transport_that_writes_what_it_sends {
  struct handle {};
  int rank() const;
  int size() const;
  result<bool> test(handle&);
  result<handle> send(int, int, std::span<std::byte>);
  result<handle> receive(int, int, std::span<std::byte>);
  result<void> wait(handle&);
  void abort(std::string_view);
};

TEST(Transport, OffersMessagesInHandlesAndAnAbort) {
  static_assert(transport<any_transport>);
  static_assert(transport<transport_that_moves_only>);
  static_assert(!transport<transport_that_blocks>);
  static_assert(!transport<transport_without_abort>);
  static_assert(!transport<transport_that_writes_what_it_sends>);
}

using message = std::span<const std::byte>;

struct any_compute {
  using state = std::unique_ptr<float[]>;  // activations are not copied
  message_format format() const;
  result<state> forward(const piece&, message, outgoing&);
  result<void> backward(const piece&, state, message, outgoing&);
  void discard(const piece&, state);
};

struct compute_that_cannot_fail {
  using state = std::unique_ptr<float[]>;
  message_format format() const;
  state forward(const piece&, message, outgoing&);
  void backward(const piece&, state, message, outgoing&);
  void discard(const piece&, state);
};

struct compute_by_pack {
  using state = std::unique_ptr<float[]>;
  message_format format() const;
  result<void> forward(std::span<const piece>, std::span<state>, message, outgoing&);
  result<void> backward(std::span<const piece>, std::span<state>, message, outgoing&);
  void discard(const piece&, state);
};

struct compute_with_an_arena {
  message_format format() const;
  result<void> forward(const piece&, message, outgoing&);
  result<void> backward(const piece&, message, outgoing&);
  void discard(const piece&);
};

struct compute_that_cuts_anywhere : compute_with_an_arena {
  static constexpr backward_cuts cuts = backward_cuts::any;
};

struct compute_with_an_arena_by_pack {
  message_format format() const;
  result<void> forward(std::span<const piece>, message, outgoing&);
  result<void> backward(std::span<const piece>, message, outgoing&);
  void discard(const piece&);
};

struct compute_that_cuts_what_it_keeps : any_compute {
  static constexpr backward_cuts cuts = backward_cuts::any;
};

struct compute_without_format {
  result<void> forward(const piece&, message, outgoing&);
  result<void> backward(const piece&, message, outgoing&);
  void discard(const piece&);
};

struct compute_that_cannot_discard {
  using state = int;
  message_format format() const;
  result<state> forward(const piece&, message, outgoing&);
  result<void> backward(const piece&, state, message, outgoing&);
};

struct compute_that_copies_its_state {
  using state = std::unique_ptr<float[]>;
  message_format format() const;
  result<state> forward(const piece&, message, outgoing&);
  result<void> backward(const piece&, state&, message, outgoing&);
  void discard(const piece&, state);
};

TEST(StageCompute, TakesOneOfFourForms) {
  static_assert(stage_compute<any_compute>);
  static_assert(stage_compute<compute_that_cannot_fail>);
  static_assert(stage_compute<compute_by_pack>);
  static_assert(stage_compute<compute_with_an_arena>);
  static_assert(stage_compute<compute_that_cuts_anywhere>);
  static_assert(stage_compute<compute_with_an_arena_by_pack>);
  static_assert(!stage_compute<compute_that_cuts_what_it_keeps>);
  static_assert(!stage_compute<compute_without_format>);
  static_assert(!stage_compute<compute_that_cannot_discard>);
  static_assert(!stage_compute<compute_that_copies_its_state>);
}

// Of a schedule nothing is asked here but whether it splits weight gradients.
struct any_schedule {};
struct schedule_with_weight_gradients {
  static constexpr bool splits_weight_gradients = true;
};
struct compute_with_weight_gradients {
  static constexpr bool splits_weight_gradients = true;
  message_format format() const;
  void forward(const piece&, message, outgoing&);
  void backward(const piece&, message, outgoing&);
  void weights(const piece&);
  void discard(const piece&);
};
struct compute_of_packs_with_weight_gradients {
  static constexpr bool splits_weight_gradients = true;
  message_format format() const;
  void forward(std::span<const piece>, message, outgoing&);
  void backward(std::span<const piece>, message, outgoing&);
  result<void> weights(std::span<const piece>);
  void discard(const piece&);
};
struct compute_that_only_says_so : any_compute {
  static constexpr bool splits_weight_gradients = true;
};

TEST(ComputesFor, AScheduleThatSplitsWeightGradientsNeedsAComputeThatDoes) {
  static_assert(!stage_compute<compute_that_only_says_so>);
  static_assert(computes_for<compute_of_packs_with_weight_gradients, schedule_with_weight_gradients>);
  static_assert(computes_for<any_compute, any_schedule>);
  static_assert(!computes_for<any_compute, schedule_with_weight_gradients>);
  static_assert(computes_for<compute_with_weight_gradients, schedule_with_weight_gradients>);
  static_assert(computes_for<compute_with_weight_gradients, any_schedule>);
}

// Rows that replicas share come in calls of their own, whatever form the others take.
struct sharing_compute : compute_with_an_arena {
  static constexpr bool shares_rows = true;
  using compute_with_an_arena::backward, compute_with_an_arena::forward;
  row_format rows(std::uint32_t) const;
  void forward(std::span<const piece>, message, outgoing&, sharing&);
  void backward(std::span<const piece>, message, outgoing&, sharing&);
};

struct sharing_compute_with_states : compute_by_pack {
  static constexpr bool shares_rows = true;
  using compute_by_pack::backward, compute_by_pack::forward;
  row_format rows(std::uint32_t) const;
  void forward(std::span<const piece>, std::span<state>, message, outgoing&, sharing&);
  void backward(std::span<const piece>, std::span<state>, message, outgoing&, sharing&);
};

struct compute_that_only_says_that_it_shares : compute_with_an_arena {
  static constexpr bool shares_rows = true;
};

TEST(StageCompute, ThatSharesRowsTakesThemWithASharing) {
  static_assert(stage_compute<sharing_compute>);
  static_assert(stage_compute<sharing_compute_with_states>);
  static_assert(!stage_compute<compute_that_only_says_that_it_shares>);
}

struct compute_that_embeds : compute_with_an_arena {
  vocabulary_format vocabulary_rows() const;
  void embed(std::span<const piece>, message, outgoing&);
  void output(std::span<const piece>, message, outgoing&);
  result<void> gather_output(std::span<const piece>, std::span<const message>, outgoing&, outgoing&);
  void output_weights(std::span<const piece>, message);
};

struct compute_of_a_spread_vocabulary : compute_that_embeds {
  void embed_gradients(std::span<const piece>, message, outgoing&);
};

TEST(StageCompute, WithRowsOfAVocabularyOffersAllOfItsCalls) {
  static_assert(stage_compute<compute_of_a_spread_vocabulary>);
  static_assert(!stage_compute<compute_that_embeds>);
}

struct any_executor {
  template <class Compute, class Transport>
  result<step_report> execute(const plan&, Compute&, Transport&);
};

struct executor_without_report {
  template <class Compute, class Transport>
  result<void> execute(const plan&, Compute&, Transport&);
};

struct executor_of_a_stage_named {
  template <class Compute, class Transport>
  result<step_report> execute(const plan&, int, int, Compute&, Transport&);
};

TEST(ExecutorFor, RunsPlansWithAStageComputeAndATransport) {
  static_assert(executor_for<any_executor, any_compute, any_transport>);
  static_assert(!executor_for<executor_without_report, any_compute, any_transport>);
  static_assert(!executor_for<executor_of_a_stage_named, any_compute, any_transport>);
  static_assert(!executor_for<any_executor, any_transport, any_transport>);
  static_assert(!executor_for<any_executor, any_compute, any_compute>);
}

}  // namespace
}  // namespace slimpack::running_test
