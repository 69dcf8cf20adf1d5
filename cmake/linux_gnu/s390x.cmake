# IBM Z from z14 on, big-endian.
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(target s390x-linux-gnu)
set(emulator qemu-s390x)
set(CMAKE_CXX_FLAGS_INIT "-march=z14")
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
