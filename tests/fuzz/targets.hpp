#ifndef SLIMPACK_TESTS_FUZZ_TARGETS_HPP
#define SLIMPACK_TESTS_FUZZ_TARGETS_HPP

#include <slimpack/core/plan.hpp>
#include <slimpack/costs/model/gpus.hpp>
#include <slimpack/executors/detail/greeting.hpp>
#include <slimpack/executors/detail/script/fitted_script.hpp>
#include <slimpack/executors/detail/stage_script.hpp>
#include <slimpack/executors/piece.hpp>
#include <slimpack/forests/from_tokens.hpp>
#include <slimpack/io/forests/token_lines.hpp>
#include <slimpack/io/forests/tree_lines.hpp>
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

#include <boost/container/small_vector.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// What is fuzzed: every reader of files, the executor's look at a plan, and at what other ranks say of theirs. Each
/// target takes any bytes, and may answer or refuse; it may not crash, overrun, overflow, or take memory or time beyond
/// what so few bytes can ask for.
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
  std::filesystem::path path_ = (std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm")
                                                                           : std::filesystem::temp_directory_path()) /
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

/// Lengths with their rows, which rise; what is said of a file does not grow with it.
inline void plausible(const result<io::lengths_list>& list) {
  answered(list);
  if (!list) {
    if (list.error().detail.size() > 4096) std::abort();
    return;
  }
  plausible(result<std::vector<tokens>>(list.value().lengths));
  const std::vector<std::uint64_t>& rows = list.value().rows;
  if (rows.size() != list.value().lengths.size()) std::abort();
  if (std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) != rows.end()) std::abort();
}

inline void lengths_as(std::string_view bytes, io::lengths_format format) {
  const input_file file(bytes);
  for (const char* const field : {"", "a+b.c"}) plausible(io::read_lengths_list(file.path(), {format, field}));
}

/// Of a list with empty sequences left out the simple reader says nothing; otherwise it says the same.
inline void lengths(std::string_view bytes) {
  lengths_as(bytes, io::lengths_format::automatic);
  lengths_as(bytes, io::lengths_format::cu_seqlens);
  const input_file file(bytes);
  const result<std::vector<tokens>> simple = io::read_lengths(file.path());
  const result<io::lengths_list> list = io::read_lengths_list(file.path());
  plausible(simple);
  if (simple && (!list || list.value().lengths != simple.value())) std::abort();
}
inline void jsonl(std::string_view bytes) { lengths_as(bytes, io::lengths_format::jsonl); }
inline void idx(std::string_view bytes) { lengths_as(bytes, io::lengths_format::idx); }
inline void text_lengths(std::string_view bytes) { plausible(io::read_text_lengths(input_file(bytes).path())); }

/// The forest of a tree; one that is read has no fault, and a row for each sequence.
inline void tree_lines(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const result<io::forest_list> read = io::read_tree_lines(in, "trees");
  answered(read);
  if (read && (batch_view(read.value().all).fault() || read.value().rows.size() != read.value().all.lengths.size()))
    std::abort();
}

/// Samples with token ids, and the forests of them.
inline void token_lines(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const result<io::token_list> read = io::read_token_lines(in, "samples");
  answered(read);
  if (!read) return;
  const io::token_list& list = read.value();
  plausible(result<io::lengths_list>(list.list));
  std::vector<forests::token_sample> samples;
  for (std::size_t i = 0; i < list.ids.size(); ++i) samples.push_back({list.ids[i], list.targets[i]});
  for (const tokens least : {tokens{1}, tokens{8}}) {
    const result<forests::token_forest> made = forests::from_tokens(samples, least);
    answered(made);
    if (made && batch_view(made.value().all).fault()) std::abort();
  }
}

inline void model_config(std::string_view bytes) { answered(io::read_model(input_file(bytes).path())); }
inline void gpu(std::string_view bytes) { answered(io::read_gpu(input_file(bytes).path())); }
inline void saved_tensors(std::string_view bytes) { answered(io::read_saved_tensors(input_file(bytes).path())); }

/// Tables of every kind: their columns tell which. What was read is compared with a GPU's peaks, as the command line
/// does.
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

