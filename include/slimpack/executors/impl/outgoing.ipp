#ifndef SLIMPACK_EXECUTORS_IMPL_OUTGOING_IPP
#define SLIMPACK_EXECUTORS_IMPL_OUTGOING_IPP

#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/error.hpp>
#include <slimpack/executors/outgoing.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

namespace slimpack {

namespace detail {

SLIMPACK_DECL void throw_no_elements(std::size_t bytes, std::size_t size, std::size_t alignment) {
  const std::string message = std::to_string(bytes) + " bytes of a message ";
  throw_error({errc::wrong_message,
               bytes % size == 0 ? message + "do not begin at a multiple of " + std::to_string(alignment) +
                                       " bytes, where elements of this type must lie: copy them"
                                 : message + "are no whole number of elements of " + std::to_string(size) + " bytes"});
}

}  // namespace detail

SLIMPACK_DECL result<void> outgoing::copied(std::span<const std::byte> from) {
  written_ = true;
  given_ = from.size();
  if (from.size() != bytes_.size())
    return error{errc::wrong_message, "a message of " + std::to_string(from.size()) + " bytes where the plan has " +
                                          std::to_string(bytes_.size())};
  if (!from.empty())
    std::memcpy(bytes_.data(), from.data(), from.size());  // not std::copy, whose header is most of
                                                           // what this one costs
  return success();
}

}  // namespace slimpack

#endif
