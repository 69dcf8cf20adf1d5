# The version is stated by include/fovea/core/version.hpp, and what is installed agrees; packaging/release.py compares
# the files of the repository.
#
#   cmake -DROOT=DIR -DTREE=DIR -DVERSION=1.2.3 -P versions.cmake
cmake_policy(VERSION 3.25)
include(${ROOT}/cmake/version.cmake)
fovea_read_version(version ${ROOT})
if(NOT version MATCHES "^[0-9]+[.][0-9]+[.][0-9]+$")
    message(FATAL_ERROR "core/version.hpp states '${version}'")
endif()

# expect(<file> <expression>): what the first match of the expression has in parentheses is the version.
function(expect file expression)
    file(READ "${file}" text)
    if(NOT text MATCHES "${expression}")
        message(SEND_ERROR "${file} states no version")
    elseif(NOT CMAKE_MATCH_1 STREQUAL version)
        message(SEND_ERROR "${file} states ${CMAKE_MATCH_1}, and core/version.hpp ${version}")
    endif()
endfunction()

if(NOT VERSION STREQUAL version)
    message(SEND_ERROR "CMake has ${VERSION}, and core/version.hpp ${version}: configure again")
endif()
expect("${TREE}/share/pkgconfig/fovea.pc" "\nVersion: ([^\n]*)\n")
expect("${TREE}/share/cmake/fovea/fovea-config-version.cmake" "set\\(PACKAGE_VERSION \"([^\"]*)\"\\)")
message(NOTICE "version ${version}")
