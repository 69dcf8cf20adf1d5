// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Transformer learns to reverse and to sort strings, and once more with each of three other alignments: sparsemax and
// entmax15, which give exact zeros, and hard attention, which looks at one symbol.
#include "alignment_picture.hpp"
#include "encoder_decoder.hpp"
#include "optimizer.hpp"
#include "session.hpp"

using namespace training;

namespace {

/// The same network, data and loop for every alignment.
template <class Alignment>
learning_curve train(session& run, Alignment alignment, std::string const& name, int steps, double wanted) {
    dice random(run.seed());
    encoder_decoder network(random, alignment);
    adam optimizer(network);
    learning_curve curve{name, {}, {}};
    //! [loop]
    for (int step = 0; step < steps; ++step) {
        string_batch const batch(random, 64, strings::learned);
        run.note(curve, step, network.learn(batch));
        optimizer.step(scheduled_rate(3e-3f, step, 50, steps));
    }
    //! [loop]
    string_batch const unseen(random, run.is_short() ? 50 : 500, strings::held_out);
    double const exact = exact_share(network, unseen);
    std::printf("%s: %s %% of %d held-out strings are exact\n", name.c_str(), number(100 * exact, 1).c_str(),
                unseen.sequences);
    if (run.is_short())
        run.expect(curve.losses.back() < curve.losses.front() / 1.3, "the loss falls by a factor of 1.3, " + name);
    else run.expect(exact > wanted, "more than " + number(100 * wanted, 0) + " % are exact, " + name);
    draw_alignment(run, name,
                   "Each letter that is written (rows) looks at the source (columns): last block, mean of four heads",
                   unseen, network.alignment(unseen));
    return curve;
}

}  // namespace

int main(int count, char** arguments) {
    session run(count, arguments);
    int const steps = run.is_short() ? 40 : 1300;
    std::printf("a Transformer reverses and sorts strings: %d steps with each alignment, seed %u\n", steps, run.seed());
    std::vector<learning_curve> curves;
    //! [words]
    curves.push_back(train(run, fovea::softmax, "softmax", steps, 0.99));
    curves.push_back(train(run, fovea::sparsemax, "sparsemax", steps, 0.99));
    curves.push_back(train(run, fovea::entmax15, "entmax15", steps, 0.99));
    curves.push_back(train(run, fovea::straight_through, "hard", steps, 0.95));
    //! [words]
    save_curves(run.picture("transformer_loss"), "A Transformer reverses and sorts strings",
                "Cross entropy of the next symbol, with four ways to make weights of scores", curves);
    return run.exit_status();
}
