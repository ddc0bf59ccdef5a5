"""How the demo networks are trained: an optimizer, and one step down the gradient."""

import numpy as np
from convnet import Array, Layer, forward


class Adam:
    """Kingma and Ba's optimizer (arXiv 1412.6980), with their constants."""

    def __init__(self, layers: list[Layer]) -> None:
        self.parameters = [p for layer in layers for p in layer.parameters()]
        self.mean = [np.zeros_like(p.value) for p in self.parameters]
        self.square = [np.zeros_like(p.value) for p in self.parameters]
        self.steps = 0

    def step(self, rate: float) -> None:
        """Move every parameter against its gradient."""
        self.steps += 1
        for i, p in enumerate(self.parameters):
            self.mean[i] = 0.9 * self.mean[i] + 0.1 * p.gradient
            self.square[i] = 0.999 * self.square[i] + 0.001 * p.gradient**2
            mean = self.mean[i] / (1 - 0.9**self.steps)
            square = self.square[i] / (1 - 0.999**self.steps)
            p.value -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)


def descend(layers: list[Layer], images: Array, labels: Array) -> float:
    """Set the gradients of the cross entropy for one batch, and return the cross entropy."""
    logits = forward(layers, images)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = -np.log(probabilities[rows, labels] + 1e-12).mean()
    gradient = probabilities.copy()
    gradient[rows, labels] -= 1
    gradient = (gradient / len(labels)).astype(np.float32)
    for layer in reversed(layers):
        gradient = layer.backward(gradient)
    return float(loss)
