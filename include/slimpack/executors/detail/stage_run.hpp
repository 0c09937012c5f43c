#ifndef SLIMPACK_EXECUTORS_DETAIL_STAGE_RUN_HPP
#define SLIMPACK_EXECUTORS_DETAIL_STAGE_RUN_HPP

#include <slimpack/concepts/running.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/call_time.hpp>
#include <slimpack/executors/detail/lending/stage_lending.hpp>
#include <slimpack/executors/detail/piece_calls.hpp>
#include <slimpack/executors/detail/shared/joined_rows.hpp>
#include <slimpack/executors/detail/shared/row_rehearsal.hpp>
#include <slimpack/executors/detail/shared/row_transfers.hpp>
#include <slimpack/executors/detail/shared/running_exchange.hpp>
#include <slimpack/executors/detail/stage_step.hpp>
#include <slimpack/executors/edge_values.hpp>
#include <slimpack/executors/gradient_sums.hpp>
#include <slimpack/executors/hooks.hpp>
#include <slimpack/executors/joined/joined_row.hpp>
#include <slimpack/executors/replica_group.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace slimpack::detail {

/// That this thread runs a step, as long as it lives. A compute that calls the executor back would begin another in the
/// middle of it: its messages would be taken for those of the step, on this rank and on others.
class one_step {
 public:
  one_step() noexcept : is_within_(std::exchange(runs(), true)) {}
  one_step(const one_step&) = delete;
  one_step& operator=(const one_step&) = delete;
  ~one_step() { runs() = is_within_; }

  /// Whether the thread runs another step already.
  [[nodiscard]] bool is_within() const noexcept { return is_within_; }
  [[nodiscard]] static error refused() {
    return {errc::out_of_order,
            "packflow is called from within a call of a compute that it runs, and a thread runs one step at a time: "
            "call it again when it has returned"};
  }

 private:
  [[nodiscard]] static bool& runs() noexcept {
    thread_local bool one = false;
    return one;
  }

  bool is_within_;
};

/// One step of one stage: what it asks of its compute.
template <class Compute, class Transport>
class stage_run final : public stage_step {
 public:
  /// Plan: plan, or rank_plan; port: that of the transport            Requires  all outlive it
  template <class Plan>
  stage_run(const Plan& p, Compute& compute, Transport& transport, any_transport& port, const settings& with)
      : stage_step(p, port, with), compute_(&compute), transport_(&transport), port_(&port) {}

 private:
  using exchange_type = std::conditional_t<shares_rows<Compute>, running_exchanges, no_transfers>;

  [[nodiscard]] memory_block make(tokens size) override { return tensor_block(*compute_, size); }
  [[nodiscard]] result<void> copy(std::span<const std::byte> from, std::span<std::byte> to) override {
    return copy_rows(*compute_, from, to);
  }
  [[nodiscard]] result<void> stand_by(std::size_t index) override {
    return detail::stand_by(*compute_, *exchange_, script(), index);
  }

  [[nodiscard]] stage_abilities abilities() const override {
    return {port_->rank(),
            port_->size(),
            chunks_of(*compute_),
            compute_->format(),
            vocabulary_format_of(*compute_),
            computes_vocabulary<Compute>,
            splits_weight_gradients<Compute>,
            cuts_of<Compute>(),
            exchanges_of<Compute>(),
            joins_rows<Compute>,
            shares_prefixes<Compute>,
            port_->moves_device_memory() || port_->keeps_plan_order(),
            waits_in_calls<Compute>()};
  }
  [[nodiscard]] result<void> open([[maybe_unused]] bool on_device) override {
    if constexpr (shares_rows<Compute>) {
      if (on_device)
        if (result<void> works = works_on_device_rows<Compute>(script().shared.all()); !works) return works;
      exchange_.emplace(*port_, row_memory_.emplace(*compute_), script().stage, script().on.stages,
                        shared_rows_channel);
    } else {
      exchange_.emplace();
    }
    if (result<void> opened = ties_.open(*compute_, *port_, planned(), script()); !opened) return opened;
    pieces_.emplace(*compute_, script(), *exchange_, joins() ? joined_rows(script(), node_of()) : joined_rows(), ties_,
                    watch());
    return success();
  }

