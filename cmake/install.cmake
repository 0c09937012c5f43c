include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/slimpack)
configure_package_config_file(cmake/slimpack-config.cmake.in slimpack-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(slimpack-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
configure_file(cmake/slimpack.pc.in slimpack.pc @ONLY)

install(TARGETS slimpack EXPORT slimpack-targets FILE_SET HEADERS FILE_SET detail FILE_SET cuda FILE_SET definitions)
install(EXPORT slimpack-targets NAMESPACE slimpack:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/slimpack-config.cmake ${PROJECT_BINARY_DIR}/slimpack-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/slimpack-compiled.cmake
        DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/slimpack.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(TARGET slimpack_io)
  install(TARGETS slimpack_io EXPORT slimpack-io-targets FILE_SET HEADERS COMPONENT io FILE_SET detail COMPONENT io)
  install(EXPORT slimpack-io-targets NAMESPACE slimpack:: DESTINATION ${package_dir} COMPONENT io)
endif()

if(TARGET slimpack_mpi)
  install(TARGETS slimpack_mpi EXPORT slimpack-mpi-targets FILE_SET HEADERS COMPONENT mpi FILE_SET detail COMPONENT mpi)
  install(EXPORT slimpack-mpi-targets NAMESPACE slimpack:: DESTINATION ${package_dir} COMPONENT mpi)
endif()

if(TARGET slimpack_milp)
  install(TARGETS slimpack_milp EXPORT slimpack-milp-targets
          FILE_SET HEADERS COMPONENT milp FILE_SET detail COMPONENT milp)
  install(EXPORT slimpack-milp-targets NAMESPACE slimpack:: DESTINATION ${package_dir} COMPONENT milp)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindCBC.cmake DESTINATION ${package_dir} COMPONENT milp)
endif()

if(TARGET slimpack_torch)
  install(TARGETS slimpack_torch EXPORT slimpack-torch-targets
          FILE_SET HEADERS COMPONENT torch FILE_SET detail COMPONENT torch)
  install(EXPORT slimpack-torch-targets NAMESPACE slimpack:: DESTINATION ${package_dir} COMPONENT torch)
endif()
