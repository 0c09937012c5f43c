#ifndef SLIMPACK_BENCHMARKS_FIDELITY_DATA_HPP
#define SLIMPACK_BENCHMARKS_FIDELITY_DATA_HPP

#include <slimpack/costs/model/model_shape.hpp>
#include <slimpack/io/csv.hpp>
#include <slimpack/io/saved_tensors.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

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

/// One row of a table, its cells by name.
struct cells {
  const io::csv_table* table;
  std::size_t row;

  [[nodiscard]] std::string text(const char* column) const { return table->text(row, column).value(); }
  [[nodiscard]] double number(const char* column) const { return table->number(row, column).value(); }
  [[nodiscard]] bool empty(const char* column) const { return table->empty(row, column); }
  [[nodiscard]] std::string where() const { return table->where(row); }
  [[nodiscard]] int count(const char* column) const { return static_cast<int>(number(column)); }
};

template <class Visit>
void each_row(const std::filesystem::path& file, Visit&& visit) {
  if (!std::filesystem::exists(file)) return;
  const io::csv_table table = io::csv_table::read(file).value();
  for (std::size_t i = 0; i < table.rows(); ++i) visit(cells{&table, i});
}

}  // namespace fidelity

#endif