  /// Of all chunks; nothing where the plan shares no sequence. Of parts, some may share and others not.
  [[nodiscard]] row_sizes sizes_of_rows() const override {
    row_sizes sizes;
    if constexpr (shares_rows<Compute>) {
      for (std::uint32_t chunk = 0; has_merges() && chunk < static_cast<std::uint32_t>(script().on.chunks); ++chunk) {
        const row_format format = compute_->rows(chunk);
        sizes.layers += format.layers;
        for (const pass p : both_passes) {
          const auto bytes = [](const message_format& f) { return static_cast<std::int64_t>(f.bytes_per_token()); };
          sizes.bytes[p] = {bytes(p == pass::forward ? format.keys_values : format.gradients),
                            bytes(format.queries[p].rows), bytes(format.queries[p].sums), bytes(format.ring[p].rows),
                            bytes(format.ring[p].sums)};
        }
      }
    }
    return sizes;
  }
  [[nodiscard]] tie_sizes sizes_of_ties() const override { return ties_.sizes(); }
  [[nodiscard]] tokens valid_tokens(const slice& s) const override { return valid_tokens_of(*compute_, s); }
  [[nodiscard]] std::size_t calls(pass p) const override { return pieces_->calls(p); }
  [[nodiscard]] std::function<void()> interrupt() override {
    if constexpr (offers_interrupt<Compute>()) return [compute = compute_] { compute->interrupt(); };
    return {};
  }

  [[nodiscard]] result<void> begin(const step_outline& outline) override { return begin_step(*compute_, outline); }
  [[nodiscard]] result<void> expect_rows() override { return detail::expect_rows(*compute_, *exchange_, script()); }
  [[nodiscard]] result<void> run(std::size_t at, const call_messages& with) override { return pieces_->run(at, with); }
  [[nodiscard]] result<void> complete_exchange() override {
    if (result<void> sent = exchange_->complete(); !sent) return sent;
    return ties_.complete();
  }
  void report_exchange(step_report& to) const override {
    to.exchanged = {static_cast<double>(exchange_->bytes_sent())};
    ties_.report(to);
  }

  [[nodiscard]] result<void> reduce() override {
    executors::replica_group<Transport> group{*transport_, copies(), [this](error e) { return end_for(std::move(e)); },
                                              has_checksums() ? port_ : nullptr};
    return slimpack::reduce(*compute_, group);
  }
  [[nodiscard]] result<void> reduce_part(std::uint32_t chunk) override {
    executors::gradient_sums<Transport> started{*transport_, sums(), [this](error e) { return end_for(std::move(e)); }};
    return slimpack::reduce_part(*compute_, chunk, started);
  }
  [[nodiscard]] bytes held() const override { return held_by(*compute_); }
  [[nodiscard]] double loss() override { return loss_of(*compute_); }
  [[nodiscard]] bool offers_log_probabilities() const override { return has_member_log_probabilities<Compute>; }
  [[nodiscard]] result<void> log_probabilities(edge_values& to) override { return log_probabilities_of(*compute_, to); }

  [[nodiscard]] error named(error why) const override { return pieces_ ? pieces_->named(std::move(why)) : why; }
  void discard_all() override {
    exchange_.reset();
    ties_.discard_all();
    if (pieces_) pieces_->discard_all();
  }
  void abort_step() override { slimpack::abort_step(*compute_); }

  Compute* compute_;
  Transport* transport_;
  any_transport* port_;
  std::optional<piece_calls<Compute, exchange_type, stage_lending<Compute>>> pieces_;
  std::optional<row_memory_of<Compute, moves_device_memory<Transport>()>> row_memory_;
  std::optional<exchange_type> exchange_;
  stage_lending<Compute> ties_;
};

}  // namespace slimpack::detail

#endif
