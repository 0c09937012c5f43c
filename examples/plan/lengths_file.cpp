#include "lengths_file.hpp"

#include "gzip.hpp"

#include <slimpack/io/lengths.hpp>

#include <filesystem>
#include <fstream>
#include <istream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cli {
namespace {

using namespace slimpack;

/// Whether a file begins as gzip's do. A pipe is not asked: its first bytes would be gone.
bool is_gzip(const std::filesystem::path& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return false;
  std::ifstream in(file, std::ios::binary);
  return in.get() == 0x1f && in.get() == 0x8b;
}

result<std::vector<tokens>> read(const options& o) {
  if (!is_gzip(o.lengths)) return io::read_lengths(o.lengths, o.format, o.field);
  if (!has_gzip())
    return error{errc::invalid_input,
                 o.lengths.string() + ": is compressed with gzip, and slimpack-plan was built without " +
                     "libboost-iostreams-dev: install that and build again, or decompress the file"};
  std::ifstream in(o.lengths, std::ios::binary);
  const std::unique_ptr<std::istream> plain = gunzipped(in);
  return io::read_lengths(*plain, o.lengths.string(), o.format, o.field);
}

}  // namespace

result<std::vector<tokens>> lengths_of(const options& o) {
  result<std::vector<tokens>> lengths = read(o);
  if (lengths || !lengths.error().detail.ends_with(io::name_the_field)) return lengths;
  return error{lengths.error().code, lengths.error().detail + ": --field NAME"};
}

}  // namespace cli
