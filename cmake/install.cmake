# `cmake --install`: the headers, and packages that find_package(fovea) and pkg-config understand. What is installed names
# no folder of this machine and can be moved as a whole.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(FOVEA_CMAKE_DIR ${CMAKE_INSTALL_DATADIR}/cmake/fovea CACHE STRING "Where the CMake package is installed")
mark_as_advanced(FOVEA_CMAKE_DIR)
set(package_dir ${FOVEA_CMAKE_DIR})
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)

install(DIRECTORY include/fovea DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.h")
install(TARGETS fovea EXPORT fovea INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT fovea NAMESPACE fovea:: FILE fovea-targets.cmake DESTINATION ${package_dir})

write_basic_package_version_file(fovea-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
    FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea-config-version.cmake cmake/fovea-config.cmake cmake/build_note.cmake
          cmake/compiled.cmake cmake/host_headers.cmake cmake/kernels.cmake cmake/mpi.cmake src/compiled.cpp
    DESTINATION ${package_dir}
)
install(DIRECTORY src/bindings DESTINATION ${package_dir})

# The Python package, `cmake --install BUILD --component python`: a folder for PYTHONPATH, from which pip installs too.
set(FOVEA_PYTHON_DIR ${CMAKE_INSTALL_DATADIR}/fovea/python CACHE STRING "Where the component python is installed")
mark_as_advanced(FOVEA_PYTHON_DIR)
install(FILES python/pyproject.toml python/README.md DESTINATION ${FOVEA_PYTHON_DIR} COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY python/fovea DESTINATION ${FOVEA_PYTHON_DIR} COMPONENT python EXCLUDE_FROM_ALL
        PATTERN "__pycache__" EXCLUDE)

file(RELATIVE_PATH up /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" up ${up})
configure_file(cmake/fovea.pc.in fovea.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/fovea.pc DESTINATION ${pkgconfig_dir})
