#ifndef SLIMPACK_TRANSPORTS_DETAIL_LINK_ANY_LINK_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_LINK_ANY_LINK_HPP

#include <slimpack/detail/has_member.hpp>

#include <concepts>
#include <cstddef>
#include <span>
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

}  // namespace slimpack::detail

#endif
