#ifndef SLIMPACK_TESTS_FUZZ_TARGETS_HPP
#define SLIMPACK_TESTS_FUZZ_TARGETS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/executors/backward_cuts.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/io/gpu.hpp>
#include <slimpack/io/implausible_times.hpp>
#include <slimpack/io/lengths.hpp>
#include <slimpack/io/model_config.hpp>
#include <slimpack/io/plan_json.hpp>
#include <slimpack/io/profile.hpp>
#include <slimpack/io/profile_table.hpp>
#include <slimpack/io/saved_tensors.hpp>
#include <slimpack/io/stage_profile.hpp>
#include <slimpack/io/text_lengths.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

/// What is fuzzed: every reader of files, and the executor's look at a plan. Each target takes any bytes, and may answer or
/// refuse; it may not crash, overrun, overflow, or take memory or time beyond what so few bytes can ask for.
namespace slimpack::fuzz {

/// A file of this process that holds `bytes`: readers of paths ask the file system too, so they are given a file.
class input_file {
 public:
  explicit input_file(std::string_view bytes) {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush()) std::abort();
  }
  input_file(const input_file&) = delete;
  input_file& operator=(const input_file&) = delete;
  ~input_file() {
    std::error_code ignored;  // the next input truncates what is left
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  // In memory where the system has such a folder, which is tens of times as fast as a disk.
  std::filesystem::path path_ =
      (std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path()) /
      ("slimpack-fuzz-" + std::to_string(::getpid()));
};

/// A refusal that says nothing helps nobody.
template <class T>
void answered(const result<T>& r) {
  if (!r && r.error().detail.empty()) std::abort();
}

inline void plausible(const result<std::vector<tokens>>& lengths) {
  answered(lengths);
  if (!lengths) return;
  for (const tokens t : lengths.value())
    if (t < tokens{1} || t > longest_supported) std::abort();
}

inline void lengths_as(std::string_view bytes, io::lengths_format format) {
  plausible(io::read_lengths(input_file(bytes).path(), format));
}

inline void lengths(std::string_view bytes) { lengths_as(bytes, io::lengths_format::automatic); }
inline void jsonl(std::string_view bytes) { lengths_as(bytes, io::lengths_format::jsonl); }
inline void idx(std::string_view bytes) { lengths_as(bytes, io::lengths_format::idx); }
inline void text_lengths(std::string_view bytes) { plausible(io::read_text_lengths(input_file(bytes).path())); }

inline void model_config(std::string_view bytes) { answered(io::read_model(input_file(bytes).path())); }
inline void gpu(std::string_view bytes) { answered(io::read_gpu(input_file(bytes).path())); }
inline void saved_tensors(std::string_view bytes) { answered(io::read_saved_tensors(input_file(bytes).path())); }

/// Tables of every kind: their columns tell which. What was read is compared with a GPU's peaks, as the command line does.
inline void profile(std::string_view bytes) {
  const input_file file(bytes);
  const auto tables = io::read_profile_tables(file.path());
  answered(tables);
  answered(io::read_profile(file.path()));
  if (!tables) return;
  for (const io::profile_table& table : tables.value()) (void)io::implausible_times(table, costs::gpus::h100());
}

/// A stage profile; one that is read is written, and read again.
inline void stage_profile(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const result<profiling::stage_profile> read = io::read_stage_profile(in);
  answered(read);
  if (!read) return;
  std::stringstream again;
  if (!io::write_stage_profile(again, read.value()) || !io::read_stage_profile(again)) std::abort();
}

/// Looks at a plan as every rank of it does before it runs, and as ranks that it has not.
inline void replay(const plan& p) {
  const std::int64_t ranks = std::int64_t{p.shape.stages} * p.shape.replicas;
  for (const backward_cuts cuts : {backward_cuts::any, backward_cuts::forward_cuts}) {
    for (int rank = -1; rank <= std::clamp<std::int64_t>(ranks, -1, 16); ++rank)
      answered(detail::stage_script::of(p, rank, cuts, exchange_set::all()));
    answered(detail::stage_script::of(p, std::numeric_limits<int>::max(), cuts, exchange_set::all()));
  }
}

/// A plan file; one that is read is written, read again, written to the same text, and replayed.
inline void plan_file(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const result<plan> read = io::read_plan(in);
  answered(read);
  if (!read) return;
  std::stringstream written;
  if (!io::write_plan(written, read.value())) std::abort();
  const result<plan> again = io::read_plan(written);
  std::ostringstream rewritten;
  if (!again || !io::write_plan(rewritten, again.value()) || rewritten.str() != written.str()) std::abort();
  replay(read.value());
}

/// Takes values from bytes; zeros after their end.
class byte_source {
 public:
  explicit byte_source(std::string_view bytes) : bytes_(bytes) {}
  [[nodiscard]] unsigned byte() {
    if (bytes_.empty()) return 0;
    const auto value = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  [[nodiscard]] unsigned below(unsigned n) { return byte() % n; }
  /// Small, as in a plan, but for bytes from 248 on, which stand for what no plan may hold.
  [[nodiscard]] std::int64_t number() {
    constexpr std::array<std::int64_t, 8> odd{-1, -2, std::int64_t{1} << 31, std::int64_t{1} << 32, std::int64_t{1} << 62,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min(), -(std::int64_t{1} << 62)};
    const unsigned b = byte();
    return b < 248 ? b : odd[b - 248];
  }
  [[nodiscard]] std::uint32_t id() { return static_cast<std::uint32_t>(number()); }

 private:
  std::string_view bytes_;
};

/// A plan that is no file's: the hash protects those that are, so that few bytes reach what is behind it.
inline void plan_bytes(std::string_view bytes) {
  byte_source from(bytes);
  plan p;
  p.shape.stages = static_cast<int>(from.below(4));
  p.shape.replicas = static_cast<int>(from.below(4));
  p.shape.chunks = static_cast<int>(from.below(4));
  p.shape.quantum = {from.number()};
  for (unsigned n = from.below(6); n > 0; --n) p.lengths.push_back({from.number()});
  for (unsigned n = from.below(5); n > 0; --n) {
    replica_plan& r = p.replicas.emplace_back();
    for (unsigned k = from.below(6); k > 0; --k) r.sequences.push_back({from.id()});
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward})
      for (unsigned k = from.below(8); k > 0; --k) {
        for (unsigned j = from.below(5); j > 0; --j) {
          const std::uint32_t sequence = from.id();
          const std::int64_t begin = from.number();
          packs->append({{sequence}, {begin}, {from.number()}});
        }
        packs->close();
      }
    for (unsigned k = from.below(8); k > 0; --k) r.weight.apart.push_back(static_cast<std::uint8_t>(from.below(2)));
    for (unsigned k = from.below(5); k > 0; --k) {
      program& code = r.programs.emplace_back();
      for (unsigned j = from.below(32); j > 0; --j) {
        const unsigned kind = from.below(4);
        const std::uint32_t pack = from.id();
        code.push_back({kind % 2 == 0 ? pass::forward : pass::backward, {pack}, from.id(), kind > 1});
      }
    }
  }
  for (unsigned n = from.below(3); n > 0; --n) {
    merge& m = p.merges.emplace_back();
    m.sequence = {from.id()};
    for (unsigned k = from.below(4); k > 0; --k) m.replicas.push_back(from.id());
    for (auto* const rows : {&m.forward, &m.backward})
      for (unsigned k = from.below(4); k > 0; --k) {
        rows->emplace_back();
        for (unsigned j = from.below(4); j > 0; --j) rows->back().push_back({from.id()});
      }
  }
  replay(p);
}

struct target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};

inline constexpr std::array<target, 11> targets{{{"lengths", lengths},
                                                 {"jsonl", jsonl},
                                                 {"idx", idx},
                                                 {"text_lengths", text_lengths},
                                                 {"model_config", model_config},
                                                 {"gpu", gpu},
                                                 {"saved_tensors", saved_tensors},
                                                 {"profile", profile},
                                                 {"stage_profile", stage_profile},
                                                 {"plan_file", plan_file},
                                                 {"plan_bytes", plan_bytes}}};

/// The target of that name; null where there is none.
[[nodiscard]] inline const target* target_of(std::string_view name) {
  for (const target& t : targets)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace slimpack::fuzz

#endif