/// A script that is read is asked what a step asks it: whom each instruction hears and tells, and when gradients are
/// final.
inline void followed(const result<detail::stage_script>& script) {
  answered(script);
  if (!script) return;
  const detail::stage_script& s = script.value();
  for (const instruction& i : s.code)
    for (const auto& ends : {s.sources(i), s.targets(i)})
      for (const detail::message_end& end : ends)
        if (end.rank < 0 || end.rank >= s.on.stages * s.on.replicas) std::abort();
  if (!s.code.empty() && s.transfers.ends(s.code.size()).back().after != s.transfers.steps.size()) std::abort();
  (void)s.gradients_final();
}

/// Looks at a plan as every rank of it does before it runs, and as ranks that it has not.
inline void replay(const plan& p) {
  const std::int64_t ranks = std::int64_t{p.shape.stages} * p.shape.replicas;
  for (const backward_cuts cuts : {backward_cuts::any, backward_cuts::forward_cuts}) {
    for (int rank = -1; rank <= std::clamp<std::int64_t>(ranks, -1, 16); ++rank)
      followed(detail::stage_script::of(p, rank, cuts, exchange_set::all()));
    answered(detail::stage_script::of(p, std::numeric_limits<int>::max(), cuts, exchange_set::all()));
  }
  const bool spread = p.shape.vocabulary == vocabulary::spread;
  const detail::stage_abilities able{
      .rank = 0,
      .ranks = static_cast<int>(std::clamp<std::int64_t>(ranks, 0, std::numeric_limits<int>::max())),
      .chunks = p.shape.chunks,
      .format = {1, element_type::float32},
      .vocabulary = {{spread ? 5 : 0, element_type::float32}, {spread ? 1 : 0, element_type::float32}},
      .spreads_vocabulary = spread,
      .splits_weight_gradients = true,
      .cuts = backward_cuts::any,
      .shares = exchange_set::all()};
  for (const bool forward_only : {false, true}) answered(detail::fitted_script(p, nullptr, able, forward_only));
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
    constexpr std::array<std::int64_t, 8> odd{-1,
                                              -2,
                                              std::int64_t{1} << 31,
                                              std::int64_t{1} << 32,
                                              std::int64_t{1} << 62,
                                              std::numeric_limits<std::int64_t>::max(),
                                              std::numeric_limits<std::int64_t>::min(),
                                              -(std::int64_t{1} << 62)};
    const unsigned b = byte();
    return b < 248 ? b : odd[b - 248];
  }
  [[nodiscard]] std::uint32_t id() { return static_cast<std::uint32_t>(number()); }
  [[nodiscard]] slice any_slice() {
    const std::uint32_t sequence = id();
    const std::int64_t begin = number();
    return {{sequence}, {begin}, {number()}};
  }
  [[nodiscard]] instruction any_instruction() {
    const auto kind = static_cast<instruction_kind>(below(instruction_kinds.size()));
    const std::uint32_t pack = id();
    const std::uint32_t chunk = id();
    return {kind, {pack}, chunk};
  }

 private:
  std::string_view bytes_;
};

