#include <slimpack/executors/message_format.hpp>
