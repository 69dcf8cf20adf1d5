# RISC-V of 64 bits, without vectors.
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(target riscv64-linux-gnu)
set(emulator qemu-riscv64)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
