# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A graph network learns the groups of people from noisy features, and which of their ties to trust.

A tie has features of its own: noisy signs of friendship, which is within a group, or of chance, which is anywhere.
"""

import fovea
import torch
from session import Session
from torch import nn

PEOPLE, GROUPS, FRIENDS, OTHERS, FEATURES, WIDTH, HEADS = 2000, 5, 8, 8, 16, 32, 4


class Attention(nn.Module):
    def __init__(self, ties, on_ties):
        super().__init__()
        self.ties, self.graph = ties, fovea.Graph.from_edges(PEOPLE, ties.numpy())
        self.register_buffer("on_ties", on_ties)
        self.project, self.mix = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.of_target, self.of_source = (nn.Parameter(0.3 * torch.randn(HEADS, WIDTH // HEADS)) for _ in range(2))
        self.of_tie = nn.Parameter(0.3 * torch.randn(HEADS, on_ties.shape[1]))

    #! [attend]
    @fovea.kernel
    def attend(self, q, k, head, edge):
        score = self.of_target[head] @ q + self.of_source[head] @ k + self.of_tie[head] @ self.on_ties[edge]
        return fovea.leaky_relu(score, 0.2) | fovea.neighbors(self.graph) | fovea.softmax
    #! [attend]

    def forward(self, x):
        nodes = self.project(x).unflatten(-1, (HEADS, -1)).transpose(0, 1)[None]  # (1, head, person, feature)
        of_ties = self.mix(self.attend(nodes, nodes, nodes)[0].transpose(0, 1).flatten(-2))
        return nn.functional.layer_norm(x + of_ties, [WIDTH])


class Materialised(Attention):
    def attend(self, query, key, value):
        target, source = self.ties.T
        of_nodes = (query @ self.of_target[..., None])[0, ..., 0], (key @ self.of_source[..., None])[0, ..., 0]
        scores = of_nodes[0][:, target] + of_nodes[1][:, source] + self.of_tie @ self.on_ties.T  # (head, tie)
        scores = nn.functional.leaky_relu(scores, 0.2)
        shares = (scores - scores.detach().max()).exp()
        sums = torch.zeros_like(of_nodes[0]).index_add(1, target, shares)
        return torch.zeros_like(value).index_add(2, target, (shares / sums[:, target])[..., None] * value[:, :, source])


def people_and_ties():
    groups = torch.randint(GROUPS, (PEOPLE,))
    features = torch.randn(GROUPS, FEATURES)[groups] + 3 * torch.randn(PEOPLE, FEATURES)
    within = groups[:, None] == groups
    is_friend = within & (torch.rand(PEOPLE, PEOPLE) < FRIENDS * GROUPS / PEOPLE)
    ties = (is_friend | (torch.rand(PEOPLE, PEOPLE) < OTHERS / PEOPLE)).nonzero()  # (tie, 2), in order
    signs = is_friend[ties[:, 0], ties[:, 1]].float()[:, None] + 0.5 * torch.randn(len(ties), 3)
    return groups, features, ties, signs


def main():
    session = Session()
    groups, features, ties, on_ties = people_and_ties()
    is_known = torch.rand(PEOPLE) < 0.3
    steps = 10 if session.is_short else 50
    print(f"a graph network of {PEOPLE} people in {GROUPS} groups, {len(ties)} ties: {steps} steps", flush=True)

    def make(attention):
        layers = [attention(ties, on_ties) for _ in range(2)]
        return nn.Sequential(nn.Linear(FEATURES, WIDTH), *layers, nn.Linear(WIDTH, GROUPS))

    def loss_of(network, features):
        return nn.functional.cross_entropy(network(features)[is_known], groups[is_known])

    def accuracy(scores):
        return (scores.argmax(-1) == groups)[~is_known].float().mean().item()

    network = session.train((Attention, Materialised), make, loss_of, [(features,)] * steps, 3e-3, 1e-5)
    line = torch.linalg.lstsq(features[is_known], nn.functional.one_hot(groups[is_known], GROUPS).float()).solution
    with torch.no_grad():
        found = accuracy(network(features))
    print(f"right of the people whose group was not known: {found:.3f}, by least squares of features alone "
          f"{accuracy(features @ line):.3f}")
    if not session.is_short:
        session.expect(found > 0.9, "more than 0.9 are right")
    session.exit()


if __name__ == "__main__":
    main()
