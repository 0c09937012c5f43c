#ifndef SLIMPACK_TRANSPORTS_HOOKS_HPP
#define SLIMPACK_TRANSPORTS_HOOKS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>
#include <slimpack/detail/has_member.hpp>
#include <slimpack/transports/detail/over_messages.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

/// How the runtime asks a transport. The members of the concept (concepts.hpp) must be there; each other question has
/// a default, and a member of the same meaning replaces it:
///
///   member a transport may offer                        what it does                                  default
///   result<void> all_gather(bytes own, span<byte> all)  every rank's few host bytes, by rank          over messages
///   result<void> all_reduce(span<T>, span<const int>)   sums over the ranks named, all equal          ring of messages
///   static constexpr bool starts_all_reduce             whether its all_reduce only issues work,      false
///                                                       as on a stream, so that it may be called in
///                                                       the middle of a program; its data is then
///                                                       touched by nobody until finish
///   static constexpr bool plan_order                    whether transfers of a step are issued at     false
///                                                       their place in the plan's order of all, none
///                                                       earlier, as for one that runs one at a time
///   type time_mark; result<time_mark> mark()            a point in the work that the compute has      the host's
///                                                       issued                                        clock
///   result<seconds> between(const time_mark&, likewise) from one to another, after finish
///   static constexpr bool device_memory                 whether messages lie where this host may not  false
///                                                       read and write them; a compute then works on
///                                                       rows that replicas share, too (copy_rows,
///                                                       add_rows)
///   result<void> finish()                               returns when every operation has ended        nothing
///   result<void> allows_threads() const                 whether one thread may call it while another  yes
///                                                       calls another transport
///
/// The defaults move host memory over channel 0, which is theirs. A transport of device memory offers all
/// three; its finish waits for the work of the compute, too, since losses are read after it.
///
/// A member of one of these names that cannot be called so is an error of compilation, not a default.
namespace slimpack {

/// What the runtime's messages on a channel are: a transport may carry each kind by itself.
enum class traffic {
  collectives,  ///< of the hooks below, and sums beside a program
  forward,      ///< packs on their way forward
  backward,     ///< and back
  rows,         ///< of sequences that ranks share, of packs that stages run together, and of E, V, U and G
};

/// The n-th channel of a kind.            Requires   n >= 0
[[nodiscard]] constexpr int channel_of(traffic what, int n) noexcept { return 4 * n + static_cast<int>(what); }
[[nodiscard]] constexpr traffic traffic_on(int channel) noexcept { return static_cast<traffic>(channel % 4); }

/// On which copies of a stage add up gradients beside the program.
inline constexpr std::array<int, 2> sums_channels{channel_of(traffic::collectives, 1),
                                                  channel_of(traffic::collectives, 2)};
/// On which ranks that share rows send them to each other.
inline constexpr int shared_rows_channel = channel_of(traffic::rows, 0);
/// On which stages that run packs together send. Those between are of E, V, U and G.
inline constexpr int ties_channel = channel_of(traffic::rows, 7);

namespace detail {
SLIMPACK_DETAIL_HAS_MEMBER(all_gather);
SLIMPACK_DETAIL_HAS_MEMBER(all_reduce);
SLIMPACK_DETAIL_HAS_MEMBER(finish);
SLIMPACK_DETAIL_HAS_MEMBER(allows_threads);
SLIMPACK_DETAIL_HAS_MEMBER(mark);
SLIMPACK_DETAIL_HAS_MEMBER(between);
SLIMPACK_DETAIL_HAS_MEMBER(device_memory);
SLIMPACK_DETAIL_HAS_MEMBER(plan_order);
SLIMPACK_DETAIL_HAS_MEMBER(starts_all_reduce);

template <class Transport>
concept offers_marks = requires {
  typename Transport::time_mark;
}
&&requires(Transport& t, const typename Transport::time_mark& at) {
  { t.mark() } -> std::same_as<result<typename Transport::time_mark>>;
  { t.between(at, at) } -> std::same_as<result<seconds>>;
};

/// Whether a transport tells when work runs, which its host does not see.
template <class Transport>
[[nodiscard]] consteval bool marks_time() {
  if constexpr (offers_marks<Transport>) {
    return true;
  } else {
    static_assert(!has_member_mark<Transport> && !has_member_between<Transport>,
                  "a transport's mark() and between(const time_mark&, const time_mark&) are public and give "
                  "result<time_mark> and result<seconds>, with a type time_mark");
    return false;
  }
}

/// Whether it moves memory that the host does not touch.
template <class Transport>
[[nodiscard]] consteval bool moves_device_memory() {
  if constexpr (requires {
                  { Transport::device_memory } -> std::same_as<const bool&>;
                  typename std::bool_constant<Transport::device_memory>;
                }) {
    return Transport::device_memory;
  } else {
    static_assert(!has_member_device_memory<Transport>,
                  "a transport's device_memory is a public static constexpr bool");
    return false;
  }
}

/// Whether it wants transfers in the plan's order, each at its place.
template <class Transport>
[[nodiscard]] consteval bool keeps_plan_order() {
  if constexpr (requires {
                  { Transport::plan_order } -> std::same_as<const bool&>;
                  typename std::bool_constant<Transport::plan_order>;
                }) {
    return Transport::plan_order;
  } else {
    static_assert(!has_member_plan_order<Transport>, "a transport's plan_order is a public static constexpr bool");
    return false;
  }
}

/// Whether its all_reduce only issues work.
template <class Transport>
[[nodiscard]] consteval bool starts_all_reduce() {
  if constexpr (requires {
                  { Transport::starts_all_reduce } -> std::same_as<const bool&>;
                  typename std::bool_constant<Transport::starts_all_reduce>;
                }) {
    return Transport::starts_all_reduce;
  } else {
    static_assert(!has_member_starts_all_reduce<Transport>,
                  "a transport's starts_all_reduce is a public static constexpr bool");
    return false;
  }
}
}  // namespace detail

/// Gathers `own` from every rank into `all`, in order of rank: size() times own.size() bytes on each.
template <class Transport>
result<void> all_gather(Transport& transport, std::span<const std::byte> own, std::span<std::byte> all) {
  if constexpr (requires {
                  { transport.all_gather(own, all) } -> std::same_as<result<void>>;
                }) {
    return transport.all_gather(own, all);
  } else {
    static_assert(!detail::has_member_all_gather<Transport>,
                  "a transport's all_gather(span<const byte>, span<byte>) is public and gives result<void>");
    return detail::all_gather_over_messages(transport, own, all);
  }
}

/// Adds `data` over `group`, ranks in rising order with this one among them; every member gets the same bits.
template <class T, class Transport>
result<void> all_reduce(Transport& transport, std::span<T> data, std::span<const int> group) {
  if (group.size() < 2) return success();
  if constexpr (requires {
                  { transport.all_reduce(data, group) } -> std::same_as<result<void>>;
                }) {
    return transport.all_reduce(data, group);
  } else {
    static_assert(!detail::has_member_all_reduce<Transport>,
                  "a transport's all_reduce(span<T>, span<const int>) is public and gives result<void>");
    return detail::all_reduce_over_messages(transport, data, group);
  }
}

template <class Transport>
result<void> finish(Transport& transport) {
  if constexpr (requires {
                  { transport.finish() } -> std::same_as<result<void>>;
                }) {
    return transport.finish();
  } else {
    static_assert(!detail::has_member_finish<Transport>, "a transport's finish() is public and gives result<void>");
    return success();
  }
}

template <class Transport>
[[nodiscard]] result<void> allows_threads(const Transport& transport) {
  if constexpr (requires {
                  { transport.allows_threads() } -> std::same_as<result<void>>;
                }) {
    return transport.allows_threads();
  } else {
    static_assert(!detail::has_member_allows_threads<Transport>,
                  "a transport's allows_threads() is public, const and gives result<void>");
    return success();
  }
}

}  // namespace slimpack

#endif
