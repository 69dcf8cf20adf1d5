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

file(GLOB_RECURSE files "${TREE}/*")
list(LENGTH files count)
if(count LESS 250)
    message(FATAL_ERROR "only ${count} files are installed")
endif()
message(NOTICE "${count} files")
