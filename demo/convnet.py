"""A small convolutional network in numpy: the forward and backward passes.

Activations are float32 [n, height, width, channels], as in TFLite. Weights have TFLite's layout:
convolution [out, k, k, in], depthwise [1, k, k, channels], dense [out, in]. A kernel's size k and a
pool's cell are a number, or a height and a width.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Size = int | tuple[int, int]


@dataclass
class Parameter:
    """A trained array, and the gradient of the loss with respect to it."""

    value: Array
    gradient: Array = field(init=False)

    def __post_init__(self) -> None:
        self.gradient = np.zeros_like(self.value)


class Layer:
    """One step of the network; `backward` may be called once after each `forward`."""

    def parameters(self) -> list[Parameter]:
        """Return the trainable parameters."""
        return []

    def forward(self, x: Array) -> Array:
        """Return the layer's output."""
        raise NotImplementedError

    def backward(self, dy: Array) -> Array:
        """Return the gradient with respect to the input, and set the parameters' gradients."""
        raise NotImplementedError


class Weighted(Layer):
    """A layer with weights, one bias for each output channel, and optionally a ReLU."""

    def __init__(self, weights: Array, channels: int, relu: bool) -> None:
        self.weights = Parameter(weights.astype(np.float32))
        self.bias = Parameter(np.zeros(channels, np.float32))
        self.relu = relu
        self._positive: Array = np.empty(0)

    def parameters(self) -> list[Parameter]:
        """Return weights and bias."""
        return [self.weights, self.bias]

    def _activate(self, y: Array) -> Array:
        self._positive = y > 0
        return np.maximum(y, 0) if self.relu else y

    def _deactivate(self, dy: Array) -> Array:
        return dy * self._positive if self.relu else dy


class Conv(Weighted):
    """A k x k convolution, stride 1, SAME padding."""

    def __init__(
        self, rng: np.random.Generator, k: Size, inputs: int, outputs: int, relu: bool = True
    ) -> None:
        self.k = height, width = pair(k)
        scale = np.sqrt(2 / (height * width * inputs))
        super().__init__(rng.normal(0, scale, (outputs, height, width, inputs)), outputs, relu)
        self._windows: Array = np.empty(0)

    def forward(self, x: Array) -> Array:
        """Return [n, h, w, out]."""
        self._windows = windows(x, self.k)
        return self._activate(
            np.tensordot(self._windows, self.weights.value, axes=((3, 4, 5), (1, 2, 3)))
            + self.bias.value
        )

    def backward(self, dy: Array) -> Array:
        """Return [n, h, w, in]."""
        dy = self._deactivate(dy)
        self.weights.gradient = np.tensordot(dy, self._windows, axes=((0, 1, 2), (0, 1, 2)))
        self.bias.gradient = dy.sum(axis=(0, 1, 2))
        return scatter(np.tensordot(dy, self.weights.value, axes=((3,), (0,))))


class Depthwise(Weighted):
    """A k x k convolution of each channel separately, stride 1, SAME padding."""

    def __init__(self, rng: np.random.Generator, k: Size, channels: int) -> None:
        self.k = height, width = pair(k)
        scale = np.sqrt(2 / (height * width))
        super().__init__(rng.normal(0, scale, (1, height, width, channels)), channels, relu=True)
        self._windows: Array = np.empty(0)

    def forward(self, x: Array) -> Array:
        """Return [n, h, w, channels]."""
        self._windows = windows(x, self.k)
        y = (self._windows * self.weights.value[0]).sum(axis=(3, 4)) + self.bias.value
        return self._activate(y)

    def backward(self, dy: Array) -> Array:
        """Return [n, h, w, channels]."""
        dy = self._deactivate(dy)
        spread = dy[:, :, :, np.newaxis, np.newaxis, :]
        self.weights.gradient = (spread * self._windows).sum(axis=(0, 1, 2))[np.newaxis]
        self.bias.gradient = dy.sum(axis=(0, 1, 2))
        return scatter(spread * self.weights.value[0])


class Residual(Layer):
    """relu(x + conv(x)); the convolution itself has no activation."""

    def __init__(self, conv: Conv) -> None:
        self.conv = conv
        self._positive: Array = np.empty(0)

    def parameters(self) -> list[Parameter]:
        """Return the convolution's parameters."""
        return self.conv.parameters()

    def forward(self, x: Array) -> Array:
        """Return an array of x's shape."""
        y: Array = x + self.conv.forward(x)
        self._positive = y > 0
        return np.maximum(y, 0)

    def backward(self, dy: Array) -> Array:
        """Return the sum of the gradients of both paths."""
        dy = dy * self._positive
        both: Array = dy + self.conv.backward(dy)
        return both


