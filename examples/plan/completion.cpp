#include "completion.hpp"

#include "planners.hpp"
#include "shipped.hpp"
#include "texts.hpp"
#include "trainer.hpp"

#include <map>
#include <string>
#include <vector>

namespace cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string dashed(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

/// Values that an option takes, as its check lists them, or those known by name; none where anything goes.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::map<std::string, std::vector<std::string>> named{{"--model", names_of(shipped::models)},
                                                              {"--gpu", names_of(shipped::gpus)},
                                                              {"--planner", planner_names()},
                                                              {"--compare", planner_names()},
                                                              {"--trainer", trainer_words()}};
  if (const auto found = named.find(dashed(option)); found != named.end()) return found->second;
  const std::string type = option.get_type_name();  // "FORMAT:{auto,text}"
  const std::size_t begin = type.find('{');
  if (begin == std::string::npos) return {};
  return split(type.substr(begin + 1, type.find('}') - begin - 1), ',');
}

/// Where a word is no option, readline completes names of files.
std::string for_bash(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> names;
  std::string cases;
  for (const CLI::Option* const option : options) {
    names.push_back(dashed(*option));
    if (const std::vector<std::string> values = values_of(*option); !values.empty())
      cases += "    " + names.back() + ") COMPREPLY=($(compgen -W \"" + joined(values) + "\" -- \"$word\")) ;;\n";
  }
  return "# Completion of slimpack-plan for bash; in ~/.bashrc: source <(slimpack-plan --completion bash)\n"
         "_slimpack_plan() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]}\n"
         "  COMPREPLY=()\n"
         "  case ${COMP_WORDS[COMP_CWORD-1]} in\n" +
         cases + "    *) [[ $word == -* ]] && COMPREPLY=($(compgen -W \"" + joined(names) +
         "\" -- \"$word\")) ;;\n"
         "  esac\n"
         "  [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W compare -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _slimpack_plan slimpack-plan\n";
}

/// The first line of an option's help, without what means something in a description of zsh.
std::string described(const CLI::Option& option) {
  const std::string help = option.get_description();
  std::string line;
  for (const char c : help.substr(0, help.find('\n')))
    if (c == '\'')
      line += "'\\''";
    else
      line += c == '[' || c == ']' || c == ':' ? std::string("\\") + c : std::string(1, c);
  return line;
}

std::string for_zsh(const std::vector<const CLI::Option*>& options) {
  std::string lines;
  for (const CLI::Option* const option : options) {
    lines += " \\\n    '" + dashed(*option) + "[" + described(*option) + "]";
    const std::vector<std::string> values = values_of(*option);
    const bool files_too = option->get_type_name().find("FILE") != std::string::npos;
    if (option->get_items_expected_max() > 0)
      lines += values.empty() ? ":value:_files"
               : files_too    ? ":value:{ compadd -- " + joined(values) + "; _files }"
                              : ":value:(" + joined(values) + ")";
    lines += "'";
  }
  return "#compdef slimpack-plan\n"
         "# Completion of slimpack-plan for zsh; in ~/.zshrc, after compinit: source <(slimpack-plan --completion "
         "zsh)\n"
         "_slimpack_plan() {\n"
         "  _arguments" +
         lines +
         "\n}\n"
         "compdef _slimpack_plan slimpack-plan\n";
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  const std::vector<const CLI::Option*> options = app.get_options();
  return shell == "zsh" ? for_zsh(options) : for_bash(options);
}

}  // namespace cli
