# What is installed names no folder: two copies of the sources, each in a place of its own, with its own dependencies
# and prefix, install the same bytes, which are also those of TREE. No text is searched for the name of a folder, since
# a clone may lie in one whose name stands there anyway, such as /fovea or /usr.
#
#   cmake -DROOT=DIR -DTREE=DIR -DWORK=DIR -DCXX=c++ [-DLEAK=variable] -P places.cmake
#
# With LEAK the file for pkg-config is made to name the folder in this variable of CMake's, which must be found.
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}")

function(install_from place prefix)
    set(sources "${WORK}/${place}/sources")
    foreach(part IN ITEMS CMakeLists.txt CHANGELOG.md LICENSE cmake include packaging src)
        file(COPY "${ROOT}/${part}" DESTINATION "${sources}")
    endforeach()
    if(LEAK)
        file(APPEND "${sources}/cmake/fovea.pc.in" "# @${LEAK}@\n")
    endif()
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S "${sources}" -B "${WORK}/${place}/build" -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
                -DFOVEA_BUILD_TESTS=OFF -DFOVEA_BUILD_EXAMPLES=OFF -DFOVEA_BUILD_BENCHMARKS=OFF
                "-DFOVEA_XSIMD_INCLUDE_DIR=${WORK}/${place}/xsimd" "-DFOVEA_HANA_INCLUDE_DIR=${WORK}/${place}/hana"
                "-DCMAKE_INSTALL_PREFIX=${prefix}"
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
    set(ENV{DESTDIR} "${WORK}/${place}/stage")
    execute_process(
        COMMAND ${CMAKE_COMMAND} --install "${WORK}/${place}/build" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
endfunction()

set(mistakes 0)
function(require_same one other)
    file(GLOB_RECURSE files RELATIVE "${one}" "${one}/*")
    file(GLOB_RECURSE others RELATIVE "${other}" "${other}/*")
    list(LENGTH files count)
    if(count LESS 250 OR NOT files STREQUAL others)
        message(FATAL_ERROR "${one} has ${count} files:\n${files}\nand ${other}\n${others}")
    endif()
    foreach(file IN LISTS files)
        file(SHA256 "${one}/${file}" hash)
        file(SHA256 "${other}/${file}" other_hash)
        if(NOT hash STREQUAL other_hash)
            message(NOTICE "${file} depends on where it was made")
            math(EXPR mistakes "${mistakes} + 1")
        endif()
    endforeach()
    message(NOTICE "${count} files, ${mistakes} mistakes")
    set(mistakes ${mistakes} PARENT_SCOPE)
endfunction()

install_from("here" "/usr")
install_from("else where (c++)" "/opt/fo vea")
require_same("${WORK}/here/stage/usr" "${WORK}/else where (c++)/stage/opt/fo vea")
if(NOT LEAK)
    require_same("${WORK}/here/stage/usr" "${TREE}")
endif()
if(mistakes GREATER 0)
    message(FATAL_ERROR "${mistakes} mistakes")
endif()
