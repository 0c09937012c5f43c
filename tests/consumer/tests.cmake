# The ways in which others use slimpack, each tried from scratch: installed and found by CMake or by pkg-config, as a
# folder of their own tree, and as nothing but a path for the compiler. They differ in paths and flags alone, for which a
# program does that reaches every library and plans nothing; full runs compile all headers and the default planner in each,
# and in two files of one program.

set(scratch ${CMAKE_CURRENT_BINARY_DIR}/consumer)
set(consumer ${CMAKE_CURRENT_SOURCE_DIR}/consumer)
set(consumer_compiler ${CMAKE_CXX_COMPILER})
if(DEFINED ENV{SLIMPACK_FULL})
  set(program consumer)
  set(program_sources "${consumer}/main.cpp ${consumer}/second.cpp")
else()
  set(program consumer-paths)
  set(program_sources ${consumer}/paths.cpp)
  set(compiled_from -D COMPILED_FROM=small.cpp)
  if(SLIMPACK_CLANG)  # takes half of g++'s time
    set(consumer_compiler ${SLIMPACK_CLANG})
  endif()
endif()

# Builds a target of the consumer, and runs programs of it one after the other. A folder is of one compiler: CMake forgets what
# else it was told where that changes.
cmake_path(GET consumer_compiler FILENAME compiler_name)
function(slimpack_add_consumer name target programs)
  add_test(NAME consumer.${name}
           COMMAND ${CMAKE_CTEST_COMMAND} --build-and-test ${consumer} ${scratch}/${compiler_name}/${name}
                   --build-generator ${CMAKE_GENERATOR} --build-target ${target}
                   --build-options -D CMAKE_CXX_COMPILER=${consumer_compiler} ${ARGN}
                   --test-command sh -c "for program in ${programs}; do ./$program || exit 1; done")
endfunction()

add_test(NAME consumer.install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${scratch}/installed)
set_tests_properties(consumer.install PROPERTIES FIXTURES_SETUP slimpack_installed)

if(DEFINED ENV{SLIMPACK_FULL})
  slimpack_add_consumer(find_package consumer consumer -D CMAKE_PREFIX_PATH=${scratch}/installed)
  slimpack_add_consumer(compiled_like trainer-like trainer-like -D CMAKE_PREFIX_PATH=${scratch}/installed)
  set_tests_properties(consumer.find_package consumer.compiled_like PROPERTIES
    FIXTURES_REQUIRED slimpack_installed COST 30)
endif()
slimpack_add_consumer(add_subdirectory ${program} ${program} -D SLIMPACK_SOURCE_DIR=${PROJECT_SOURCE_DIR})

# Headers alone, and all components in one program each. That of libtorch takes the compiler 15 s.
set(components)  # with commas between them, which functions take for one argument
set(programs "consumer-paths trainer")
foreach(component io milp torch)
  if(TARGET slimpack::${component})
    string(APPEND components "${component},")
    string(APPEND programs " consumer-${component}")
  endif()
endforeach()
slimpack_add_consumer(find_package_components consumer-components "${programs}"
                      -D CMAKE_PREFIX_PATH=${scratch}/installed -D "EXPECTED=${components}" ${compiled_from})
set_tests_properties(consumer.find_package_components PROPERTIES FIXTURES_REQUIRED slimpack_installed COST 30)
if(DEFINED ENV{SLIMPACK_FULL} AND TARGET slimpack::io)
  slimpack_add_consumer(add_subdirectory_io consumer-components "trainer consumer-io"
                        -D SLIMPACK_SOURCE_DIR=${PROJECT_SOURCE_DIR} -D EXPECTED=io)
endif()
if(DEFINED ENV{SLIMPACK_FULL} AND TARGET slimpack::torch)
  slimpack_add_consumer(add_subdirectory_torch consumer-torch consumer-torch
                        -D SLIMPACK_SOURCE_DIR=${PROJECT_SOURCE_DIR} -D EXPECTED=torch)
endif()

add_test(NAME consumer.include_path
         COMMAND sh -c "${CMAKE_CXX_COMPILER} -std=c++20 -D SLIMPACK_WITHOUT_EIGEN -I ${PROJECT_SOURCE_DIR}/include ${program_sources} -o by_path && \
./by_path")

find_program(PKG_CONFIG_PROGRAM pkg-config)
mark_as_advanced(PKG_CONFIG_PROGRAM)
if(PKG_CONFIG_PROGRAM)
  add_test(NAME consumer.pkg_config
           COMMAND sh -c "flags=$(${PKG_CONFIG_PROGRAM} --cflags slimpack) && \
${CMAKE_CXX_COMPILER} -std=c++20 $flags ${program_sources} -o by_pkg_config && ./by_pkg_config")
  set_tests_properties(consumer.pkg_config PROPERTIES
    FIXTURES_REQUIRED slimpack_installed
    ENVIRONMENT PKG_CONFIG_PATH=${scratch}/installed/share/pkgconfig)
endif()
