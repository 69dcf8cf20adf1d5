# Release unless asked otherwise: this library is judged by its speed.
# Sanitize is the type of the `asan` preset, SanitizeThreads that of `tsan`: assertions stay on, and the first finding
# ends the program.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, RelWithDebInfo, Sanitize or SanitizeThreads" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG" CACHE STRING "Flags of the build type Release")
set(CMAKE_CXX_FLAGS_SANITIZE
    "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
    CACHE STRING "Flags of the build type Sanitize"
)
set(CMAKE_CXX_FLAGS_SANITIZETHREADS
    "-O1 -g -fno-omit-frame-pointer -fsanitize=thread"
    CACHE STRING "Flags of the build type SanitizeThreads"
)
