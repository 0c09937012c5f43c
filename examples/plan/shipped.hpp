#ifndef SLIMPACK_EXAMPLES_PLAN_SHIPPED_HPP
#define SLIMPACK_EXAMPLES_PLAN_SHIPPED_HPP

#include <slimpack/core/error.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cli {

/// Kinds of files that come with slimpack, each in a folder of its own, and what options take them.
enum class shipped { models, gpus };

/// The folder of shipped files: data beside the program, or share/slimpack where the program is in a bin, or that of
/// the project that it was built from; the first that is there.
std::filesystem::path shipped_data();

/// Their names, in order.
std::vector<std::string> names_of(shipped kind);

/// The file of a name, whatever the case of its letters; none where there is no such name.
std::optional<std::filesystem::path> file_of(shipped kind, const std::string& name);

/// A table of the models, for --list-models.
/// Errors    those of their files
slimpack::result<std::string> list_of_models();

}  // namespace cli

#endif
