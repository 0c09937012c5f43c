#include <slimpack/solvers/size_ratios.hpp>
namespace slimpack::solvers {
using pack_sizes = size_ratios;
}
