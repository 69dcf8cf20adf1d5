# Tutorial, step 1, from the root of a checkout.
#! [build]
g++ -std=c++20 -O3 -march=native -Iinclude examples/docs/tutorial_first_result.cpp -o first_result
./first_result
#! [build]
