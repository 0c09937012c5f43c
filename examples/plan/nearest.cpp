#include "nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace cli {
namespace {

/// Levenshtein's distance.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(const std::string& typed, const std::vector<std::string>& known) {
  std::string found;
  std::size_t least = typed.size() / 3 + 1;
  for (const std::string& name : known)
    if (const std::size_t changes = distance(typed, name); changes < least) least = changes, found = name;
  return found;
}

}  // namespace cli
