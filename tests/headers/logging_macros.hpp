#ifndef SLIMPACK_TESTS_HEADERS_LOGGING_MACROS_HPP
#define SLIMPACK_TESTS_HEADERS_LOGGING_MACROS_HPP

// glog's macros, from glog itself where it is there; or, as SLIMPACK_STAND_IN asks, others of the same names that do
// not compile wherever they are expanded.
#if __has_include(<glog/logging.h>) && !defined(SLIMPACK_STAND_IN)
#include <glog/logging.h>
#ifndef CHECK_EQ
#error "glog no longer defines what this test is about"
#endif
#else
#define CHECK(condition) a macro of another library
#define CHECK_EQ(a, b) a macro of another library
#define CHECK_NE(a, b) a macro of another library
#define CHECK_LE(a, b) a macro of another library
#define CHECK_LT(a, b) a macro of another library
#define CHECK_GE(a, b) a macro of another library
#define CHECK_GT(a, b) a macro of another library
#define CHECK_NOTNULL(pointer) a macro of another library
#define DCHECK(condition) a macro of another library
#define DCHECK_EQ(a, b) a macro of another library
#define LOG(severity) a macro of another library
#define LOG_IF(severity, condition) a macro of another library
#define DLOG(severity) a macro of another library
#define VLOG(level) a macro of another library
#define PLOG(severity) a macro of another library
#define COMPACT_GOOGLE_LOG_INFO a macro of another library
#endif

#endif
