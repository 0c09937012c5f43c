#include <slimpack/executors/outgoing.hpp>
