# Makes the Debian package, and holds its files against those that are installed.
#
#   cmake -DBUILD=DIR -DTREE=DIR -DWORK=DIR -DCPACK=cpack -DDPKG_DEB=dpkg-deb -DVERSION=1.2.3 -P package.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(
    COMMAND ${CPACK} -G DEB --config ${BUILD}/CPackConfig.cmake -B ${WORK} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
)
set(package ${WORK}/libfovea-dev_${VERSION}-1_all.deb)

function(expect_field field expected)
    execute_process(
        COMMAND ${DPKG_DEB} --field ${package} ${field} OUTPUT_VARIABLE value OUTPUT_STRIP_TRAILING_WHITESPACE
        COMMAND_ERROR_IS_FATAL ANY
    )
    if(NOT value MATCHES "^(${expected})$")
        message(SEND_ERROR "${field}: ${value}")
    endif()
endfunction()
expect_field(Package libfovea-dev)
expect_field(Version ${VERSION}-1)
expect_field(Architecture all)
expect_field(Depends ".*libxsimd-dev .*libboost-dev .*")
expect_field(Maintainer ".+ <.+@.+>")

execute_process(COMMAND ${DPKG_DEB} --extract ${package} ${WORK}/root COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE packaged RELATIVE ${WORK}/root ${WORK}/root/*)
file(GLOB_RECURSE installed RELATIVE "${TREE}" "${TREE}/*")
list(TRANSFORM installed PREPEND usr/)
foreach(document IN ITEMS changelog.Debian.gz changelog.gz copyright)
    list(APPEND installed usr/share/doc/libfovea-dev/${document})
endforeach()
list(SORT packaged)
list(SORT installed)
if(NOT packaged STREQUAL installed)
    message(FATAL_ERROR "the package has other files than are installed:\n${packaged}\nand not\n${installed}")
endif()
foreach(file IN LISTS packaged)
    file(SIZE ${WORK}/root/${file} size)
    if(size EQUAL 0)
        message(SEND_ERROR "${file} is empty")
    endif()
endforeach()
