#include <slimpack/service/deadline.hpp>
