#ifndef SLIMPACK_TESTING_DETAIL_AUDITED_COMPUTE_HPP
#define SLIMPACK_TESTING_DETAIL_AUDITED_COMPUTE_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/executors/hooks.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace slimpack::testing::detail {

/// What a rank exchanged of the rows of one sequence, in numbers by layer and token.
struct exchange_log {
  using rows = std::map<std::int64_t, std::vector<double>>;  // by token
  std::map<int, rows> given, taken, owed;                    // by layer
  using step = std::pair<pass, int>;                         // a layer's turn
  std::map<step, rows> launched, home;                       // where rows go round: these, and sums that came home
};

/// A small change of what a rank takes in a layer, in a direction that is every token's own.
struct nudge {
  int layer{-1};
  double by{};

  [[nodiscard]] static double direction(std::int64_t token, std::size_t element) {
    return std::sin(1.0 + 3.7 * static_cast<double>(token) + 1.3 * static_cast<double>(element));
  }
};

/// A handle that writes down what passes through it. Elements other than float32 and float64 are not read.
class audited_sharing final : public sharing {
 public:
  audited_sharing(sharing& with, const row_format& format, pass way, exchange_log& log, nudge change)
      : with_(&with), format_(format), way_(way), log_(&log), change_(change) {}

  [[nodiscard]] sequence_id sequence() const override { return with_->sequence(); }
  [[nodiscard]] slimpack::exchange exchange() const override { return with_->exchange(); }
  [[nodiscard]] std::span<const std::uint32_t> sharers() const override { return with_->sharers(); }
  [[nodiscard]] std::size_t self() const override { return with_->self(); }
  [[nodiscard]] std::span<const slice> own() const override { return with_->own(); }
  [[nodiscard]] std::span<const slice> others() const override { return with_->others(); }

  [[nodiscard]] result<void> give(int layer, std::span<const std::byte> rows) override {
    note(log_->given[layer], own(), rows, format_.keys_values);
    return with_->give(layer, rows);
  }
  [[nodiscard]] result<std::span<const std::byte>> take(int layer) override {
    result<std::span<const std::byte>> rows = with_->take(layer);
    if (!rows) return rows;
    note(log_->taken[layer], others(), rows.value(), format_.keys_values);
    if (layer != change_.layer) return rows;
    nudged_.assign(rows.value().begin(), rows.value().end());
    each(others(), nudged_, format_.keys_values, [&](auto& number, std::int64_t token, std::size_t element) {
      number += static_cast<std::remove_reference_t<decltype(number)>>(change_.by * nudge::direction(token, element));
    });
    return std::span<const std::byte>(nudged_);
  }
  [[nodiscard]] result<void> owe(int layer, std::span<const std::byte> rows) override {
    note(log_->owed[layer], others(), rows, format_.gradients);
    return with_->owe(layer, rows);
  }
  [[nodiscard]] result<void> add(int layer, std::span<std::byte> rows, adder plus) override {
    return with_->add(layer, rows, plus);
  }
  [[nodiscard]] result<void> launch(int layer, std::span<const std::byte> rows) override {
    note(log_->launched[{way_, layer}], own(), rows, format_.going_round(exchange(), way_).rows);
    return with_->launch(layer, rows);
  }
  [[nodiscard]] result<parcel> rotate(int layer, std::span<const std::byte> sums) override {
    result<parcel> next = with_->rotate(layer, sums);
    if (next && next.value().is_home)
      note(log_->home[{way_, layer}], own(), next.value().sums, format_.going_round(exchange(), way_).sums);
    return next;
  }

 private:
  /// Calls visit(number, token, element) for all that there are, in order; for none where rows have another size.
  template <class Bytes, class Visit>
  static void each(std::span<const slice> of, Bytes&& rows, const message_format& format, const Visit& visit) {
    std::size_t at = 0;
    const auto numbers = [&](auto number) {
      for (const slice& s : of)
        for (std::int64_t t = s.begin.value; t < s.end().value; ++t)
          for (std::size_t i = 0; i < static_cast<std::size_t>(format.width) && at + sizeof(number) <= rows.size();
               ++i, at += sizeof(number)) {
            std::memcpy(&number, rows.data() + at, sizeof(number));
            visit(number, t, i);
            if constexpr (!std::is_const_v<std::remove_reference_t<decltype(rows[0])>>)
              std::memcpy(rows.data() + at, &number, sizeof(number));
          }
    };
    if (format.element == element_type::float64) numbers(double{});
    if (format.element == element_type::float32) numbers(float{});
  }
  static void note(exchange_log::rows& to, std::span<const slice> of, std::span<const std::byte> rows,
                   const message_format& format) {
    each(of, rows, format,
         [&](auto& number, std::int64_t token, std::size_t) { to[token].push_back(static_cast<double>(number)); });
  }

  sharing* with_;
  row_format format_;
  pass way_;
  exchange_log* log_;
  nudge change_;
  std::vector<std::byte> nudged_;
};

template <class Compute>
struct state_type_of {};
template <class Compute>
requires requires { typename Compute::state; }
struct state_type_of<Compute> {
  using state = typename Compute::state;
};

