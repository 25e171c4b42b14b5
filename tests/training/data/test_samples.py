"""Saving images of a data set as files."""

import numpy as np
from PIL import Image

from bnndeploy.training import data
from bnndeploy.training.data.samples import save_samples
from bnndeploy.training.recipe import DataTable


def test_saved_samples_are_the_test_images_named_by_place_and_class(tmp_path):
    splits = data.load(DataTable("digits"))

    paths = save_samples(splits, tmp_path / "new", 3)

    labels = [int(label) for label in splits.test.labels[:3]]
    assert [path.name for path in paths] == [
        f"{i:04d}_{label}.png" for i, label in enumerate(labels)
    ]
    for path, pixels in zip(paths, splits.test.pixels[:3, 0].numpy(), strict=True):
        scaled_back = np.asarray(Image.open(path)).astype(float) * 16 / 255
        np.testing.assert_array_equal(scaled_back.round(), pixels)
