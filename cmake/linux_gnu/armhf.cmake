# ARM of 32 bits.
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(target arm-linux-gnueabihf)
set(emulator qemu-arm)
set(CMAKE_CXX_FLAGS_INIT "-march=armv7-a+neon-vfpv4")
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