/// A compute of the same form as another, which does all by it, and whose exchange is audited.
/// Requires  a compute that shares rows and has one chunk
template <class Compute>
class audited_compute : public state_type_of<Compute> {
 public:
  using wraps = Compute;  // detail/has_member.hpp
  static constexpr backward_cuts cuts = cuts_of<Compute>();
  static constexpr exchange_set shares_rows = slimpack::detail::exchanges_of<Compute>();
  static constexpr bool splits_weight_gradients = slimpack::detail::splits_weight_gradients<Compute>;
  static constexpr bool lends_attention = false;  // its steps are of sequences that replicas share
  static constexpr bool joins_rows = false;       // one row's exchange is looked at at a time
  static constexpr bool shares_prefixes = false;  // replicas share sequences that have no path

  audited_compute(Compute& compute, nudge change) : compute_(&compute), change_(change) {}

  [[nodiscard]] const exchange_log& log() const noexcept { return log_; }

  [[nodiscard]] message_format format() const { return compute_->format(); }
  [[nodiscard]] row_format rows(std::uint32_t chunk) const { return compute_->rows(chunk); }

  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.forward(std::forward<Arguments>(all)...); }
  decltype(auto) forward(Arguments&&... all) {
    return compute_->forward(audited(pass::forward, std::forward<Arguments>(all))...);
  }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.backward(std::forward<Arguments>(all)...); }
  decltype(auto) backward(Arguments&&... all) {
    return compute_->backward(audited(pass::backward, std::forward<Arguments>(all))...);
  }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.weights(std::forward<Arguments>(all)...); }
  decltype(auto) weights(Arguments&&... all) { return compute_->weights(std::forward<Arguments>(all)...); }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.discard(std::forward<Arguments>(all)...); }
  void discard(Arguments&&... all) { compute_->discard(std::forward<Arguments>(all)...); }

  [[nodiscard]] vocabulary_format vocabulary_rows() const requires slimpack::detail::says_vocabulary<Compute> {
    return compute_->vocabulary_rows();
  }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.embed(std::forward<Arguments>(all)...); }
  decltype(auto) embed(Arguments&&... all) { return compute_->embed(std::forward<Arguments>(all)...); }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.output(std::forward<Arguments>(all)...); }
  decltype(auto) output(Arguments&&... all) { return compute_->output(std::forward<Arguments>(all)...); }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.gather_output(std::forward<Arguments>(all)...); }
  decltype(auto) gather_output(Arguments&&... all) { return compute_->gather_output(std::forward<Arguments>(all)...); }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.output_weights(std::forward<Arguments>(all)...); }
  decltype(auto) output_weights(Arguments&&... all) {
    return compute_->output_weights(std::forward<Arguments>(all)...);
  }
  template <class... Arguments>
  requires requires(Compute& c, Arguments&&... all) { c.embed_gradients(std::forward<Arguments>(all)...); }
  decltype(auto) embed_gradients(Arguments&&... all) {
    return compute_->embed_gradients(std::forward<Arguments>(all)...);
  }

  [[nodiscard]] int chunks() const { return chunks_of(*compute_).value_or(1); }
  [[nodiscard]] tokens valid_tokens(const slice& s) const { return valid_tokens_of(*compute_, s); }
  result<void> begin_step(const step_outline& outline) { return slimpack::begin_step(*compute_, outline); }
  void sequence_forwarded(sequence_id s, std::uint32_t chunk) { slimpack::sequence_forwarded(*compute_, s, chunk); }
  void sequence_done(sequence_id s, std::uint32_t chunk) { slimpack::sequence_done(*compute_, s, chunk); }
  result<void> reduce(auto& group) { return slimpack::reduce(*compute_, group); }
  result<void> reduce_part(std::uint32_t chunk, auto& sums) { return slimpack::reduce_part(*compute_, chunk, sums); }
  [[nodiscard]] int reductions(int chunk) const { return reductions_of(*compute_, chunk); }
  result<void> copy_rows(std::span<const std::byte> from, std::span<std::byte> to) {
    return slimpack::copy_rows(*compute_, from, to);
  }
  result<void> add_rows(std::span<const std::byte> from, std::span<std::byte> to) {
    return slimpack::add_rows(*compute_, from, to);
  }
  [[nodiscard]] double loss() { return loss_of(*compute_); }
  result<void> log_probabilities(edge_values& to) { return log_probabilities_of(*compute_, to); }
  [[nodiscard]] bytes held() const { return held_by(*compute_); }
  void abort_step() { slimpack::abort_step(*compute_); }
  [[nodiscard]] auto make_tensor(tokens size) { return slimpack::make_tensor(*compute_, size); }

 private:
  template <class Argument>
  decltype(auto) audited([[maybe_unused]] pass way, Argument&& one) {
    if constexpr (std::is_same_v<std::remove_cvref_t<Argument>, sharing>)
      return static_cast<sharing&>(open_.emplace(one, compute_->rows(0), way, log_, change_));
    else
      return std::forward<Argument>(one);
  }

  Compute* compute_;
  nudge change_;
  exchange_log log_;
  std::optional<audited_sharing> open_;
};

}  // namespace slimpack::testing::detail

#endif
