#ifndef SLIMPACK_COSTS_MODEL_GPU_FAMILY_HPP
#define SLIMPACK_COSTS_MODEL_GPU_FAMILY_HPP

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slimpack::costs {

/// The words of a GPU's name that tell it from others, in small letters: "h100", "80gb", "hbm3" of
/// "NVIDIA H100 80GB HBM3". A maker and a line of products say nothing of the GPU when more follows: NVIDIA, AMD,
/// Intel, Tesla, GeForce, Quadro, RTX, Instinct, Radeon.
/// Errors    none; a name of no words has none            Complexity  O(length)
[[nodiscard]] inline std::vector<std::string> gpu_words(std::string_view name) {
  constexpr std::string_view makers[] = {"nvidia", "amd", "intel",    "tesla", "geforce",
                                         "quadro", "rtx", "instinct", "radeon"};
  std::vector<std::string> words;
  for (std::size_t at = name.find_first_not_of("-_ "); at != std::string_view::npos;) {
    const std::size_t end = std::min(name.size(), name.find_first_of("-_ ", at));
    std::string word(name.substr(at, end - at));
    for (char& c : word)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');  // whatever the locale
    if (words.size() == 1 && std::find(std::begin(makers), std::end(makers), words[0]) != std::end(makers))
      words[0] = std::move(word);
    else
      words.push_back(std::move(word));
    at = name.find_first_not_of("-_ ", end);
  }
  return words;
}

/// The first of them: "h100" of "H100-SXM5-80GB" and of "NVIDIA H100 PCIe". Measurements of one family are taken for
/// one GPU.
[[nodiscard]] inline std::string gpu_family(std::string_view name) {
  std::vector<std::string> words = gpu_words(name);
  return words.empty() ? std::string{} : std::move(words.front());
}

/// Them all, a blank between them, so that names of the same board begin alike whoever wrote them.
[[nodiscard]] inline std::string plain_gpu_name(std::string_view name) {
  std::string all;
  for (const std::string& word : gpu_words(name)) all.append(all.empty() ? "" : " ").append(word);
  return all;
}

}  // namespace slimpack::costs

#endif
