#ifndef SLIMPACK_IO_DETAIL_LENGTHS_READ_BYTES_HPP
#define SLIMPACK_IO_DETAIL_LENGTHS_READ_BYTES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>

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

/// Reads on from another stream. Its first bytes can be looked at without being taken, where that one is a pipe too.
class peeked_stream : public std::istream {
 public:
  explicit peeked_stream(std::istream& from) : std::istream(nullptr), buffer_(*from.rdbuf()) {
    rdbuf(&buffer_);
    if (peek() == std::char_traits<char>::eof()) clear(rdstate() & ~(eofbit | failbit));
  }

  /// Of what has not been taken yet: enough to know a format by, and less only where there is no more.
  [[nodiscard]] std::string_view first() const noexcept { return buffer_.first(); }

 private:
  class buffer : public std::streambuf {
   public:
    explicit buffer(std::streambuf& from) : from_(from) {}
    [[nodiscard]] std::string_view first() const noexcept {
      return {gptr(), static_cast<std::size_t>(egptr() - gptr())};
    }

   protected:
    int_type underflow() override {
      const std::streamsize read = from_.sgetn(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
      setg(bytes_.data(), bytes_.data(), bytes_.data() + read);
      return read > 0 ? traits_type::to_int_type(bytes_.front()) : traits_type::eof();
    }

   private:
    std::streambuf& from_;
    std::array<char, 16384> bytes_;
  };

  buffer buffer_;
};

}  // namespace slimpack::io::detail

#endif
