// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recurrent network with Bahdanau's attention learns to reverse and to sort strings.
#include "alignment_picture.hpp"
#include "optimizer.hpp"
#include "recurrent_translator.hpp"
#include "session.hpp"

using namespace training;

int main(int count, char** arguments) {
    session run(count, arguments);
    int const steps = run.is_short() ? 60 : 3000;
    std::printf("a recurrent network with attention reverses and sorts strings: %d steps, seed %u\n", steps,
                run.seed());

    dice random(run.seed());
    recurrent_translator network(random);
    adam optimizer(network);
    learning_curve curve{"additive", {}, {}};
    for (int step = 0; step < steps; ++step) {
        string_batch const batch(random, 32, strings::learned);
        run.note(curve, step, network.learn(batch));
        optimizer.step(scheduled_rate(5e-3f, step, 50, steps));
    }

    string_batch const unseen(random, run.is_short() ? 50 : 500, strings::held_out);
    double const exact = exact_share(network, unseen);
    std::printf("%s %% of %d held-out strings are exact\n", number(100 * exact, 1).c_str(), unseen.sequences);
    if (run.is_short())
        run.expect(curve.losses.back() < curve.losses.front() / 1.3, "the loss falls by a factor of 1.3");
    else run.expect(exact > 0.99, "more than 99 % are exact");
    draw_alignment(run, "additive", "Each letter that is written (rows) looks at the source (columns)", unseen,
                   network.alignment(unseen));
    save_curves(run.picture("additive_loss"), "A recurrent network reverses and sorts strings",
                "Cross entropy of the next symbol", {curve});
    return run.exit_status();
}
