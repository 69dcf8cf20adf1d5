# Builds a project that knows the installed library alone, edits one of its headers and builds it again, and breaks it.
#
#   cmake -DCLIENT=DIR -DPREFIX=DIR -DWORK=DIR -DCXX=c++ -P run.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})

function(configure_client)
    execute_process(
        COMMAND ${CMAKE_COMMAND} -S ${CLIENT} -B ${WORK} -G Ninja -DCMAKE_PREFIX_PATH=${PREFIX} -DCMAKE_BUILD_TYPE=Debug
                -DCMAKE_CXX_COMPILER=${CXX} ${ARGN}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
endfunction()
function(build_client output)
    execute_process(
        COMMAND ${CMAKE_COMMAND} --build ${WORK} --verbose RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said
    )
    set(${output} "${said}" PARENT_SCOPE)
    set(failed ${failed} PARENT_SCOPE)
endfunction()
function(write_second NORMALIZER)
    configure_file(${CLIENT}/second.hpp.in ${WORK}/second.hpp @ONLY)
endfunction()

write_second(softmax)
configure_client()
build_client(said)
if(failed)
    message(FATAL_ERROR "${said}")
endif()
execute_process(COMMAND ${WORK}/call COMMAND_ERROR_IS_FATAL ANY)
foreach(file IN ITEMS client.h client.md)
    if(NOT EXISTS ${WORK}/client/${file})
        message(FATAL_ERROR "${file} was not written")
    endif()
endforeach()

if(NOT EVERYTHING)
    message("built")
    return()
endif()

# The inner loops of both kernels are listed.
execute_process(COMMAND ${CMAKE_COMMAND} --build ${WORK} --target client_assembly OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB listings ${WORK}/client/*/*.loops.txt)
list(LENGTH listings count)
foreach(listing IN LISTS listings)
    file(READ ${listing} loops)
    if(NOT loops MATCHES "/fovea/(driver|kernel)/" OR NOT loops MATCHES "[1-9][0-9]* inner loops")
        message(FATAL_ERROR "${listing} lists no loops")
    endif()
endforeach()
if(NOT count EQUAL 2)
    message(FATAL_ERROR "${count} units have a listing")
endif()

write_second(hardmax)
build_client(said)
if(failed OR NOT said MATCHES "two_f32" OR said MATCHES "one_f32\\.cpp\\.o -c")
    message(FATAL_ERROR "an edit of the second header builds more or less than the second kernel:\n${said}")
endif()
execute_process(COMMAND ${WORK}/call COMMAND_ERROR_IS_FATAL ANY)

configure_client(-DBROKEN=ON)
build_client(said)
set(sentence "fovea: this specification already has a score function; another cannot be added after it")
if(NOT failed OR NOT said MATCHES "kernel twice of client" OR NOT said MATCHES "${sentence}")
    message(FATAL_ERROR "a wrong kernel is not named, or not told what is wrong with it:\n${said}")
endif()
message("built, edited and broken")
