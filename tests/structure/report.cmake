# What the structure checks share. A check looks through the tree at ROOT, calls problem() for what it finds wrong and
# finish() at the end. AT_LEAST guards against a check that has stopped looking in the right place and finds nothing.
cmake_policy(VERSION 3.25)

set(words project score mask normalize aggregate result)

function(problem text)
    message(NOTICE "${text}")
    set_property(GLOBAL APPEND PROPERTY problems "x")
endfunction()

# headers_in(<result> <folder>...): headers below include/fovea, by their path from there.
function(headers_in result)
    set(patterns)
    foreach(folder IN LISTS ARGN)
        list(APPEND patterns ${ROOT}/include/fovea/${folder}/*.hpp)
    endforeach()
    file(GLOB_RECURSE headers RELATIVE ${ROOT}/include/fovea ${patterns})
    list(SORT headers)
    set(${result} ${headers} PARENT_SCOPE)
endfunction()

function(finish count what)
    get_property(problems GLOBAL PROPERTY problems)
    list(LENGTH problems found)
    message(NOTICE "checked ${count} ${what}: ${found} problems")
    if(found GREATER 0)
        message(FATAL_ERROR "${found} problems")
    elseif(count LESS AT_LEAST)
        message(FATAL_ERROR "only ${count} ${what} were found to check, ${AT_LEAST} or more are expected")
    endif()
endfunction()
