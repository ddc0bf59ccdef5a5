"""Makes Keras models; a script for the environment keras. Its own answers are what tests expect."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

layers = tf.keras.layers


class Doubled(tf.keras.layers.Layer):  # type: ignore[misc] # tensorflow is not installed here
    """A layer that Keras does not have."""

    def call(self, x: Any) -> Any:
        return x * 2


def _picture() -> Any:
    """Return a network with what the converter must fold: a batch norm and an activation."""
    image = tf.keras.Input((8, 8, 1), name="image")
    x = layers.Conv2D(8, 3, padding="same", use_bias=False)(image)
    x = layers.BatchNormalization(
        beta_initializer="random_normal", moving_mean_initializer="random_normal"
    )(x)
    x = layers.MaxPooling2D(2)(layers.ReLU()(x))
    x = layers.Dropout(0.5)(layers.Conv2D(8, 3, activation="relu")(x))
    return tf.keras.Model(image, layers.Dense(4)(layers.Flatten()(x)))


def _two() -> Any:
    """Return a network whose inputs are not in the order of their names."""
    right, left = (tf.keras.Input((6,), name=name) for name in ("right", "left"))
    doubled = layers.Add()([left, left])
    return tf.keras.Model([right, left], layers.Subtract()([doubled, right]))


def make(request: Mapping[str, Any], arrays: Mapping[str, Any], _folder: Path) -> Any:
    """Write all models to the folder; return what two of them answer."""
    place = Path(request["place"])
    tf.keras.utils.set_random_seed(3)
    picture, two = _picture(), _two()
    picture.save(place / "picture.keras")
    picture.export(place / "picture", verbose=False)
    two.save(place / "two.keras")
    x = tf.keras.Input((4,))
    own = tf.keras.Model(x, layers.Dense(2)(Doubled()(x)))
    own.save(place / "own.keras")
    own.export(place / "own", verbose=False)
    x = tf.keras.Input((None, 4))
    tf.keras.Model(x, layers.Conv1D(2, 3)(x)).save(place / "open.keras")
    return {}, {
        "picture": np.asarray(picture(arrays["image"])),
        "two": np.asarray(two([arrays["right"], arrays["left"]])),
    }
