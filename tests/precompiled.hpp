// Heavy headers that the tests share, compiled once per build. Headers of slimpack stay out, since they change; a test
// still includes what it uses.
#include <Eigen/Dense>
#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/graph/dag_shortest_paths.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/outcome/basic_result.hpp>
#include <gtest/gtest.h>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
