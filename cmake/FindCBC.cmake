# The branch-and-cut solver of COIN-OR (Debian: coinor-libcbc-dev), which brings no CMake package: target CBC::CBC.

find_path(CBC_INCLUDE_DIR CbcModel.hpp PATH_SUFFIXES coin coin-or)
set(CBC_LIBRARIES)
set(libraries)
foreach(name Cbc Cgl OsiClp Clp Osi CoinUtils)
  find_library(CBC_${name}_LIBRARY ${name})
  mark_as_advanced(CBC_${name}_LIBRARY)
  list(APPEND libraries CBC_${name}_LIBRARY)
  list(APPEND CBC_LIBRARIES ${CBC_${name}_LIBRARY})
endforeach()
mark_as_advanced(CBC_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBC REQUIRED_VARS CBC_INCLUDE_DIR ${libraries})
if(CBC_FOUND AND NOT TARGET CBC::CBC)
  add_library(CBC::CBC INTERFACE IMPORTED)
  set_target_properties(CBC::CBC PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${CBC_INCLUDE_DIR}"
                                            INTERFACE_LINK_LIBRARIES "${CBC_LIBRARIES}")
endif()
