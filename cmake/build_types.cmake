# Release unless asked otherwise: this library is judged by its speed.
# Sanitize is the type of the `asan` preset, SanitizeThreads that of `tsan`: assertions stay on, and the first finding
# ends the program.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo, Sanitize or SanitizeThreads" FORCE)
endif()
# project() has put an empty string into the cache for a type that it does not know.
function(fovea_add_build_type type flags)
    if(NOT CMAKE_CXX_FLAGS_${type})
        set(CMAKE_CXX_FLAGS_${type} "${flags}" CACHE STRING "Flags of the build type ${type}" FORCE)
    endif()
endfunction()
fovea_add_build_type(
    SANITIZE "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
)
fovea_add_build_type(SANITIZETHREADS "-O1 -g -fno-omit-frame-pointer -fsanitize=thread")
