#ifndef SLIMPACK_EXECUTORS_DETAIL_LENDING_LOAN_TRANSFERS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_LENDING_LOAN_TRANSFERS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/detail/call_check.hpp>
#include <slimpack/executors/lending/lending.hpp>
#include <slimpack/executors/lending/loan_format.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
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

/// What one stage and others send each other for attention that they lend, pack after pack and layer after layer.
/// Between two stages all messages one way are on one channel: both run the packs for which they lend each other
/// attention in the same order.
class loan_transfers final : public lending {
 public:
  /// first_rank: of the replica's stages            Requires  a transport that outlives it
  loan_transfers(any_transport& transport, int first_rank, int channel)
      : transport_(&transport), first_rank_(first_rank), channel_(channel) {}

  /// Opens a pack. Its formats and loans outlive the call of the compute.
  result<void> begin(const stage_loans::of_pack& with, pass way, const loan_format& format);

  /// Makes a call of the compute. What went wrong here says more than what the compute made of it.
  template <class Call>
  result<void> guard(const Call& call) {
    return or_first_failure(call, failed_);
  }

  /// Closes it.            well: what the compute returned
  result<void> end(bool well);

  /// Waits for every send.
  result<void> complete() { return forget_sent(true); }

  [[nodiscard]] std::size_t bytes_sent() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t messages_sent() const noexcept { return messages_; }

  [[nodiscard]] std::span<const loan> lent() const override { return with_->lent; }
  [[nodiscard]] std::span<const loan> helped() const override { return with_->helped; }

  [[nodiscard]] result<void> offer(int layer, std::size_t i, rows messages) override;
  [[nodiscard]] result<void> ask(int layer, std::size_t i, rows messages) override;
  [[nodiscard]] result<rows> collect(int layer, std::size_t i) override;
  [[nodiscard]] result<rows> take(int layer, std::size_t i) override;
  [[nodiscard]] result<void> answer(int layer, std::size_t i, rows messages) override;

 private:
  using handle = any_transport::handle;
  struct message {
    std::vector<std::byte> memory;
    std::optional<handle> under_way{};
  };
  /// One loan of the open pack.
  struct side {
    std::deque<message> expected{};
    std::vector<message> came{};
    std::vector<std::span<const std::byte>> seen{};
    int done{};   // layers
    int calls{};  // of the layer
  };

  [[nodiscard]] side& side_of(bool lends, std::size_t i) { return lends ? lent_[i] : helped_[i]; }
  [[nodiscard]] const loan& loan_of(bool lends, std::size_t i) const {
    return lends ? with_->lent[i] : with_->helped[i];
  }
  [[nodiscard]] int peer_of(bool lends, std::size_t i) const {
    const loan& l = loan_of(lends, i);
    return first_rank_ + static_cast<int>(lends ? l.helper.stage : l.lender.stage);
  }

  /// Names the other stage.
  error fail(error e, bool lends, std::size_t i);

  /// call: of those that a side makes in a layer
  result<void> is_next(int layer, bool lends, std::size_t i, int call);

  result<void> send(bool lends, std::size_t i, const std::vector<loan_message>& formats, rows messages);

  result<void> expect(bool lends, std::size_t i, const std::vector<loan_message>& formats);
  result<void> expect_help(std::size_t i);

  /// What a side has expected longest, when it has come.
  result<rows> come(bool lends, std::size_t i);

  /// Lets go of what was sent, as far as it is through.
  result<void> forget_sent(bool all);

  any_transport* transport_;
  int first_rank_;
  int channel_;
  std::deque<message> sent_;
  std::size_t bytes_{}, messages_{};
  // The open pack.
  const stage_loans::of_pack* with_{};
  pass way_{};
  const loan_format* format_{};
  std::vector<side> lent_, helped_;
  std::optional<error> failed_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/lending/impl/loan_transfers.ipp>
#endif

#endif
