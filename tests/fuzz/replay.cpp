// Runs every target on its seeds, without a fuzzer: what fuzzing has found once stays mended. The argument is the
// folder of seeds, one folder a target.

#include "targets.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: %s SEEDS\n", arguments[0]), 2;
  for (const slimpack::fuzz::target& target : slimpack::fuzz::targets) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(arguments[1]) / target.name)) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      std::printf("%s\n", entry.path().c_str());
      std::fflush(stdout);  // so that a crash is told of its file
      target.run(bytes);
      target.run(std::string_view(bytes).substr(0, bytes.size() / 2));
      ++files;
    }
    if (files == 0) return std::fprintf(stderr, "%s: no seeds\n", target.name.data()), 1;
  }
}
