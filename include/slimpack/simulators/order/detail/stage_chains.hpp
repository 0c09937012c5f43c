#ifndef SLIMPACK_SIMULATORS_ORDER_DETAIL_STAGE_CHAINS_HPP
#define SLIMPACK_SIMULATORS_ORDER_DETAIL_STAGE_CHAINS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/pricing/workload.hpp>
#include <slimpack/simulators/order/window_change.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace slimpack::detail {

/// One replica's instructions as linked lists: who follows whom on a stage, and which pack follows which in its pass.
/// A pack that is dropped leaves the lists and may come back; it keeps its number and still knows its neighbours.
/// Weight gradients that run apart (W) send no message; each belongs to the backward pack of its number.
/// Errors    none            Complexity  O(1) each, or what is said
class stage_chains {
 public:
  using node = std::uint32_t;
  static constexpr node none = std::numeric_limits<node>::max();

  /// An instruction.
  struct entry {
    double duration{}, message{};     ///< the message that leaves it
    double head{}, tail{};            ///< kept by timed_order, and its position there
    node previous{none}, next{none};  ///< on its stage
    node position{};
    node pack{};
    node part{};                         ///< of the model
    node stage{};                        ///< that has this part
    bool backward{}, weights{}, gone{};  ///< of a W, the first two
  };

