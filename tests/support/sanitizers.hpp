#ifndef SLIMPACK_TESTS_SUPPORT_SANITIZERS_HPP
#define SLIMPACK_TESTS_SUPPORT_SANITIZERS_HPP

// Which sanitizer this is compiled for: g++ and clang++ say so in different ways.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLIMPACK_TESTS_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define SLIMPACK_TESTS_THREAD_SANITIZER
#endif
#else
#ifdef __SANITIZE_ADDRESS__
#define SLIMPACK_TESTS_ADDRESS_SANITIZER
#endif
#ifdef __SANITIZE_THREAD__
#define SLIMPACK_TESTS_THREAD_SANITIZER
#endif
#endif

#endif
