"""Batch augmentation: exact moves of pixels, drawn from the given generator only."""

import pytest
import torch

from bnndeploy.errors import RecipeError
from bnndeploy.training.data import augment


def generator(seed=5):
    return torch.Generator().manual_seed(seed)


def pixels(n=200, size=6):
    return torch.randint(1, 256, (n, 3, size, size), generator=generator(1)).to(torch.uint8)


def test_flip_mirrors_about_half_of_the_images_and_leaves_the_others():
    images = pixels()

    out = augment.flip(images, generator())

    mirrored = [torch.equal(a, b.flip(2)) for a, b in zip(out, images, strict=True)]
    same = [torch.equal(a, b) for a, b in zip(out, images, strict=True)]
    assert all(m or s for m, s in zip(mirrored, same, strict=True))
    assert 60 < sum(mirrored) < 140


@pytest.mark.parametrize(("name", "reach"), [("shift", 1), ("crop", 4)])
def test_moved_images_are_a_window_of_the_padded_image(name, reach):
    images = pixels(50)
    padded = torch.nn.functional.pad(images, [reach] * 4)

    out = augment.compose([name])(images, generator())

    places = set()
    for image, source in zip(out, padded, strict=True):
        found = [
            (y, x)
            for y in range(2 * reach + 1)
            for x in range(2 * reach + 1)
            if torch.equal(image, source[:, y : y + 6, x : x + 6])
        ]
        assert found
        places.add(found[0])
    assert len(places) > 2 * reach + 1


def test_the_same_generator_state_gives_the_same_images_whatever_the_global_one():
    torch.manual_seed(1)
    first = augment.compose(["flip", "crop"])(pixels(), generator())
    torch.manual_seed(2)

    assert torch.equal(first, augment.compose(["flip", "crop"])(pixels(), generator()))


def test_no_augmentation_is_none_and_an_unknown_one_is_refused():
    assert augment.compose([]) is None
    with pytest.raises(RecipeError, match=r"augmentation 'flipp' is unknown .did you mean 'flip'"):
        augment.compose(["flipp"])
