// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Transformer learns which byte of a text comes next, then goes on with the beginning of a line. The text is a file
// that is named, or a licence that lies on the system.
#include "language_model.hpp"
#include "optimizer.hpp"
#include "picture/heat_map.hpp"
#include "session.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

using namespace training;

namespace {

std::vector<int> bytes_of(std::filesystem::path const& file) {
    std::ifstream in(file, std::ios::binary);
    std::vector<int> bytes;
    for (std::istreambuf_iterator<char> at(in), end; at != end; ++at)
        bytes.push_back(static_cast<int>(static_cast<unsigned char>(*at)));
    if (bytes.size() < 5000) throw std::runtime_error(file.string() + " is too short to learn from");
    return bytes;
}

/// The entropy of the next byte by how often each occurs, in nats.
double entropy_of_bytes(std::vector<int> const& text) {
    std::vector<double> counts(language_model::bytes);
    for (int const byte : text) ++counts[static_cast<std::size_t>(byte)];
    double entropy = 0;
    for (double const count : counts)
        if (count > 0)
            entropy -= count / static_cast<double>(text.size()) * std::log(count / static_cast<double>(text.size()));
    return entropy;
}

/// Passages of a text and, for each of their bytes, the next one.
struct passages {
    static constexpr int count = 16;
    std::vector<int> text, next;

    passages(dice& random, std::vector<int> const& all, std::size_t first, std::size_t end) {
        for (int s = 0; s < count; ++s) {
            auto const at = all.begin()
                          + random.between(static_cast<fovea::index_t>(first),
                                           static_cast<fovea::index_t>(end) - language_model::context - 1);
            text.insert(text.end(), at, at + language_model::context);
            next.insert(next.end(), at + 1, at + language_model::context + 1);
        }
    }
};

/// The greatest difference of scores with a cache, byte by byte, to those of the whole text in one call.
float difference_of_cache(language_model& network, std::string const& text) {
    matrix const whole = network(language_model::numbers(text), 1);
    auto so_far = language_model::no_text();
    float most = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        matrix const scores = network.step(so_far, text.substr(i, 1));
        most = std::max(most, (scores.row(0) - whole.row(static_cast<Index>(i))).cwiseAbs().maxCoeff());
    }
    return most;
}

void draw(session const& run, language_model& network, std::string const& line) {
    fovea::index_t const n = static_cast<fovea::index_t>(line.size()), heads = multi_head::head_count;
    fovea::tensor<float, 4> shares({1, heads, n, n});
    network(language_model::numbers(line), 1, fovea::weights(shares));
    fovea::tensor<float, 2> mean({n, n});
    for (fovea::index_t h = 0; h < heads; ++h)
        for (fovea::index_t i = 0; i < n; ++i)
            for (fovea::index_t j = 0; j <= i; ++j) mean(i, j) += shares(0, h, i, j) / static_cast<float>(heads);
    picture::heat_map map{"each byte (rows) looks at those before it and at itself", {}, {}, mean};
    for (char const c : line) map.queries.emplace_back(1, c == '\n' ? '/' : c), map.keys.push_back(map.queries.back());
    picture::save_heat_maps(run.picture("language_model"), "Attention of a language model",
                            "The last block, mean of four heads", {map});
    std::printf("drawn in %s\n", run.picture("language_model").c_str());
}

}  // namespace

int main(int count, char** arguments) {
    session run(count, arguments);
    std::filesystem::path file = run.text().empty() ? "/usr/share/common-licenses/GPL-3" : run.text();
    if (!std::filesystem::exists(file)) file = TRAINING_TEXT;
    auto const text = bytes_of(file);
    double const entropy = entropy_of_bytes(text);
    int const steps = run.is_short() ? 60 : 1500;
    std::printf("a language model of %s, %zu bytes of %s nats each: %d steps, seed %u\n", file.c_str(), text.size(),
                number(entropy, 2).c_str(), steps, run.seed());

    dice random(run.seed());
    language_model network(random);
    adam optimizer(network);
    learning_curve curve{"next byte", {}, {}}, unseen{"held out", {}, {}};
    dice of_unseen(run.seed());  // of its own: training is the same whether or not anybody looks
    std::size_t const learned = text.size() * 9 / 10;  // the last tenth is held out
    for (int step = 0; step < steps; ++step) {
        if (step % 25 == 0 || step + 1 == steps) {
            passages const others(of_unseen, text, learned, text.size());
            unseen.steps.push_back(step);
            unseen.losses.push_back(cross_entropy(network(others.text, passages::count), others.next).value);
        }
        passages const some(random, text, 0, learned);
        auto const [value, d_scores] = cross_entropy(network(some.text, passages::count), some.next);
        run.note(curve, step, value);
        network.backward(d_scores);
        optimizer.step(scheduled_rate(4e-3f, step, 50, steps));
    }

    double held_out = 0;
    for (int i = 0; i < 10; ++i) {
        passages const some(random, text, learned, text.size());
        held_out += cross_entropy(network(some.text, passages::count), some.next).value / 10;
    }
    std::printf("%s nats for a byte of the tenth that was held out\n", number(held_out, 2).c_str());
    if (run.is_short())
        run.expect(curve.losses.back() < curve.losses.front() / 1.5, "the loss falls by a factor of 1.5");
    else run.expect(held_out < 0.75 * entropy, "a held-out byte costs less than 3/4 of the entropy of bytes alone");

    std::string written;
    for (int i = 0; i < 3; ++i) {
        written = network.generate(random, "You may ");
        std::printf("> %s\n", written.c_str());
    }
    float const difference = difference_of_cache(network, written);
    run.expect(difference < 1e-3f, "the key/value cache gives the scores of one call");
    draw(run, network, written.substr(0, 24));
    save_curves(run.picture("language_model_loss"), "A language model", "Cross entropy of the next byte; held out: of the tenth that is not learned", {curve, unseen});
    return run.exit_status();
}
