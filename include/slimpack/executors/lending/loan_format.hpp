#ifndef SLIMPACK_EXECUTORS_LENDING_LOAN_FORMAT_HPP
#define SLIMPACK_EXECUTORS_LENDING_LOAN_FORMAT_HPP

#include <slimpack/core/lending/loan.hpp>
#include <slimpack/core/slice.hpp>
#include <slimpack/executors/message_format.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace slimpack {

/// One message of a loan in a layer.
struct loan_message {
  message_format format;  ///< of a token
  bool of_keys{};         ///< of the tokens whose keys are lent; else of those whose queries ask

  [[nodiscard]] std::size_t bytes_of(const loan& l) const noexcept {
    return static_cast<std::size_t>((of_keys ? l.context : l.queries).length.value) * format.bytes_per_token();
  }
  friend constexpr bool operator==(const loan_message&, const loan_message&) = default;
};

/// What stages that lend each other attention send, in each layer of a chunk and each pass: messages in order.
struct loan_format {
  int layers{};                                 ///< of the chunk
  by_pass<std::vector<loan_message>> offered;   ///< by the lender, of what it has before the layer: as a rule keys and
                                                ///< values; backward also queries, outputs and log-sum-exps
  by_pass<std::vector<loan_message>> asked;     ///< by the lender, of what it has made in the layer: queries; backward
                                                ///< gradients of outputs
  by_pass<std::vector<loan_message>> answered;  ///< by the helper: outputs and log-sum-exps; backward gradients of
                                                ///< queries, keys and values

  friend bool operator==(const loan_format&, const loan_format&) = default;
};

}  // namespace slimpack

#endif
