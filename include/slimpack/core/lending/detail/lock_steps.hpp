#ifndef SLIMPACK_CORE_LENDING_DETAIL_LOCK_STEPS_HPP
#define SLIMPACK_CORE_LENDING_DETAIL_LOCK_STEPS_HPP

#include <slimpack/core/program.hpp>
#include <slimpack/core/shape.hpp>
#include <slimpack/core/slice.hpp>

#include <cstddef>
#include <cstdint>

namespace slimpack::detail {

/// Which unit each stage runs in a lock step of a pass (core/lending/loans_of.hpp).
/// Requires  packs that are a multiple of the stages
class lock_steps {
 public:
  lock_steps(std::size_t packs, const shape& on)
      : stages_(static_cast<std::size_t>(on.stages)),
        chunks_(static_cast<std::size_t>(on.chunks)),
        units_(packs * chunks_) {}

  [[nodiscard]] std::size_t stages() const noexcept { return stages_; }
  [[nodiscard]] std::size_t size() const noexcept { return units_ + stages_ - 1; }
  /// Those in which every stage has a unit are [first_full, end_full).
  [[nodiscard]] std::size_t first_full() const noexcept { return stages_ - 1; }
  [[nodiscard]] std::size_t end_full() const noexcept { return units_; }

  /// Requires  a full step
  [[nodiscard]] instruction unit(pass p, std::size_t step, std::size_t stage) const noexcept {
    const std::size_t unit = step - nth_place(p, stage, stages_);
    const std::size_t group = unit / (stages_ * chunks_), inside = unit % (stages_ * chunks_);
    return {pass_kind(p),
            {static_cast<std::uint32_t>(group * stages_ + inside % stages_)},
            static_cast<std::uint32_t>(nth_place(p, inside / stages_, chunks_))};
  }

  /// The step in which a stage runs a pack on a chunk.
  [[nodiscard]] std::size_t step_of(const instruction& i, std::size_t stage) const noexcept {
    const std::size_t pack = i.pack.value, turn = nth_place(i.pass(), std::size_t{i.chunk}, chunks_);
    return (pack / stages_ * chunks_ + turn) * stages_ + pack % stages_ + nth_place(i.pass(), stage, stages_);
  }

 private:
  std::size_t stages_, chunks_, units_;
};

}  // namespace slimpack::detail

#endif
