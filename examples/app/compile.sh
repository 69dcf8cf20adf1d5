# The same program without CMake.
#! [compile]
g++ -std=c++20 -O3 -march=native app.cpp -o app $(pkg-config --cflags --libs fovea)
./app
#! [compile]
