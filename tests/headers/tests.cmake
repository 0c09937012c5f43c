# What including slimpack asks of a trainer's other headers and flags: nothing.

set(headers ${CMAKE_CURRENT_SOURCE_DIR}/headers)

set(step_compiler ${CMAKE_CXX_COMPILER})
function(slimpack_add_step name)
  add_test(NAME headers.${name}
           COMMAND ${CMAKE_COMMAND} -D COMPILER=${step_compiler} -D NM=${CMAKE_NM} -D "INCLUDE_DIRS=${include_dirs}"
                   -D "FLAGS=${ARGN}" -D SOURCE=${headers}/runs_a_step.cpp
                   -D PROGRAM=${CMAKE_CURRENT_BINARY_DIR}/step_${name}
                   -P ${headers}/runs.cmake)
endfunction()

# Macros of others do their harm while a file is parsed: clang++ does that below, with exceptions, and the step without them.
set(every_step -fsyntax-only)
if(DEFINED ENV{SLIMPACK_FULL})
  set(default_planner -DSLIMPACK_DEFAULT_PLANNER)
  set(every_step ${default_planner})
  slimpack_add_step(logging_after -DSLIMPACK_LOGGING_AFTER ${every_step})
else()
  set(declared -DSLIMPACK_SEPARATE_COMPILATION)
  set(logging -DSLIMPACK_LOGGING_BEFORE)
endif()
if(DEFINED ENV{SLIMPACK_FULL} OR NOT SLIMPACK_CLANG)
  slimpack_add_step(logging_before -DSLIMPACK_LOGGING_BEFORE ${every_step})
endif()
find_path(GLOG_INCLUDE_DIR glog/logging.h)
mark_as_advanced(GLOG_INCLUDE_DIR)
if(GLOG_INCLUDE_DIR)  # without it the stand-in was tried just now
  slimpack_add_step(other_logging_before -DSLIMPACK_LOGGING_BEFORE -DSLIMPACK_STAND_IN ${every_step})
endif()
if(SLIMPACK_CLANG AND NOT DEFINED ENV{SLIMPACK_FULL})  # takes half of g++'s time
  set(step_compiler ${SLIMPACK_CLANG})
endif()
slimpack_add_step(no_exceptions -fno-exceptions -DSLIMPACK_LOGGING_BEFORE -DSLIMPACK_EVERY_HEADER ${default_planner})
add_test(NAME headers.clang
         COMMAND ${CMAKE_COMMAND} -D "CLANG=$<$<BOOL:${SLIMPACK_CLANG}>:${SLIMPACK_CLANG}>" -D "INCLUDE_DIRS=${include_dirs}"
                 -D "SOURCES=${headers}/runs_a_step.cpp"
                 -D "EXAMPLES=${PROJECT_SOURCE_DIR}/examples/adopt_tensor.cpp;${PROJECT_SOURCE_DIR}/examples/write_transport.cpp"
                 -D "FLAGS=${declared}" -D "SOURCE_FLAGS=${logging}" -P ${headers}/clang.cmake)
set_tests_properties(headers.clang PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: " TIMEOUT 300)

add_test(NAME headers.macros
         COMMAND ${CMAKE_COMMAND} -D INCLUDE=${PROJECT_SOURCE_DIR}/include -P ${headers}/macros.cmake)
add_test(NAME headers.reach
         COMMAND ${CMAKE_COMMAND} -D COMPILER=${CMAKE_CXX_COMPILER} -D "INCLUDE_DIRS=${include_dirs}"
                 -D INCLUDE=${PROJECT_SOURCE_DIR}/include
                 -D SCRATCH=${CMAKE_CURRENT_BINARY_DIR}/reach -P ${headers}/reach.cmake)

# Every public header has a test that fails when its body is emptied: others of them after most changes, or all under --full.
if(Python3_FOUND AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(device_headers ${CUDAToolkit_INCLUDE_DIRS})
  if(SLIMPACK_NCCL_HEADERS)
    list(APPEND device_headers ${SLIMPACK_NCCL_HEADERS})
  endif()
  set(library_headers ${device_headers} ${TORCH_INCLUDE_DIRS})
  list(TRANSFORM library_headers PREPEND -I)
  add_test(NAME headers.emptied
           COMMAND Python3::Interpreter ${headers}/emptied.py --sample 3 --compiler ${CMAKE_CXX_COMPILER} ${library_headers})
  set_tests_properties(headers.emptied PROPERTIES TIMEOUT 3600)
endif()

# A new kind of instruction is a change of few files.
if(Python3_FOUND AND CMAKE_BUILD_TYPE STREQUAL "Release")
  add_test(NAME headers.new_kind
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/../new_kind/new_kind.py --compiler ${CMAKE_CXX_COMPILER})
  set_tests_properties(headers.new_kind PROPERTIES TIMEOUT 600)
endif()
