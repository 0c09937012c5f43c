#ifndef SLIMPACK_CORE_SOUNDNESS_IMPL_IS_SOUND_IPP
#define SLIMPACK_CORE_SOUNDNESS_IMPL_IS_SOUND_IPP

#include <slimpack/core/detail/indices.hpp>
#include <slimpack/core/detail/separate_compilation.hpp>
#include <slimpack/core/soundness/detail/sound_packs.hpp>
#include <slimpack/core/soundness/detail/sound_programs.hpp>
#include <slimpack/core/soundness/is_sound.hpp>

#include <cstdint>

namespace slimpack {

SLIMPACK_DECL result<void> is_sound(const plan& p) {
  if (result<void> packs = detail::sound_packs(p, detail::extent::all); !packs) return packs;
  return detail::sound_programs(p, detail::indices<std::uint32_t>(p.replicas.size()));
}

SLIMPACK_DECL result<void> is_sound(const rank_plan& p) {
  if (result<void> packs = detail::sound_packs(p.part, detail::extent::listed); !packs) return packs;
  return detail::sound_programs(p.part, p.group);
}

}  // namespace slimpack

#endif
