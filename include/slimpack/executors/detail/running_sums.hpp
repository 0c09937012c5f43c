#ifndef SLIMPACK_EXECUTORS_DETAIL_RUNNING_SUMS_HPP
#define SLIMPACK_EXECUTORS_DETAIL_RUNNING_SUMS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/transports/detail/any_transport.hpp>

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// Sums over a group of ranks that go on while the program runs. Each member adds up one block of the data, in rising
/// order of rank, and sends it to all others. So a sum has the same bits on every member, whenever it runs.
/// Every member starts the same sums in the same order. Sends and receives of a sum are under way at once; nothing
/// waits but in `complete`.
/// A transport with an all_reduce of its own may hold data where this host cannot add: it sums itself
/// (replica_group.hpp), at once where it says that this only issues work (starts_all_reduce) and sums have a place
/// among its transfers, else in `complete`.
class running_sums {
 public:
  /// How the host adds elements of a type to others.
  using adder = void (*)(std::span<std::byte> into, std::span<const std::byte> from);

  /// group: ranks in rising order, this one among them; channels: two that are free; have_place: whether sums that a
  /// transport issues at once cannot wait for each other, where it runs one thing at a time
  /// (stage_script::sums_have_place)
  running_sums(any_transport& transport, std::vector<int> group, std::array<int, 2> channels, bool have_place);

  [[nodiscard]] std::span<const int> group() const noexcept { return group_; }
  [[nodiscard]] bool have_place() const noexcept { return have_place_; }

  /// Begins to add `data` over the group, in place.        size: of an element
  /// Requires  data that stays, and that nobody touches, until `complete` has returned
  result<void> start(std::span<std::byte> data, std::size_t size, adder add);

  /// A sum that the transport makes: in `complete`; or one that it was given, which ends when it has finished.
  void later(std::function<result<void>()> sum) { later_.push_back(std::move(sum)); }
  void note_issued() noexcept { are_issued_ = true; }

  /// Whether the transport was given sums that end when it has finished.
  [[nodiscard]] bool are_issued() const noexcept { return are_issued_; }

  /// Goes on with what has come meanwhile.
  result<void> progress();

  /// Waits for all sums.
  result<void> complete();

 private:
  struct job {
    std::span<std::byte> data;
    std::size_t size{};  // of an element
    adder add{};
    std::vector<std::vector<std::byte>> blocks;  // of this rank's block, what each other member has
    std::deque<any_transport::handle> under_way;
    bool is_shared{};  // added up and on its way to the others
  };

  [[nodiscard]] std::span<std::byte> block(const job& one, std::size_t member) const;

  /// Adds up this rank's block, which all have sent, and exchanges it for those of the others.
  result<void> share(job& one);

  /// Receives from a member and sends to it; nothing where there is nothing. Of two members the first sends first, and
  /// members are asked in order: so all transfers of a sum have one order, even where one moves at a time.
  result<void> post(job& one, std::size_t member, int channel, std::span<std::byte> in, std::span<const std::byte> out);

  result<bool> through(job& one);
  result<void> wait(job& one);

  any_transport* transport_;
  std::vector<int> group_;
  std::array<int, 2> channels_;
  bool have_place_;
  bool are_issued_{};
  std::size_t self_{};
  std::deque<job> jobs_;
  std::vector<std::function<result<void>()>> later_;
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/executors/impl/running_sums.ipp>
#endif

#endif
