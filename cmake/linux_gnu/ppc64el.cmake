# POWER8, little-endian.
set(CMAKE_SYSTEM_PROCESSOR ppc64le)
set(target powerpc64le-linux-gnu)
set(emulator qemu-ppc64le)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
