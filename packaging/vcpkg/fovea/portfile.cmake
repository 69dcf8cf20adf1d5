# The port of the tree that it lies in: vcpkg install fovea --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release) # header-only port
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DFOVEA_BUILD_TESTS=OFF
        -DFOVEA_BUILD_EXAMPLES=OFF
        -DFOVEA_BUILD_BENCHMARKS=OFF
        "-DFOVEA_CMAKE_DIR=share/${PORT}"
)
vcpkg_cmake_install()
vcpkg_fixup_pkgconfig()

file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
