#ifndef SLIMPACK_SOLVERS_BASELINES_NAMED_HPP
#define SLIMPACK_SOLVERS_BASELINES_NAMED_HPP

#include <slimpack/solvers/baselines/chunked.hpp>
#include <slimpack/solvers/baselines/context_parallel.hpp>
#include <slimpack/solvers/baselines/dp_balanced.hpp>
#include <slimpack/solvers/baselines/karmarkar_karp.hpp>
#include <slimpack/solvers/baselines/megatron.hpp>
#include <slimpack/solvers/baselines/slimpipe.hpp>
#include <slimpack/solvers/baselines/tree_micro_batches.hpp>

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace slimpack::baselines {

/// Every shipped baseline, for programs that take one by its name.
inline constexpr std::array<std::string_view, 10> names{
    "megatron", "dp_balanced", "karmarkar_karp", "chunked",  "slimpipe",
    "te_cp",    "llama_cp",    "hybrid_dp",      "zeppelin", "tree_micro_batches"};
/// Those of them whose packs slimpack's search tries, too.
inline constexpr std::span<const std::string_view> sharing_none = std::span(names).first<5>();

/// What `use` answers about the recipe of that name; nothing where no baseline has it.
/// context: tokens of a pack of those that do not cut, of a row or of a micro-batch; 0: the batch's longest sequence,
/// or path
template <class Use>
[[nodiscard]] auto with_named(std::string_view name, const shape& on, tokens context, Use&& use)
    -> std::optional<std::invoke_result_t<Use&, decltype(megatron(on))>> {
  if (name == "megatron") return use(megatron(on, context));
  if (name == "dp_balanced") return use(dp_balanced(on, context));
  if (name == "karmarkar_karp") return use(karmarkar_karp(on, context));
  if (name == "chunked") return use(chunked(on));
  if (name == "slimpipe") return use(slimpipe(on, context));
  if (name == "te_cp") return use(te_cp(on));
  if (name == "llama_cp") return use(llama_cp(on));
  if (name == "hybrid_dp") return use(hybrid_dp(on));
  if (name == "zeppelin") return use(zeppelin(on));
  if (name == "tree_micro_batches") return use(tree_micro_batches(on, context));
  return std::nullopt;
}

}  // namespace slimpack::baselines

#endif
