// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The causal attention of a sequence that is spread over processes of MPI. It is read from a file head by head, each
// rank its own positions, and each head that is finished stays finished:
//
//     long_sequence make FOLDER POSITIONS HEADS       writes an input to FOLDER/input
//     mpirun -n N long_sequence run FOLDER [MOST]     writes FOLDER/head_0, ...; at most MOST of those that lack
//     long_sequence check FOLDER                      compares them with calls of one process
#include <fovea/fovea.hpp>
#include <fovea/interop/mpi.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace fovea;

namespace {

constexpr index_t features = 64;
constexpr auto spec = scaled_dot | causal | softmax | weighted_sum;
constexpr auto row_bytes = static_cast<std::streamoff>(features * sizeof(float));

/// FOLDER/input: two integers, and then for each head its queries, its keys and its values, position by position.
struct input_file {
    std::fstream file;
    std::int64_t size[2]{};  // positions, heads

    explicit input_file(std::string const& folder) : file(folder + "/input", std::ios::in | std::ios::binary) {
        file.read(reinterpret_cast<char*>(size), sizeof size);
        if (!file) throw std::runtime_error("no input in " + folder);
    }
    /// The rows of some runs of positions: 0 for queries, 1 for keys, 2 for values.
    //! [read]
    tensor<float, 2> rows(index_t head, int which, mpi::runs const& held, index_t count) {
        tensor<float, 2> own({count, features});
        for (auto const& run : held) {
            file.seekg(static_cast<std::streamoff>(sizeof size) + ((head * 3 + which) * size[0] + run.first) * row_bytes);
            file.read(reinterpret_cast<char*>(&own(run.place, 0)), run.count * row_bytes);
        }
        if (!file) throw std::runtime_error("the input is too short");
        return own;
    }
    //! [read]
};

void make(std::string const& folder, std::int64_t positions, std::int64_t heads) {
    std::filesystem::create_directories(folder);
    std::ofstream file(folder + "/input", std::ios::binary);
    std::int64_t const size[2]{positions, heads};
    file.write(reinterpret_cast<char const*>(size), sizeof size);
    for (std::int64_t i = 0; i < heads * 3 * positions * features; ++i) {
        auto const x = static_cast<float>(std::sin(static_cast<double>(i * i % 10007)));
        file.write(reinterpret_cast<char const*>(&x), sizeof x);
    }
}

/// The rows of one head go where the whole head has them; a file under its last name is complete.
void run(std::string const& folder, index_t most) {
    //! [spread]
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    input_file input(folder);
    index_t const positions = input.size[0], heads = input.size[1];
    auto const layout = mpi::striped(768);  // blocks of positions, dealt: under a causal mask all have as much to do
    auto const held = layout.held(positions, rank, ranks);
    index_t count = 0;
    for (auto const& run : held) count += run.count;
    //! [spread]

    workspace scratch;
    tensor<float, 2> out({count, features});
    for (index_t head = 0, done = 0; head < heads && done < most; ++head) {
        auto const name = folder + "/head_" + std::to_string(head), unfinished = name + ".part";
        int there = rank == 0 && std::filesystem::exists(name);  // from an earlier run
        MPI_Bcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (there != 0) continue;
        if (rank == 0) std::ofstream(unfinished, std::ios::binary);

        //! [attend]
        mpi::traffic traffic;
        auto const q = input.rows(head, 0, held, count), k = input.rows(head, 1, held, count),
                   v = input.rows(head, 2, held, count);
        attend(scratch, mpi::ranks(MPI_COMM_WORLD, layout).counted_in(traffic), spec, q, k, v, out);
        //! [attend]

        std::fstream file(unfinished, std::ios::in | std::ios::out | std::ios::binary);
        for (auto const& run : held) {
            file.seekp(run.first * row_bytes);
            file.write(reinterpret_cast<char const*>(&out(run.place, 0)), run.count * row_bytes);
        }
        file.close();
        if (!file) throw std::runtime_error("cannot write " + unfinished);
        MPI_Barrier(MPI_COMM_WORLD);
        ++done;
        if (rank != 0) continue;
        std::filesystem::rename(unfinished, name);
        std::printf("head %ld of %ld, %ld bytes sent by rank 0\n", static_cast<long>(head + 1),
                    static_cast<long>(heads), static_cast<long>(traffic.bytes_sent));
        std::fflush(stdout);
    }
}

void check(std::string const& folder) {
    input_file input(folder);
    index_t const positions = input.size[0];
    mpi::runs const all{{0, positions, 0}};
    for (index_t head = 0; head < input.size[1]; ++head) {
        auto const q = input.rows(head, 0, all, positions), k = input.rows(head, 1, all, positions),
                   v = input.rows(head, 2, all, positions);
        tensor<float, 2> expected({positions, features}), got({positions, features});
        attend(spec, q, k, v, expected);
        std::ifstream file(folder + "/head_" + std::to_string(head), std::ios::binary);
        file.read(reinterpret_cast<char*>(got.elements.data()), positions * row_bytes);
        for (std::size_t i = 0; i < got.elements.size(); ++i)
            if (!file || !(std::abs(got.elements[i] - expected.elements[i]) < 1e-5f))
                throw std::runtime_error("head " + std::to_string(head) + " is wrong");
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::string const word = argc > 2 ? argv[1] : "", folder = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    try {
        if (word == "make" && argc == 5) make(folder, std::atol(argv[3]), std::atol(argv[4]));
        else if (word == "run") run(folder, argc > 3 ? std::atol(argv[3]) : 1 << 20);
        else if (word == "check") check(folder);
        else throw std::runtime_error("long_sequence make FOLDER POSITIONS HEADS | run FOLDER [MOST] | check FOLDER");
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);  // the others may be waiting for this rank
    }
    MPI_Finalize();
    return 0;
}
