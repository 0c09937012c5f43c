#ifndef SLIMPACK_TRANSPORTS_DETAIL_GROUP_FRAMES_HPP
#define SLIMPACK_TRANSPORTS_DETAIL_GROUP_FRAMES_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/transports/detail/mailbox.hpp>
#include <slimpack/transports/detail/polling.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::detail {

template <class G>
concept posts_bytes = std::move_constructible<G> && requires {
  typename G::request;
} && requires(G& group, const G& asked, typename G::request& r, int peer, std::span<const std::byte> out,
              std::span<std::byte> in) {
  { asked.rank() } -> std::same_as<int>;
  { asked.size() } -> std::same_as<int>;
  { group.isend(peer, out) } -> std::same_as<result<typename G::request>>;
  { group.irecv(peer, in) } -> std::same_as<result<typename G::request>>;
  { group.test(r) } -> std::same_as<result<bool>>;
};

SLIMPACK_DETAIL_HAS_MEMBER(cancel);

/// Whether a group can take a receive back.
template <class G>
[[nodiscard]] consteval bool cancels_receives() {
  if constexpr (requires(G & group, typename G::request & r) {
                  { group.cancel(r) } -> std::same_as<result<bool>>;
                }) {
    return true;
  } else {
    static_assert(!has_member_cancel<G>, "a group's cancel(request&) is public and gives result<bool>");
    return false;
  }
}

/// The frames of a group of ranks: from each peer one receive is always posted, of a header or of what it announces, so
/// that an abort is heard whenever it comes. Its memory stays where it is as long as the group may write there.
template <class Group>
class group_frames {
  using request = typename Group::request;

 public:
  /// A message that this rank sends: header and bytes in memory of its own, which outlives an abort.
  struct sent_message {
    owned_bytes memory;
    std::vector<request> requests;  // that have not ended
    int peer{};
    int channel{};
    std::uint64_t step{};
  };

