#ifndef SLIMPACK_ADAPTERS_TORCH_TENSOR_MESSAGES_HPP
#define SLIMPACK_ADAPTERS_TORCH_TENSOR_MESSAGES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/executors/message_format.hpp>
#include <slimpack/executors/outgoing.hpp>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <string>

namespace slimpack::libtorch {

/// The type of elements in a tensor that a message of such elements is made of.
[[nodiscard]] inline at::ScalarType scalar_of(element_type e) noexcept {
  switch (e) {
    case element_type::float64:
      return at::kDouble;
    case element_type::float32:
      return at::kFloat;
    case element_type::float16:
      return at::kHalf;
    case element_type::bfloat16:
      return at::kBFloat16;
    case element_type::int8:
      return at::kChar;
  }
  return at::kFloat;
}

/// The type of elements of messages that tensors of a type become.
/// Errors    throws plan_error (wrong_message): no message has such elements
[[nodiscard]] inline element_type element_of_scalar(at::ScalarType t) {
  for (const element_type e : {element_type::float32, element_type::float64, element_type::float16,
                               element_type::bfloat16, element_type::int8})
    if (scalar_of(e) == t) return e;
  slimpack::detail::throw_error(
      {errc::wrong_message, std::string("no message has elements of the type ") + c10::toString(t)});
}

namespace detail {

/// A tensor in words: "a tensor (3, 8) of Double on cpu".
[[nodiscard]] inline std::string words_of(const at::Tensor& t) {
  if (!t.defined()) return "an undefined tensor";
  std::ostringstream text;
  text << "a tensor (";
  for (std::int64_t i = 0; i < t.dim(); ++i) text << (i > 0 ? ", " : "") << t.size(i);
  text << ") of " << c10::toString(t.scalar_type()) << " on " << t.device();
  return text.str();
}

/// Why a tensor cannot be a message of such rows; empty where it can.
[[nodiscard]] inline std::string unfit(const at::Tensor& t, const message_format& format, const at::Device& device) {
  const std::string its = words_of(t);
  if (!t.defined()) return its + " was given as a message";
  if (t.scalar_type() != scalar_of(format.element))
    return its + " was given as a message of " + to_string(format.element);
  if (t.device() != device) return its + " was given as a message in memory of " + device.str();
  if (t.dim() != 2 || t.size(1) != format.width)
    return its + " was given as a message, which has the shape (tokens, " + std::to_string(format.width) + ")";
  if (t.requires_grad()) return its + " that needs gradients was given as a message: detach() it";
  return {};
}

/// Bytes as rows of a tensor that does not own them.            Shapes  (tokens, width)
[[nodiscard]] inline at::Tensor seen_as_rows(const std::byte* bytes, std::size_t size, const message_format& format,
                                             const at::Device& device) {
  const auto rows = static_cast<std::int64_t>(size / format.bytes_per_token());
  return at::from_blob(const_cast<std::byte*>(bytes), {rows, format.width},
                       at::TensorOptions(scalar_of(format.element)).device(device));
}

}  // namespace detail

/// What came from the stage before, as a leaf of the autograd graph: it has the message's numbers in memory of its own,
/// as bytes of a message are valid during the call alone, and its gradient is what backward sends back.
/// Shapes    (tokens, format.width)
/// Requires  bytes in memory of the device, a whole number of rows
[[nodiscard]] inline at::Tensor leaf_of(std::span<const std::byte> message, const message_format& format,
                                        const at::Device& device = at::kCPU) {
  return detail::seen_as_rows(message.data(), message.size(), format, device)
      .clone()
      .requires_grad_(at::GradMode::is_enabled());
}

/// Writes rows as the message to the next stage, or where none is wanted, does nothing.
/// rows      (tokens, format.width), contiguous or not
/// Errors    wrong_message: rows of another type or shape, on another device, or that need gradients
[[nodiscard]] inline result<void> put(const at::Tensor& rows, const message_format& format, outgoing& out,
                                      const at::Device& device = at::kCPU) {
  if (!out.wanted()) return success();
  if (const std::string why = detail::unfit(rows, format, device); !why.empty()) return error{errc::wrong_message, why};
  if (static_cast<std::size_t>(rows.numel()) * size_of(format.element) != out.size())
    return error{errc::wrong_message, detail::words_of(rows) + " was given as a message of " +
                                          std::to_string(out.size() / format.bytes_per_token()) + " tokens"};
  const std::span<std::byte> to = out.bytes();
  detail::seen_as_rows(to.data(), to.size(), format, device).copy_(rows);
  return success();
}

}  // namespace slimpack::libtorch

namespace at {

/// The bytes of a tensor in host memory, so that outgoing::put and the calls of sharing.hpp take tensors.
/// Errors    throws slimpack::plan_error (wrong_message): a tensor that is undefined, not contiguous, on a device,
///           needs gradients, or is of a type that no message has
[[nodiscard]] inline std::span<const std::byte> as_span(const Tensor& t) {
  const auto refused = [&](const char* why) {
    slimpack::detail::throw_error(
        {slimpack::errc::wrong_message, slimpack::libtorch::detail::words_of(t) + " was given as a message" + why});
  };
  if (!t.defined()) refused("");
  (void)slimpack::libtorch::element_of_scalar(t.scalar_type());
  if (!t.device().is_cpu()) refused(" in memory of the host: copy it there, or use slimpack::libtorch::put");
  if (!t.is_contiguous()) refused(": its elements do not lie side by side, so call contiguous() first");
  if (t.requires_grad()) refused(": it needs gradients, so detach() it first");
  return {static_cast<const std::byte*>(t.data_ptr()), t.nbytes()};
}

}  // namespace at

#endif
