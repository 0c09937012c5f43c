#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_STEP_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_STEP_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/plan.hpp>
#include <slimpack/core/rank_names.hpp>
#include <slimpack/executors/detail/greeting.hpp>
#include <slimpack/executors/detail/messages/memory_block.hpp>
#include <slimpack/executors/detail/messages/messages.hpp>
#include <slimpack/executors/detail/running_sums.hpp>
#include <slimpack/executors/detail/script/fitted_script.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/job/step_watch.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/step_outline.hpp>
#include <slimpack/executors/step_report.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// What each rank tells all others after the last instruction.
struct farewell {
  double loss{};
  double elapsed{};
  double reduce{};
};

/// One step of one stage, whatever computes it; see executors::packflow for what it does in which order. stage_run
/// calls the compute, and gives messages their memory.
class stage_step : public message_owner {
 public:
  /// What packflow is told.
  struct settings {
    std::int64_t step{};  // as the trainer counts them
    const std::function<void(std::string_view)>* sink{};
    executors::step_watch* watch{};            // of all ranks of the job; may be null
    executors::row_calls rows{};               // how packs with rows that replicas share are run
    const std::function<int(int)>* node_of{};  // of a rank of the transport; empty: all are on one
    bool forward_only{};                       // it evaluates, which runs no backward and reduces nothing
    bool checksums{};                          // the transport is a checked_transport
  };

  stage_step(const stage_step&) = delete;
  stage_step& operator=(const stage_step&) = delete;

  /// The step. What the compute throws is kept, and its text is the error.
  result<step_report> attempt();

  /// Ends a step that failed here or elsewhere: tells the others, gives every state back. Returns the error to report.
  error stop(error why);

  /// Throws on what the compute threw first, if that is why the step has ended. What it threw in a call that was ended
  /// because another rank had failed, or in a step that had failed before, hides no cause.
  void rethrow() const {
#ifdef __cpp_exceptions
    if (thrown_) std::rethrow_exception(thrown_);
#endif
  }

 protected:
  stage_step(const plan& p, any_transport& transport, const settings& with);
  stage_step(const rank_plan& p, any_transport& transport, const settings& with);
  ~stage_step();

  /// Aborts, once, with a line that says where; from then on no message uses any memory of this rank.
  error end(error why);

  /// The same for an error of the transport itself.
  error end_for(error e) {
    return end(in_trainer_numbers(std::move(e), [this](int rank) { return transport_->number_of(rank); }));
  }

  [[nodiscard]] const plan& planned() const noexcept { return *plan_; }
  [[nodiscard]] const stage_script& script() const { return *script_; }
  [[nodiscard]] executors::step_watch* watch() const noexcept { return with_.watch; }
  /// The ranks that hold the same stage.
  [[nodiscard]] const std::vector<int>& copies() const noexcept { return copies_; }
  [[nodiscard]] running_sums& sums() { return *sums_; }
  /// Whether replicas may share rows. All ranks of a step answer alike, though of parts some share rows and others do
  /// not.
  [[nodiscard]] bool has_merges() const { return part_ != nullptr || !plan_->merges.empty(); }
  /// Whether packs are called whole, rows that replicas share among their pieces.
  [[nodiscard]] bool joins() const {
    const stage_abilities has = abilities();
    return has.joins_rows && !has.issues_in_order && has_merges() && with_.rows == executors::row_calls::joined;
  }
  [[nodiscard]] const std::function<int(int)>& node_of() const noexcept { return *with_.node_of; }
  [[nodiscard]] bool has_checksums() const noexcept { return with_.checksums; }

