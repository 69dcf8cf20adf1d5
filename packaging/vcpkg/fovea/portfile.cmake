# The port of the tree that it lies in (vcpkg install fovea --overlay-ports=packaging/vcpkg) or, where ./run release has
# written archive.cmake beside it, of the archive of a version.
include("${CURRENT_PORT_DIR}/archive.cmake" OPTIONAL RESULT_VARIABLE has_archive)
if(has_archive)
    get_filename_component(file "${url}" NAME)
    vcpkg_download_distfile(archive URLS "${url}" FILENAME "${file}" SHA512 ${sha512})
    vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${archive}")
else()
    get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)
endif()

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
