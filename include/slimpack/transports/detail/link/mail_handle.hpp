#ifndef SLIMPACK_TRANSPORTS_DETAIL_LINK_MAIL_HANDLE_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_LINK_MAIL_HANDLE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace slimpack::detail {

/// A receive of a mailbox; or, made without one, what is through.
class mail_handle {
  friend class mailbox;
  struct receive {
    int peer{};
    int channel{};
    std::uint64_t step{};
    std::span<std::byte> into;
    std::optional<std::size_t> came;  ///< the size of its message
  };
  std::shared_ptr<receive> receive_;
};

}  // namespace slimpack::detail

#endif
