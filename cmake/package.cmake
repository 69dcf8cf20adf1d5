# `cpack`: what `cmake --install` installs as a package for Debian. It is the same for every machine.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fovea)
set(CPACK_PACKAGE_CONTACT "The fovea maintainers <fovea@localhost>" CACHE STRING "Maintainer that a package names")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_NAME libfovea-dev)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libxsimd-dev (>= 8.1), libboost-dev (>= 1.74)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12) | clang-19, cmake (>= 3.25) | pkgconf")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "composable attention for C++, fused into SIMD loops")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "fovea composes an attention mechanism from a projection, a score, a mask, a
normalizer and an aggregator, and compiles it into one SIMD loop.
.
This package has the headers, and what CMake and pkg-config need to find them."
)

# What Debian wants beside it: the licence, and two changelogs, compressed without a time.
set(documents ${CMAKE_CURRENT_BINARY_DIR}/documents)
configure_file(packaging/debian/copyright ${documents}/copyright COPYONLY)
configure_file(CHANGELOG.md changelog COPYONLY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/debian/changelog.in changelog.Debian @ONLY)
find_program(FOVEA_GZIP gzip)
mark_as_advanced(FOVEA_GZIP)
foreach(file IN ITEMS changelog changelog.Debian)
    if(FOVEA_GZIP)
        execute_process(
            COMMAND ${FOVEA_GZIP} -9nc ${CMAKE_CURRENT_BINARY_DIR}/${file} OUTPUT_FILE ${documents}/${file}.gz
            COMMAND_ERROR_IS_FATAL ANY
        )
    endif()
endforeach()
set(CPACK_INSTALLED_DIRECTORIES ${documents} /usr/share/doc/libfovea-dev)

include(CPack)
