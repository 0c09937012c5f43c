#ifndef SLIMPACK_TRANSPORTS_DETAIL_LINK_LINK_THREADS_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_LINK_LINK_THREADS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/transports/detail/mailbox.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace slimpack::detail {

template <class L>
concept waits_for_bytes = std::move_constructible<L> &&
    requires(L& link, int peer, std::span<const std::byte> out, std::span<std::byte> in) {
  { link.send(peer, out) } -> std::same_as<bool>;
  { link.receive(peer, in) } -> std::same_as<bool>;
};

SLIMPACK_DETAIL_HAS_MEMBER(close);

/// A trainer's send and receive that wait (transports/blocking.hpp), behind virtual calls.
class any_link {
 public:
  any_link() = default;
  any_link(const any_link&) = delete;
  any_link& operator=(const any_link&) = delete;
  virtual ~any_link() = default;

  [[nodiscard]] virtual bool send(int peer, std::span<const std::byte> bytes) = 0;
  [[nodiscard]] virtual bool receive(int peer, std::span<std::byte> bytes) = 0;
  /// Whether it can be closed; then it is.
  [[nodiscard]] virtual bool close() = 0;
};

/// That of a trainer.
template <class Link>
class link_behind final : public any_link {
 public:
  explicit link_behind(Link link) : link_(std::move(link)) {}

  [[nodiscard]] bool send(int peer, std::span<const std::byte> bytes) override { return link_.send(peer, bytes); }
  [[nodiscard]] bool receive(int peer, std::span<std::byte> bytes) override { return link_.receive(peer, bytes); }
  [[nodiscard]] bool close() override {
    if constexpr (requires { link_.close(); }) {
      link_.close();
      return true;
    } else {
      static_assert(!has_member_close<Link>, "a link's close() is public and takes nothing");
      return false;
    }
  }

 private:
  Link link_;
};

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
