#include "shipped.hpp"

#include "texts.hpp"

#include <slimpack/io/model_config.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <system_error>
#include <utility>

namespace cli {
namespace {

std::filesystem::path folder_of(shipped kind) { return shipped_data() / (kind == shipped::models ? "models" : "gpus"); }

bool same_but_for_case(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::filesystem::path shipped_data() {
  static const std::filesystem::path found = [] {
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    if (!program.empty())
      for (const std::filesystem::path& folder : {program / "data", program.parent_path() / "share" / "slimpack"})
        if (std::filesystem::is_directory(folder / "profiles", failed)) return folder;
    return std::filesystem::path(SLIMPACK_PLAN_DATA);
  }();
  return found;
}

std::vector<std::string> names_of(shipped kind) {
  std::vector<std::string> names;
  std::error_code failed;  // without the folder there are no names
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(kind), failed))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::filesystem::path> file_of(shipped kind, const std::string& name) {
  for (const std::string& known : names_of(kind))
    if (same_but_for_case(known, name)) return folder_of(kind) / (known + ".json");
  return std::nullopt;
}

slimpack::result<std::string> list_of_models() {
  std::vector<std::vector<std::string>> table{
      {"model", "layers", "width", "heads", "key heads", "experts", "vocabulary"}};
  for (const std::string& name : names_of(shipped::models)) {
    slimpack::result<slimpack::costs::model_shape> read = slimpack::io::read_model(*file_of(shipped::models, name));
    if (!read) return std::move(read).error();
    const slimpack::costs::model_shape& m = read.value();
    table.push_back({name, std::to_string(m.layers), std::to_string(m.hidden), std::to_string(m.heads),
                     std::to_string(m.kv_heads), m.experts > 0 ? std::to_string(m.experts) : "-",
                     std::to_string(m.vocabulary)});
  }
  std::ostringstream text;
  print_table(text, table);
  return text.str();
}

}  // namespace cli
