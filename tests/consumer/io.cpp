// The optional component: a plan survives its file.
#include <slimpack/io/plan_json.hpp>
#include <slimpack/planner.hpp>

#include <sstream>
#include <vector>

int main() {
  const std::vector<slimpack::tokens> lengths{{4096}, {512}, {20000}, {128}};
  const slimpack::plan made = slimpack::planner{{.stages = 2}}(lengths).value();
  std::stringstream file;
  slimpack::io::write_plan(file, made).value();
  return slimpack::io::read_plan(file).value().hash == made.hash ? 0 : 1;
}
