# x86 of 32 bits with SSE2.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(target i686-linux-gnu)
set(emulator qemu-i386)
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