  explicit group_frames(Group group) : group_(std::move(group)) {
    sources_.resize(static_cast<std::size_t>(size()));
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank()) expect_header(peer);
  }
  group_frames(const group_frames&) = delete;
  group_frames& operator=(const group_frames&) = delete;

  [[nodiscard]] int rank() const { return group_.rank(); }
  [[nodiscard]] int size() const { return group_.size(); }
  [[nodiscard]] const Group& group() const noexcept { return group_; }
  [[nodiscard]] mailbox& mail() noexcept { return mail_; }

  /// Gives null for a message to this rank, which needs no request.
  result<std::shared_ptr<sent_message>> send(int peer, int channel, std::span<const std::byte> data) {
    look_around();
    if (std::optional<error> why = mail_.stopped()) return *std::move(why);
    if (std::optional<error> gone = mail_.left(peer)) return *std::move(gone);
    if (peer != rank()) return post(peer, {frame_kind::message, channel, mail_.step(), data.size()}, data);
    mail_.deliver(peer, channel, mail_.step(), owned_bytes(data));
    return std::shared_ptr<sent_message>{};
  }

  [[nodiscard]] result<bool> test(const sent_message& p) {
    look_around();
    if (p.step != mail_.step()) return mail_.ended();
    if (std::optional<error> why = mail_.stopped()) return *std::move(why);
    if (p.requests.empty()) return true;
    if (std::optional<error> gone = mail_.left(p.peer)) return *std::move(gone);
    return false;
  }
  [[nodiscard]] result<bool> test(const mailbox::handle& h) {
    result<bool> through = mail_.test(h);
    if (!through || through.value()) return through;
    look_at(mailbox::route_of(h).peer);
    look_around();
    return mail_.test(h);
  }

  void abort(std::string_view reason) {
    const mailbox::ended_step ended = mail_.end_step(reason);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      take_back(peer);
      (void)post(peer, {frame_kind::abort, 0, ended.step, ended.reason.size()}, std::as_bytes(std::span(ended.reason)));
    }
  }

  /// Says good-bye and waits for that of the others. False where the group may still use this memory.
  [[nodiscard]] bool end(seconds time_out) {
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank()) (void)post(peer, {frame_kind::good_bye, 0, 0, 0}, {});
    for (polling poll(time_out);;) {
      for (int peer = 0; peer < size(); ++peer) look_at(peer);
      retire();
      if (is_quiet()) return true;
      if (!poll.again()) break;
    }
    if constexpr (cancels_receives<Group>())
      for (source& from : sources_)
        if (from.coming && group_.cancel(*from.coming)) from.coming.reset();
    return is_quiet();
  }

 private:
  /// What comes from a peer.
  struct source {
    frame_header header;
    std::optional<request> coming;  // of the header, or of what follows it
    bool after_header{};
    owned_bytes payload;
    std::optional<mailbox::handle> in_place;  // the receive whose buffer is filled, in place of `payload`
  };

  [[nodiscard]] source& from(int peer) { return sources_[static_cast<std::size_t>(peer)]; }

  /// Whether the group uses no memory of this object.
  [[nodiscard]] bool is_quiet() const {
    return under_way_.empty() &&
           std::none_of(sources_.begin(), sources_.end(), [](const source& s) { return s.coming.has_value(); });
  }

  void lose(int peer, const error& why) { mail_.lose(peer, " cannot be reached: " + why.detail); }

  result<std::shared_ptr<sent_message>> post(int peer, const frame_header& header, std::span<const std::byte> data) {
    auto made = std::make_shared<sent_message>();
    made->memory = owned_bytes(sizeof header + data.size());
    made->peer = peer, made->channel = header.channel, made->step = header.step;
    const std::span<std::byte> bytes = made->memory.bytes();
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!data.empty()) std::memcpy(bytes.data() + sizeof header, data.data(), data.size());
    under_way_.push_back(made);
    for (const std::span<const std::byte> part : {bytes.first(sizeof header), bytes.subspan(sizeof header)}) {
      if (part.empty()) continue;
      result<request> posted = group_.isend(peer, part);
      if (!posted) {
        lose(peer, posted.error());
        return *mail_.stopped();
      }
      made->requests.push_back(std::move(posted).value());
    }
    return made;
  }

  void receive(int peer, std::span<std::byte> into) {
    result<request> posted = group_.irecv(peer, into);
    if (posted)
      from(peer).coming.emplace(std::move(posted).value());
    else
      lose(peer, posted.error());
  }
  void expect_header(int peer) {
    source& s = from(peer);
    s.after_header = false;
    receive(peer, std::as_writable_bytes(std::span(&s.header, 1)));
  }

  /// Takes in all that has come from a peer.
  void look_at(int peer) {
    source& s = from(peer);
    while (s.coming) {
      const result<bool> ended = group_.test(*s.coming);
      if (!ended) {
        s.coming.reset();
        return lose(peer, ended.error());
      }
      if (!ended.value()) return;
      s.coming.reset();
      if (s.after_header)
        take(peer);
      else
        follow(peer);
    }
  }

  void follow(int peer) {
    source& s = from(peer);
    if (!s.header.is_known()) return mail_.lose(peer, " sends bytes that are no message");
    if (s.header.what == frame_kind::good_bye) return mail_.leave(peer);
    s.after_header = true;
    const std::size_t size = s.header.size;
    if constexpr (cancels_receives<Group>())
      if (s.header.what == frame_kind::message) s.in_place = mail_.claim(peer, s.header.channel, s.header.step, size);
    if (!s.in_place) s.payload = owned_bytes(size);
    if (size == 0) return take(peer);
    receive(peer, s.in_place ? mailbox::buffer_of(*s.in_place) : s.payload.bytes());
  }

  void take(int peer) {
    source& s = from(peer);
    owned_bytes payload = std::move(s.payload);
    if (s.in_place)
      mail_.fill(*std::exchange(s.in_place, std::nullopt));
    else if (s.header.what == frame_kind::abort)
      mail_.hear_of_abort(s.header.step, {reinterpret_cast<const char*>(payload.memory.get()), payload.size});
    else
      mail_.deliver(peer, s.header.channel, s.header.step, std::move(payload));
    expect_header(peer);
  }

  /// Ends the use of a caller's buffer: what was to come there comes into memory of this object, and is dropped.
  void take_back(int peer) {
    if constexpr (cancels_receives<Group>()) {
      source& s = from(peer);
      if (!s.in_place) return;
      s.in_place.reset();
      if (!s.coming) return;
      const result<bool> taken_back = group_.cancel(*s.coming);
      s.coming.reset();
      if (!taken_back) return lose(peer, taken_back.error());
      if (!taken_back.value()) return expect_header(peer);  // it had come
      s.payload = owned_bytes(s.header.size);
      receive(peer, s.payload.bytes());
    }
  }

  void retire() {
    std::erase_if(under_way_, [&](const std::shared_ptr<sent_message>& p) {
      std::erase_if(p->requests, [&](request& r) {
        const result<bool> ended = group_.test(r);
        if (!ended) lose(p->peer, ended.error());
        return !ended || ended.value();
      });
      return p->requests.empty();
    });
  }

  /// What every call does: takes in what has come from one peer after the other, and lets go what has left.
  void look_around() {
    look_at(looked_at_);
    looked_at_ = (looked_at_ + 1) % size();
    retire();
  }

  Group group_;
  mailbox mail_;
  std::vector<source> sources_;  // never grows
  std::deque<std::shared_ptr<sent_message>> under_way_;
  int looked_at_{};
};

}  // namespace slimpack::detail

#endif
