# `cmake --install`: the headers, and a package that find_package(fovea) understands.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/fovea)

install(DIRECTORY include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.h")
install(TARGETS fovea EXPORT fovea INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT fovea NAMESPACE fovea:: FILE fovea-targets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/fovea-config.cmake.in fovea-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(fovea-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
    FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/fovea-config-version.cmake
          cmake/compiled.cmake cmake/kernels.cmake src/compiled.cpp
    DESTINATION ${package_dir}
)
install(DIRECTORY src/bindings DESTINATION ${package_dir})
