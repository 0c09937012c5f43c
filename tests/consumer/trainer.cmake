find_package(slimpack REQUIRED COMPONENTS compiled)         # or add_subdirectory(slimpack), or plain -I slimpack/include
target_link_libraries(trainer PRIVATE slimpack::compiled)   # or slimpack::slimpack: headers alone, slower to compile
