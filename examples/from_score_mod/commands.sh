# What the how-to page on kernels says to type. A test runs it against the installed library.
#! [build]
cmake -S . -B build -DCMAKE_BUILD_TYPE=Release
cmake --build build
#! [build]
#! [call]
./build/call
#! [call]
#! [python]
FOVEA_KERNELS=build/libattention.so python3 call.py
#! [python]
./build/gradient
FOVEA_KERNELS=build/libattention.so python3 gradient.py
./build/outputs
FOVEA_KERNELS=build/libattention.so python3 outputs.py
./build/cached_call
