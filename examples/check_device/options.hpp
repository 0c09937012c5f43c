#ifndef SLIMPACK_EXAMPLES_CHECK_DEVICE_OPTIONS_HPP
#define SLIMPACK_EXAMPLES_CHECK_DEVICE_OPTIONS_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/core/units.hpp>

#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace check_device {

struct options {
  std::string out{"links.csv"};
  std::string gpu{};  ///< empty: as the driver names it
  std::size_t largest{std::size_t{1} << 26};
  int cases{10};
  double time_out{60};
  bool help{};
};

constexpr std::string_view help_text =
    "Checks GPUs of a cluster: the laws of slimpack's transport over NCCL between all ranks, then latency and "
    "bandwidth of the\n"
    "link between each two, written as a table for slimpack-plan --cost profiled:DIR.\n"
    "\n"
    "  mpirun -np GPUS -x NCCL_LAUNCH_ORDER_IMPLICIT=1 slimpack-check-device --out tables/links.csv\n"
    "\n"
    "A rank for each GPU of each node. Options:\n"
    "  --out FILE        the table [links.csv]\n"
    "  --name GPU        its name in the table [as the driver says]\n"
    "  --largest BYTES   of a message [67108864]; two buffers of it are in each GPU\n"
    "  --cases N         random rounds of each law [10]\n"
    "  --time-out S      how long a rank waits for another; a law waits as long, once [60]\n"
    "  --help            this text\n"
    "\n"
    "It exits with 0 where all laws hold and all links were measured, with 1 where not, with 2 where arguments are "
    "wrong, and with\n"
    "77 where there is no GPU.\n";

/// Errors    invalid_input: a sentence for the user
inline slimpack::result<options> parse(std::span<const char* const> arguments) {
  options o;
  const auto wrong = [](std::string what) {
    return slimpack::error{slimpack::errc::invalid_input, std::move(what) + "; --help lists the options"};
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i];
    if (name == "--help" || name == "-h") {
      o.help = true;
      continue;
    }
    if (name != "--out" && name != "--name" && name != "--largest" && name != "--cases" && name != "--time-out")
      return wrong(name + " is no option");
    if (++i == arguments.size()) return wrong(name + " lacks its value");
    const std::string_view text = arguments[i];
    const auto number = [&](auto& into, auto least, auto most) {
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
      return failed == std::errc{} && end == text.data() + text.size() && into >= least && into <= most;
    };
    const auto not_a = [&](const char* what) {
      return wrong(name + " is a " + what + ", not '" + std::string(text) + "'");
    };
    if (name == "--out") o.out = text;
    if (name == "--name") o.gpu = text;
    if (name == "--largest" && !number(o.largest, std::size_t{1024}, std::size_t{1} << 40))
      return not_a("number of bytes from 1024 to 1 TiB");
    if (name == "--cases" && !number(o.cases, 1, 1'000'000)) return not_a("number from 1 to 1000000");
    if (name == "--time-out" && !number(o.time_out, 1., 86400.)) return not_a("number of seconds from 1 to 86400");
    if (text.empty() || o.gpu.find(',') != std::string::npos) return not_a("text without commas");
  }
  return o;
}

}  // namespace check_device

#endif
