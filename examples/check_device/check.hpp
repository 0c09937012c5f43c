#ifndef SLIMPACK_EXAMPLES_CHECK_DEVICE_CHECK_HPP
#define SLIMPACK_EXAMPLES_CHECK_DEVICE_CHECK_HPP

#include "links.hpp"
#include "options.hpp"

#include <slimpack/core/error.hpp>
#include <slimpack/testing/transport_laws.hpp>
#include <slimpack/transports/gathered.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace check_device {

/// Checks a transport between all ranks, each of which calls this. out: where this rank says what it saw; the first
/// rank also says what holds of all, and a line for each link.
/// Returns   the table of links
/// Errors    transport_failed: laws are broken, on some rank; those of transport and device
template <class Transport>
slimpack::result<std::string> check(Transport& t, int node, const options& o, std::ostream& out) {
  const slimpack::testing::report laws =
      slimpack::testing::transport_laws(t, {.cases = o.cases, .time_out = {o.time_out}});
  if (!laws) out << laws;
  const auto held = static_cast<std::byte>(static_cast<bool>(laws));
  const slimpack::result<std::vector<std::byte>> all = slimpack::gathered(t, held);
  if (!all) return all.error();
  const auto broken = std::count(all.value().begin(), all.value().end(), std::byte{0});
  if (broken > 0)
    return slimpack::error{
        slimpack::errc::transport_failed,
        "laws of the transport are broken on " + std::to_string(broken) + " of " + std::to_string(t.size()) + " ranks"};
  if (t.rank() == 0)
    out << "laws of the transport hold on all " << t.size() << " ranks, in " << laws.checks()
        << " checks on this one\n";

  const std::vector<std::size_t> sizes = sizes_up_to(o.largest);
  const auto links = link_trial<Transport>::all(t, node, sizes);
  if (!links) return links.error();
  if (t.rank() == 0)
    for (const link& one : links.value()) out << told(one, sizes);
  return profile_table(links.value(), sizes, o.gpu);
}

}  // namespace check_device

#endif
