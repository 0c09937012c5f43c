#ifndef SLIMPACK_TRANSPORTS_DETAIL_LINK_LINK_THREADS_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_LINK_LINK_THREADS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/transports/detail/link/any_link.hpp>
#include <slimpack/transports/detail/link/mail_handle.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace slimpack::detail {

/// What transports::blocking asks of the threads of a link. Whoever includes this alone compiles no thread.
class link_threads {
 public:
  link_threads() = default;
  link_threads(const link_threads&) = delete;
  link_threads& operator=(const link_threads&) = delete;
  virtual ~link_threads() = default;

  [[nodiscard]] virtual result<mail_handle> send(int peer, int channel, std::span<const std::byte> data) = 0;
  [[nodiscard]] virtual result<mail_handle> receive(int peer, int channel, std::span<std::byte> data) = 0;
  [[nodiscard]] virtual result<bool> test(const mail_handle& h) = 0;
  [[nodiscard]] virtual result<void> wait(const mail_handle& h, seconds time_out) = 0;
  virtual void abort(std::string_view reason) = 0;

  /// Says good-bye and waits for that of the others.
  virtual void end(seconds time_out) = 0;

  /// Those of a link between `size` ranks, started.
  [[nodiscard]] static std::shared_ptr<link_threads> of(std::unique_ptr<any_link> link, int rank, int size);
};

}  // namespace slimpack::detail

#ifndef SLIMPACK_SEPARATE_COMPILATION
#include <slimpack/transports/impl/blocking_link.ipp>
#endif

#endif
