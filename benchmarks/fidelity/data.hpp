#ifndef SLIMPACK_BENCHMARKS_FIDELITY_DATA_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_DATA_HPP

#include <slimpack/core/error.hpp>
#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/saved_tensors.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// What several scores read.
namespace fidelity {

using namespace slimpack;

inline constexpr double mib = 1024.0 * 1024;
inline constexpr double gib = 1024 * mib;

/// A file of the folder that is scored, or the one that comes with the library.
inline std::filesystem::path found(const std::filesystem::path& data, const std::string& name) {
  return std::filesystem::exists(data / name) ? data / name : std::filesystem::path(SLIMPACK_DATA) / name;
}

inline costs::saved_tensors table_of(const std::filesystem::path& data, const std::string& stack) {
  return io::read_saved_tensors(found(data, "saved_tensors/" + stack + ".json")).value();
}

/// A decoder without a config.json among the data.
inline costs::model_shape decoder(std::string name, int layers, std::int64_t hidden, int heads,
                                  std::int64_t feed_forward, std::int64_t vocabulary, bool gated) {
  return {.name = std::move(name),
          .layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .value_dim = hidden / heads,
          .intermediate = feed_forward,
          .vocabulary = vocabulary,
          .gated = gated,
          .tied = !gated};
}

/// GPT as Megatron-LM trains it: GPT-2's vocabulary, padded to a multiple of 128.
inline costs::model_shape gpt(std::string name, int layers, std::int64_t hidden, int heads) {
  return decoder(std::move(name), layers, hidden, heads, 4 * hidden, 50304, false);
}

/// One row of a table, its cells by name. What they cannot hold is thrown, by file, line and column.
class cells {
 public:
  cells(const io::csv_table& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] std::string text(const char* column) const { return sound(table_.text(row_, column)); }
  [[nodiscard]] double number(const char* column) const { return sound(table_.number(row_, column)); }
  [[nodiscard]] bool empty(const char* column) const { return table_.empty(row_, column); }
  [[nodiscard]] std::string where() const { return table_.where(row_); }
  [[nodiscard]] int count(const char* column) const { return static_cast<int>(number(column)); }
  /// What was measured, in whatever unit: nothing takes no time or less, or no memory.
  [[nodiscard]] double measured(const char* column) const {
    const double value = number(column);
    if (value > 0) return value;
    throw std::runtime_error(where() + ": column " + column + ": " + text(column) + " is not more than 0");
  }

 private:
  /// A cell that holds something else is no row that was left out: its file is at fault.
  template <class T>
  static T sound(result<T> read) {
    if (!read) throw std::runtime_error(read.error().detail);
    return std::move(read).value();
  }

  const io::csv_table& table_;
  std::size_t row_;
};

/// What is not scored, by the reason: the first place of each, and how many more there are.
class left_out {
 public:
  void add(const std::string& where, const std::string& why) {
    const auto known = std::find_if(reasons_.begin(), reasons_.end(), [&](const reason& r) { return r.why == why; });
    if (known == reasons_.end())
      reasons_.push_back({why, where, 0});
    else
      ++known->more;
  }
  /// Runs what may be impossible for a row or a kernel that nobody has seen; what is said then is the reason.
  template <class Attempt>
  void attempt(const std::string& where, Attempt&& to) {
    try {
      to();
    } catch (const plan_error& e) {
      add(where, e.what());
    }
  }
  void tell(std::vector<std::string>& notes) const {
    for (const reason& r : reasons_)
      notes.push_back("left out: " + r.where + (r.more > 0 ? " and " + std::to_string(r.more) + " more" : "") + ", " +
                      r.why);
  }

 private:
  struct reason {
    std::string why;
    std::string where;
    std::size_t more;
  };
  std::vector<reason> reasons_;
};

template <class Visit>
void each_row(const std::filesystem::path& file, Visit&& visit) {
  if (!std::filesystem::exists(file)) return;
  const io::csv_table table = io::csv_table::read(file).value();
  for (std::size_t i = 0; i < table.rows(); ++i) visit(cells(table, i));
}

}  // namespace fidelity

#endif
