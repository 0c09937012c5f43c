#ifndef SLIMPACK_IO_DETAIL_LENGTHS_READ_BYTES_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_READ_BYTES_HPP

#include <algorithm>
#include <cstddef>
#include <istream>
#include <string>

namespace slimpack::io::detail {

/// As many bytes, or those that are left. Memory grows with what has been read, whatever a header says of itself.
[[nodiscard]] inline std::string read_bytes(std::istream& in, std::size_t most) {
  constexpr std::size_t step = 65536;
  std::string all;
  while (all.size() < most && in) {
    const std::size_t at = all.size();
    all.resize(at + std::min(step, most - at));
    in.read(all.data() + at, static_cast<std::streamsize>(all.size() - at));
    all.resize(at + static_cast<std::size_t>(in.gcount()));
  }
  return all;
}

}  // namespace slimpack::io::detail

#endif
