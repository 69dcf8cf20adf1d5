# Installs below a DESTDIR, into a prefix with a space, and moves what is there to a folder of another name.
#
#   cmake -DBUILD=DIR -DWORK=DIR -DTREE=DIR -P move.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE "${WORK}/stage" "${TREE}")

set(ENV{DESTDIR} "${WORK}/stage")
execute_process(
    COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix "/opt/fo vea" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
)
file(RENAME "${WORK}/stage/opt/fo vea" "${TREE}")

# What is installed names neither the folders that it was built in nor the prefix.
file(GLOB_RECURSE files "${TREE}/*")
foreach(file IN LISTS files)
    file(READ "${file}" text)
    foreach(place IN ITEMS "${BUILD}" "${ROOT}" "/opt/fo vea")
        string(FIND "${text}" "${place}" at)
        if(NOT at EQUAL -1)
            message(SEND_ERROR "${file} names ${place}")
        endif()
    endforeach()
endforeach()
list(LENGTH files count)
if(count LESS 250)
    message(FATAL_ERROR "only ${count} files are installed")
endif()
message(NOTICE "${count} files")
