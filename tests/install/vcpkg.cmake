# Runs the port of vcpkg with stand-ins for the functions of vcpkg that it calls, and finds what it has installed. vcpkg
# itself, and its ports of xsimd and Boost.Hana, are not part of this.
#
#   cmake -DROOT=DIR -DWORK=DIR -DCXX=c++ -P vcpkg.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
set(PORT fovea)
set(CURRENT_PORT_DIR ${ROOT}/packaging/vcpkg/fovea)
set(CURRENT_PACKAGES_DIR ${WORK}/packages)

function(run)
    execute_process(COMMAND ${ARGN} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 the "" SOURCE_PATH OPTIONS)
    run(${CMAKE_COMMAND} -S ${the_SOURCE_PATH} -B ${WORK}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX} ${the_OPTIONS})
endfunction()
function(vcpkg_cmake_install)
    run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${CURRENT_PACKAGES_DIR})
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 the "" "" FILE_LIST)
    file(INSTALL ${the_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${PORT} RENAME copyright)
endfunction()
include(${CURRENT_PORT_DIR}/portfile.cmake)

# vcpkg wants a port's files for CMake in share/PORT, and nothing in lib or debug.
file(GLOB top RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/*)
file(GLOB shared RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/share/*)
if(NOT top STREQUAL "include;share" OR NOT shared STREQUAL "share/fovea;share/pkgconfig")
    message(FATAL_ERROR "the port installs ${top} and ${shared}")
endif()
foreach(file IN ITEMS copyright usage fovea-config.cmake)
    if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/share/fovea/${file})
        message(FATAL_ERROR "the port installs no ${file}")
    endif()
endforeach()

file(WRITE ${WORK}/kernels.hpp "#include <fovea/fovea.hpp>\n")
file(WRITE ${WORK}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES CXX)
find_package(fovea CONFIG REQUIRED)
fovea_add_kernels(TARGET kernels SPECS kernels.hpp KERNELS \"sdpa=scaled_dot | softmax | weighted_sum\" TYPES f32
    ARCHS sse2 neon64)
add_executable(user user.cpp)\ntarget_link_libraries(user PRIVATE fovea::compiled)\n")
file(WRITE ${WORK}/user.cpp "int main() {}\n")
run(${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/user -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR} -DFOVEA_QUIET=ON)
