#include "lengths_file.hpp"

#include "gzip.hpp"

#include <slimpack/io/forests/token_lines.hpp>
#include <slimpack/io/forests/tree_lines.hpp>
#include <slimpack/io/lengths.hpp>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
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

/// What `read` gives of a file, or of a stream and the file's name.
template <class Read>
auto read_file(const options& o, const Read& read) -> decltype(read(o.lengths)) {
  if (!is_gzip(o.lengths)) return read(o.lengths);
  if (!has_gzip())
    return error{errc::invalid_input,
                 o.lengths.string() + ": is compressed with gzip, and slimpack-plan was built without " +
                     "libboost-iostreams-dev: install that and build again, or decompress the file"};
  std::ifstream in(o.lengths, std::ios::binary);
  const std::unique_ptr<std::istream> plain = gunzipped(in);
  if (plain->peek() == 0x1f)  // no text and no array of NumPy begins so
    return error{errc::invalid_input, o.lengths.string() +
                                          ": is compressed with gzip twice, expected once: decompress " +
                                          "it first, gzip -dc '" + o.lengths.string() + "' > lengths.gz"};
  return read(*plain, o.lengths.string());
}

/// What the library says from a place on, with the options by which users of the command line say it.
std::string in_options(std::string text, std::size_t from) {
  constexpr std::pair<std::string_view, std::string_view> options[]{{"with the format ", "with --format "},
                                                                    {"with the field ", "with --field "}};
  for (const auto& [said, option] : options)
    for (std::size_t at = text.find(said, from); at != std::string::npos; at = text.find(said, at + option.size()))
      text.replace(at, said.size(), option);
  if (text.ends_with(io::name_the_field)) text += ": --field NAME";
  if (text.ends_with(io::leave_empty_out)) text += ", or give --empty skip";
  return text;
}

/// What is said of the file, in options.
error in_options(const error& said, const options& o) {
  const std::string file = o.lengths.string();
  return {said.code, in_options(said.detail, said.detail.starts_with(file) ? file.size() : 0)};
}

}  // namespace

result<io::lengths_list> lengths_of(const options& o) {
  result<io::lengths_list> list =
      read_file(o, [&](auto&&... file) { return io::read_lengths_list(file..., o.how_listed); });
  if (!list) return in_options(list.error(), o);
  for (std::string& note : list.value().notes) note = in_options(std::move(note), 0);
  return list;
}

result<io::token_list> samples_of(const options& o) {
  result<io::token_list> list = read_file(
      o, [&](auto&&... file) { return io::read_token_lines(file..., o.how_listed.field, o.how_listed.empty); });
  if (!list) return in_options(list.error(), o);
  return list;
}

result<io::forest_list> tree_of(const options& o) {
  return read_file(o, [](auto&&... file) { return io::read_tree_lines(file...); });
}

}  // namespace cli
