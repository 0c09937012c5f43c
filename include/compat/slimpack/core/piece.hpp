#include <slimpack/executors/piece.hpp>