  /// Complexity O(instructions)
  stage_chains(const workload& work, std::span<const program> programs)
      : stages_(programs.size()), parts_(static_cast<std::size_t>(work.shape.parts())), first_(programs.size(), none) {
    base_[1] = static_cast<node>(work.times.packs(pass::forward) * parts_);
    weights_ = base_[1] + static_cast<node>(work.times.packs(pass::backward) * parts_);
    entries_.resize(weights_ + (work.times.apart.count() > 0 ? work.times.packs(pass::backward) * parts_ : 0));
    for (const pass p : {pass::forward, pass::backward}) gather(work, p);
    gather_weights(work);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      node last = none;
      for (const instruction& i : programs[stage]) {
        const node n = at(i, i.chunk * stages_ + stage);
        entries_[n].previous = last;
        (last == none ? first_[stage] : entries_[last].next) = n;
        last = n;
      }
    }
  }

  [[nodiscard]] std::size_t stages() const noexcept { return stages_; }
  [[nodiscard]] std::size_t parts() const noexcept { return parts_; }
  /// Of all instructions, also those that are gone.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] entry& operator[](node n) { return entries_[n]; }
  [[nodiscard]] const entry& operator[](node n) const { return entries_[n]; }
  [[nodiscard]] node at(pass p, node pack, std::size_t part) const {
    return static_cast<node>(base_[p == pass::backward] + pack * parts_ + part);
  }
  [[nodiscard]] node at(const instruction& i, std::size_t part) const {
    return at(i.pass(), i.pack.value, part) + (i.is_weights() ? weights_ - base_[1] : 0);
  }
  [[nodiscard]] instruction instruction_of(node n) const {
    const entry& t = entries_[n];
    const instruction_kind kind = t.weights    ? instruction_kind::weights
                                  : t.backward ? instruction_kind::backward
                                               : instruction_kind::forward;
    return {kind, {t.pack}, t.part / static_cast<node>(stages_)};
  }
  /// Whether the weight gradients of a backward pack run apart.
  [[nodiscard]] bool splits(node pack) const {
    return weights_ < entries_.size() && !entries_[weights_ + pack * parts_].gone;
  }
  /// Whether n is the W of this backward.
  [[nodiscard]] bool is_weights_of(node n, node backward) const {
    return entries_[n].weights && n - weights_ + base_[1] == backward;
  }

  [[nodiscard]] node first_of(std::size_t stage) const { return first_[stage]; }
  /// What runs after n on its stage; what runs first there, where n is none.
  [[nodiscard]] node after(node n, std::size_t stage) const { return n == none ? first_[stage] : entries_[n].next; }
  /// Whose message it waits for.
  [[nodiscard]] node fed_from(node n) const {
    if (entries_[n].backward) return entries_[n].part + 1 == parts_ || entries_[n].weights ? none : n + 1;
    return entries_[n].part == 0 ? none : n - 1;
  }
  /// Who waits for its message.
  [[nodiscard]] node fed_by(node n) const {
    if (entries_[n].backward) return entries_[n].part == 0 || entries_[n].weights ? none : n - 1;
    return entries_[n].part + 1 == parts_ ? none : n + 1;
  }

  [[nodiscard]] bool has(pass p, node pack) const { return !entries_[at(p, pack, 0)].gone; }
  [[nodiscard]] node previous_pack(pass p, node pack) const { return packs_[p == pass::backward][pack].previous; }
  [[nodiscard]] node next_pack(pass p, node pack) const { return packs_[p == pass::backward][pack].next; }

  /// x and the y that follows it on its stage change places.
  void swap(node x, node y) {
    const node previous = entries_[x].previous;
    const node next = entries_[y].next;
    (previous == none ? first_[entries_[x].stage] : entries_[previous].next) = y;
    entries_[y].previous = previous;
    entries_[y].next = x;
    entries_[x].previous = y;
    entries_[x].next = next;
    if (next != none) entries_[next].previous = x;
  }

  /// Takes a pack out.            Requires  its weight gradients do not run apart            Complexity  O(parts)
  void drop(pass p, node pack) {
    for (std::size_t part = 0; part < parts_; ++part) {
      entry& t = entries_[at(p, pack, part)];
      t.gone = true;
      (t.previous == none ? first_[t.stage] : entries_[t.previous].next) = t.next;
      if (t.next != none) entries_[t.next].previous = t.previous;
    }
    std::vector<neighbours>& packs = packs_[p == pass::backward];
    const auto [previous, next] = packs[pack];
    if (previous != none) packs[previous].next = next;
    if (next != none) packs[next].previous = previous;
  }

  /// Puts a pack back.            Requires  it was dropped last            Complexity  O(parts)
  void restore(pass p, node pack) {
    for (std::size_t part = parts_; part-- > 0;) {
      const node n = at(p, pack, part);
      entry& t = entries_[n];
      t.gone = false;
      (t.previous == none ? first_[t.stage] : entries_[t.previous].next) = n;
      if (t.next != none) entries_[t.next].previous = n;
    }
    std::vector<neighbours>& packs = packs_[p == pass::backward];
    const auto [previous, next] = packs[pack];
    if (previous != none) packs[previous].next = pack;
    if (next != none) packs[next].previous = pack;
  }

  /// Gives the places that are left these times, which become those they had.            Complexity  O(n * parts)
  void swap_times(const simulators::window_change& change, std::vector<double>& time, std::vector<double>& message) {
    const std::size_t first = change.first_left();
    for (std::size_t cell = 0; cell < time.size(); ++cell) {
      entry& t = entries_[at(change.pass, change.places[first + cell / parts_], cell % parts_)];
      std::swap(t.duration, time[cell]);
      std::swap(t.message, message[cell]);
    }
  }

  /// The programs, packs numbered by those that are left.            Complexity  O(instructions)
  [[nodiscard]] std::vector<program> programs() const {
    std::array<std::vector<std::uint32_t>, 2> name;
    for (const pass p : {pass::forward, pass::backward}) {
      std::uint32_t count = 0;
      for (node pack = 0; pack < packs_[p == pass::backward].size(); ++pack) {
        name[p == pass::backward].push_back(count);
        count += has(p, pack);
      }
    }
    std::vector<program> made(stages_);
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      for (node n = first_[stage]; n != none; n = entries_[n].next) {
        instruction i = instruction_of(n);
        i.pack.value = name[entries_[n].backward][i.pack.value];
        made[stage].push_back(i);
      }
    }
    return made;
  }

 private:
  struct neighbours {
    node previous{none}, next{none};
  };

  void gather(const workload& work, pass p) {
    const std::vector<seconds>& calls = work.times.calls[p];
    const std::vector<seconds>& messages = work.times.messages[p];
    for (std::size_t cell = 0; cell < calls.size(); ++cell) {
      entry& t = entries_[base_[p == pass::backward] + cell];
      t.duration = calls[cell].value;
      t.message = messages[cell].value;
      t.pack = static_cast<node>(cell / parts_);
      t.part = static_cast<node>(cell % parts_);
      t.stage = t.part % static_cast<node>(stages_);
      t.backward = p == pass::backward;
    }
    const std::size_t packs = work.times.packs(p);
    for (std::size_t i = 0; i < packs; ++i)
      packs_[p == pass::backward].push_back(
          {i == 0 ? none : static_cast<node>(i - 1), i + 1 == packs ? none : static_cast<node>(i + 1)});
  }

  void gather_weights(const workload& work) {
    for (node n = weights_; n < entries_.size(); ++n) {
      const node cell = n - weights_;
      entry& t = entries_[n] = entries_[base_[1] + cell];
      t.duration = work.times.calls[instruction_kind::weights][cell].value;
      t.message = 0;
      t.weights = true;
      t.gone = !work.times.apart.splits(t.pack);
    }
  }

  std::size_t stages_;
  std::size_t parts_;
  std::array<node, 2> base_{};  // the first node of each pass
  node weights_{};              // the first W
  std::vector<entry> entries_;  // [pass][pack][part], then W
  std::array<std::vector<neighbours>, 2> packs_;
  std::vector<node> first_;  // per stage
};

}  // namespace slimpack::detail

#endif
