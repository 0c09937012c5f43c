#include "corpus.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <system_error>
#include <utility>

namespace train {
namespace {

namespace fs = std::filesystem;
using slimpack::errc;
using slimpack::error;
using slimpack::result;

error unreadable(const fs::path& path, const std::string& why) {
  return {errc::unreadable, path.string() + ": cannot be read: " + why};
}

bool left_out(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (name.front() == '.' || entry.is_symlink()) return true;
  return entry.is_directory() && (name == "build" || name.rfind("build-", 0) == 0 || name == "out");
}

/// The regular files below a folder, in order of their names; or the file itself.
result<std::vector<fs::path>> files_below(const fs::path& folder) {
  std::error_code failed;
  if (fs::is_regular_file(folder, failed)) return std::vector<fs::path>{folder};
  if (!fs::is_directory(folder, failed)) return unreadable(folder, "it is no folder and no file");
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, failed);
  while (!failed && at != fs::recursive_directory_iterator()) {
    if (left_out(*at))
      at.disable_recursion_pending();
    else if (at->is_regular_file(failed))
      files.push_back(at->path());
    at.increment(failed);
  }
  if (failed) return unreadable(folder, failed.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

result<corpus> corpus::load(const fs::path& where, slimpack::tokens context) {
  result<std::vector<fs::path>> files = files_below(where);
  if (!files) return std::move(files).error();
  corpus all;
  for (const fs::path& path : files.value()) {
    std::ifstream in(path, std::ios::binary);
    if (!in) return unreadable(path, "is it yours to read?");
    std::vector<std::uint8_t> file{std::istreambuf_iterator<char>(in), {}};
    if (std::find(file.begin(), file.end(), std::uint8_t{0}) == file.end())
      all.add(std::move(file), static_cast<std::size_t>(context.value));
  }
  if (all.documents_.empty())
    return error{errc::invalid_input, where.string() + " holds no text file of two bytes or more"};
  return all;
}

void corpus::add(std::vector<std::uint8_t> file, std::size_t context) {
  files_.push_back(std::move(file));
  const document whole(files_.back());
  for (std::size_t begin = 0; begin + 1 < whole.size(); begin += context) {
    const document part = whole.subspan(begin, std::min(context, whole.size() - begin));
    const slimpack::tokens length{static_cast<std::int64_t>(part.size())};
    documents_.push_back(part);
    tokens_ += length;
    longest_ = std::max(longest_, length);
  }
}

double corpus::byte_entropy() const noexcept {
  std::array<double, 256> count{};
  for (const document& d : documents_)
    for (const std::uint8_t byte : d) ++count[byte];
  double entropy = 0;
  for (const double n : count)
    if (n > 0) entropy -= n / static_cast<double>(tokens_.value) * std::log(n / static_cast<double>(tokens_.value));
  return entropy;
}

batches::batches(const corpus& texts, std::size_t size, std::uint64_t seed)
    : texts_(texts), size_(size), seed_(seed), order_(texts.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  shuffle();
}

std::vector<corpus::document> batches::next() {
  if (at_ + size_ > order_.size()) shuffle();
  std::vector<corpus::document> batch;
  for (std::size_t i = 0; i < size_; ++i) batch.push_back(texts_[order_[at_++]]);
  return batch;
}

/// Fisher-Yates with a modulus, so that a seed means the same order with every standard library.
void batches::shuffle() {
  std::mt19937_64 random(seed_++);
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
  at_ = 0;
}

}  // namespace train