class Pool(Layer):
    """A pool whose stride is its cell: the maximum or the mean."""

    def __init__(self, kind: str, cell: Size = 2) -> None:
        self.kind = kind
        self.cell = pair(cell)
        self._share: Array = np.empty(0)

    def forward(self, x: Array) -> Array:
        """Return [n, h / cell height, w / cell width, channels]."""
        n, h, w, c = x.shape
        rows, columns = self.cell
        cells = x.reshape(n, h // rows, rows, w // columns, columns, c)
        if self.kind == "mean":
            self._share = np.full_like(cells, 1 / (rows * columns))
            mean: Array = cells.mean(axis=(2, 4))
            return mean
        y: Array = cells.max(axis=(2, 4))
        won = cells == y[:, :, np.newaxis, :, np.newaxis, :]
        self._share = won / won.sum(axis=(2, 4), keepdims=True)
        return y

    def backward(self, dy: Array) -> Array:
        """Return [n, h, w, channels]."""
        dx = self._share * dy[:, :, np.newaxis, :, np.newaxis, :]
        n, h, rows, w, columns, c = dx.shape
        return dx.reshape(n, h * rows, w * columns, c).astype(np.float32)


class Reshape(Layer):
    """Another shape for each sample, with the same elements in the same order."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self._given: tuple[int, ...] = ()

    def forward(self, x: Array) -> Array:
        """Return [n, *shape]."""
        self._given = x.shape
        return x.reshape(len(x), *self.shape)

    def backward(self, dy: Array) -> Array:
        """Return the gradient in the input's shape."""
        return dy.reshape(self._given)


class Flatten(Reshape):
    """[n, h, w, c] to [n, h * w * c]."""

    def __init__(self) -> None:
        super().__init__(-1)


class Dense(Weighted):
    """A fully connected layer."""

    def __init__(self, rng: np.random.Generator, inputs: int, outputs: int) -> None:
        super().__init__(rng.normal(0, np.sqrt(1 / inputs), (outputs, inputs)), outputs, False)
        self._x: Array = np.empty(0)

    def forward(self, x: Array) -> Array:
        """Return [n, out]."""
        self._x = x
        return self._activate(x @ self.weights.value.T + self.bias.value)

    def backward(self, dy: Array) -> Array:
        """Return [n, in]."""
        self.weights.gradient = dy.T @ self._x
        self.bias.gradient = dy.sum(axis=0)
        dx: Array = dy @ self.weights.value
        return dx


def pair(size: Size) -> tuple[int, int]:
    """Return a size as height and width."""
    return (size, size) if isinstance(size, int) else size


def windows(x: Array, k: tuple[int, int]) -> Array:
    """Return the neighbourhood of each pixel, zero outside: [n, h, w, k height, k width, c]."""
    rows, columns = k[0] // 2, k[1] // 2
    padded = np.pad(x, ((0, 0), (rows, rows), (columns, columns), (0, 0)))
    view = np.lib.stride_tricks.sliding_window_view(padded, k, axis=(1, 2))
    return view.transpose(0, 1, 2, 4, 5, 3)


def scatter(dx: Array) -> Array:
    """Add up gradients by neighbourhood [n, h, w, k, k, c] to gradients by pixel [n, h, w, c]."""
    n, h, w, height, width, c = dx.shape
    rows, columns = height // 2, width // 2
    total = np.zeros((n, h + 2 * rows, w + 2 * columns, c), np.float32)
    for row in range(height):
        for column in range(width):
            total[:, row : row + h, column : column + w] += dx[:, :, :, row, column]
    return total[:, rows : rows + h, columns : columns + w]


def digits_network(seed: int) -> list[Layer]:
    """Return the demo's network, untrained: 8x8x1 in, ten logits out."""
    rng = np.random.default_rng(seed)
    return [
        Conv(rng, 3, 1, 16),
        Depthwise(rng, 3, 16),
        Conv(rng, 1, 16, 32),
        Pool("max"),
        Residual(Conv(rng, 3, 32, 32, relu=False)),
        Pool("mean"),
        Flatten(),
        Dense(rng, 128, 10),
    ]


def forward(layers: list[Layer], x: Array) -> Array:
    """Return the logits [n, 10]."""
    for layer in layers:
        x = layer.forward(x)
    return x