/// A plan that is no file's: the hash protects those that are, so that few bytes reach what is behind it.
inline void plan_bytes(std::string_view bytes) {
  byte_source from(bytes);
  plan p;
  p.shape.stages = static_cast<int>(from.below(4));
  p.shape.replicas = static_cast<int>(from.below(5));  // a relay takes four
  p.shape.chunks = static_cast<int>(from.below(4));
  p.shape.quantum = {from.number()};
  for (unsigned n = from.below(6); n > 0; --n) p.lengths.push_back({from.number()});
  for (unsigned n = from.below(5); n > 0; --n) {
    replica_plan& r = p.replicas.emplace_back();
    for (unsigned k = from.below(6); k > 0; --k) r.sequences.push_back({from.id()});
    for (micropacks* packs : {&r.partition.forward, &r.partition.backward})
      for (unsigned k = from.below(8); k > 0; --k) {
        for (unsigned j = from.below(5); j > 0; --j) packs->append(from.any_slice());
        packs->close();
      }
    for (unsigned k = from.below(8); k > 0; --k)
      r.times.apart.flags.push_back(static_cast<std::uint8_t>(from.below(2)));
    for (unsigned k = from.below(5); k > 0; --k) {
      program& code = r.programs.emplace_back();
      for (unsigned j = from.below(32); j > 0; --j) code.push_back(from.any_instruction());
    }
  }
  for (unsigned n = from.below(3); n > 0; --n) {
    merge& m = p.merges.emplace_back();
    m.sequence = {from.id()};
    for (unsigned k = from.below(5); k > 0; --k) m.replicas.push_back(from.id());
    for (auto* const rows : {&m.forward, &m.backward})
      for (unsigned k = from.below(4); k > 0; --k) {
        rows->emplace_back();
        for (unsigned j = from.below(5); j > 0; --j) rows->back().push_back({from.id()});
      }
  }
  // What few plans have comes last, so that bytes that end before make a plan without.
  p.shape.vocabulary = from.below(2) == 0 ? vocabulary::last : vocabulary::spread;
  for (merge& m : p.merges) {
    m.exchange = std::array{exchange::keep, exchange::queries, exchange::ring}[from.below(3)];
    for (unsigned n = from.below(4); n > 0; --n) {
      relay& r = m.relays.emplace_back();
      for (auto* const side : {&r.out, &r.in})
        for (unsigned k = from.below(4); k > 0; --k) side->push_back(from.id());
      r.segments = from.id();
    }
  }
  for (replica_plan& r : p.replicas)
    for (unsigned n = from.below(4); n > 0; --n) {
      loan& l = r.loans.emplace_back();
      for (loan::side* const side : {&l.lender, &l.helper}) {
        side->stage = from.id();
        side->what = from.any_instruction();
      }
      l.queries = from.any_slice();
      l.context = from.any_slice();
    }
  replay(p);
}

/// Greetings of up to 16 ranks: alike, but for bytes that some of them say otherwise. Where nobody disagrees, all tell
/// of one plan, and their tokens can be summed.
inline void greetings(std::string_view bytes) {
  static_assert(std::is_trivially_copyable_v<detail::greeting>);
  byte_source from(bytes);
  const std::size_t stages = 1 + from.below(4), ranks = stages * (1 + from.below(4));
  std::vector<detail::greeting> all(ranks);
  for (detail::greeting& g : all)
    g.stages = static_cast<std::int64_t>(stages), g.replicas = static_cast<std::int64_t>(ranks / stages);
  for (unsigned n = from.byte(); n > 0; --n) {
    const unsigned rank = from.byte();  // from 128 on: of all ranks
    const std::size_t at = (256 * std::size_t{from.byte()} + from.byte()) % sizeof(detail::greeting);
    const unsigned value = from.byte();
    for (std::size_t r = 0; r < ranks; ++r)
      if (rank >= 128 || rank % ranks == r)
        std::as_writable_bytes(std::span(all)).subspan(r * sizeof(detail::greeting))[at] = std::byte(value);
  }
  const auto words = [&](std::size_t a, std::size_t b) {
    if (a >= ranks || b >= ranks) std::abort();
    return std::to_string(a) + " and " + std::to_string(b);
  };
  if (const std::optional<error> differs = detail::difference(all, stages, words)) {
    if (differs->detail.empty()) std::abort();
    return;
  }
  if (detail::batch_tokens_of(all, stages) < tokens{}) std::abort();
  for (const detail::greeting& g : all)
    if (g.division != all[0].division || g.step != all[0].step || g.width != all[0].width) std::abort();
}

struct target {
  std::string_view name;
  void (*run)(std::string_view bytes);
};

inline constexpr std::array<target, 14> targets{{{"lengths", lengths},
                                                 {"jsonl", jsonl},
                                                 {"idx", idx},
                                                 {"text_lengths", text_lengths},
                                                 {"tree_lines", tree_lines},
                                                 {"token_lines", token_lines},
                                                 {"model_config", model_config},
                                                 {"gpu", gpu},
                                                 {"saved_tensors", saved_tensors},
                                                 {"profile", profile},
                                                 {"stage_profile", stage_profile},
                                                 {"plan_file", plan_file},
                                                 {"plan_bytes", plan_bytes},
                                                 {"greetings", greetings}}};

/// The target of that name; null where there is none.
[[nodiscard]] inline const target* target_of(std::string_view name) {
  for (const target& t : targets)
    if (t.name == name) return &t;
  return nullptr;
}

}  // namespace slimpack::fuzz

#endif
