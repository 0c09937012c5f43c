#include <slimpack/simulators/reduction_stream.hpp>
