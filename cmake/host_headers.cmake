# Headers of the host in builds for another machine; an installed fovea has this file too.

# A cross compiler has a C library of its own and must not search the host's /usr/include; headers there that are the
# same for every machine are therefore linked, one folder each, into a place without any others.
function(fovea_borrow result root header)
    string(REGEX MATCH "^[^/]+" folder ${header})
    set(place ${CMAKE_BINARY_DIR}/host-headers)
    if(NOT root STREQUAL place) # where it is linked already
        file(MAKE_DIRECTORY ${place})
        file(CREATE_LINK ${root}/${folder} ${place}/${folder} SYMBOLIC)
    endif()
    set(${result} ${place} PARENT_SCOPE)
endfunction()

# The same of a folder that was found, where it is the host's.
function(fovea_borrow_in_cross_builds variable header)
    if(CMAKE_CROSSCOMPILING AND ${variable} MATCHES "^/usr/include/?$")
        fovea_borrow(${variable} ${${variable}} ${header})
        set(${variable} ${${variable}} PARENT_SCOPE)
    endif()
endfunction()