 private:
  /// Of the compute, and of what the runtime keeps for it. `open` comes before all that names a script.
  [[nodiscard]] virtual stage_abilities abilities() const = 0;
  [[nodiscard]] virtual result<void> open(bool on_device) = 0;
  [[nodiscard]] virtual row_sizes sizes_of_rows() const = 0;
  [[nodiscard]] virtual tie_sizes sizes_of_ties() const = 0;
  [[nodiscard]] virtual tokens valid_tokens(const slice& s) const = 0;
  [[nodiscard]] virtual std::size_t calls(pass p) const = 0;
  [[nodiscard]] virtual std::function<void()> interrupt() = 0;
  [[nodiscard]] virtual result<void> begin(const step_outline& outline) = 0;
  [[nodiscard]] virtual result<void> expect_rows() = 0;
  [[nodiscard]] virtual result<void> run(std::size_t at, const call_messages& with) = 0;
  [[nodiscard]] virtual result<void> complete_exchange() = 0;
  /// Notes what exchanges have sent.
  virtual void report_exchange(step_report& to) const = 0;
  [[nodiscard]] virtual result<void> reduce() = 0;
  [[nodiscard]] virtual result<void> reduce_part(std::uint32_t chunk) = 0;
  [[nodiscard]] virtual bytes held() const = 0;
  [[nodiscard]] virtual double loss() = 0;
  [[nodiscard]] virtual bool offers_log_probabilities() const = 0;
  [[nodiscard]] virtual result<void> log_probabilities(edge_values& to) = 0;
  /// With the piece that the compute was called with.
  [[nodiscard]] virtual error named(error why) const = 0;
  /// Gives every state back, and tells the compute that the step has failed.
  virtual void discard_all() = 0;
  virtual void abort_step() = 0;

  result<void> prepare();
  /// Tokens that have a loss: the edges of the piece, where the batch says what is trained on; else as the compute
  /// counts them.
  tokens valid_tokens_in(const piece& one) const {
    return script_->paths.has_targets() ? edges_of(one) : valid_tokens(one.slice);
  }
  /// The same of this rank's sequences.
  result<tokens> counted_tokens();
  /// Ranks must hold one plan, or parts of one division and the same part within a group, and one message format; then
  /// all know the batch's valid tokens.
  result<void> greet();
  /// Ranks of other transports of the job begin the same step.
  result<void> begin_on_all();
  result<void> run_program();
  /// The timeline, how long the program took, and how much longer the sums beside it.
  result<void> report_times();
  /// The reduction of gradients, as far as it has not run beside the program.
  result<void> reduce_all();
  /// Starts the sums of chunks whose gradients are final when so many instructions have run.
  result<void> reduce_parts(std::size_t ran);
  /// Asks for log-probabilities: one for each token of this rank that has a loss, if it is of a last stage.
  result<void> take_log_probabilities();
  /// No rank returns a report before all have got here.
  result<void> part_company();
  result<void> all();

  template <class T>
  result<void> gather(const T& own, std::vector<T>& of_all);
  /// Makes a call. Where it throws: keeps what, if it is the first, and gives its text.
  template <class Call>
  std::optional<std::string> guarded(const Call& call);

  /// Which rank this is, and what it runs.
  [[nodiscard]] std::string place() const;
  /// A rank of the transport as the trainer numbers it.
  [[nodiscard]] std::string number_of(int rank) const;

  const plan* plan_;
  const rank_plan* part_{};  // that the plan is, where the rank planned its own group
  any_transport* transport_;
  settings with_;
  std::optional<stage_script> script_;
  // What messages read or write lives here, until the transport has finished or aborted.
  std::optional<messages> mail_;
  std::optional<running_sums> sums_;
  std::vector<int> copies_;  // ranks that hold the same stage
  std::vector<stage_script::final_gradients> final_;
  std::size_t reduced_{};        // of these, whose sums have begun
  std::vector<tokens> counted_;  // by forward piece, those that have a loss; none of a replica without work
  std::vector<greeting> greetings_;
  std::vector<farewell> farewells_;
  std::vector<seconds> processor_;  // by instruction, of its calls; 0 where that is not known
  step_report report_;
  const char* doing_{"starting"};
  std::optional<error> ended_;
  bool is_cause_{};            // that the error which the step was stopped with is why it has ended
  std::exception_ptr thrown_;  // there without exceptions, too: a library may have been compiled with them
  const instruction* running_{};
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/stage_step.ipp>
#endif

#endif
