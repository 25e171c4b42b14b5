"""Image folders: decoding, crops, guards; and the sorting of ImageNet's validation archive."""

import io
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image

from bnndeploy.errors import DataError, RecipeError
from bnndeploy.training import data
from bnndeploy.training.data.sort_imagenet import sort_imagenet
from bnndeploy.training.recipe import DataTable

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}


def write_folder(root, parts=("train", "val"), each=4, size=(40, 30)):
    for part in parts:
        for name, colour in COLOURS.items():
            folder = root / part / name
            folder.mkdir(parents=True)
            for number in range(each):
                Image.new("RGB", size, colour).save(folder / f"{number}.png")
    return root


def table(**options):
    return DataTable("folder", **{"size": 16, "validation": 0.25, **options})


def test_labels_follow_the_sorted_class_folders_and_pixels_their_colour(tmp_path):
    splits = data.load(table(), write_folder(tmp_path))

    assert splits.classes == ("blue", "green", "red")
    assert (len(splits.train), len(splits.validation), len(splits.test)) == (9, 3, 12)
    pixels = splits.test.pixels_at(torch.arange(12))
    assert pixels.shape == (12, 3, 16, 16)
    for image, label in zip(pixels, splits.test.labels, strict=True):
        assert tuple(image[:, 8, 8].tolist()) == COLOURS[splits.classes[label]]


def test_evaluation_takes_the_centre(tmp_path):
    write_folder(tmp_path)
    ramp = np.tile(np.arange(64, dtype=np.uint8)[None, :, None], (32, 1, 3))
    Image.fromarray(ramp).save(tmp_path / "val" / "blue" / "0.png")
    splits = data.load(table(size=28), tmp_path)

    image = splits.test.pixels_at(torch.tensor([0]))[0]

    # 64x32 has a shorter side of 32 = 28 * 8/7, so the centre is cut without scaling.
    assert image[0, 0].tolist() == list(range(18, 46))


@pytest.mark.parametrize("augment", [("flip",), ("resized_crop",), ("resized_crop", "flip")])
def test_augmented_batches_depend_on_the_generator_alone(tmp_path, augment):
    write_folder(tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    for path in tmp_path.rglob("*.png"):
        Image.fromarray(noise).save(path)
    split = data.load(table(augment=augment), tmp_path).train
    index = torch.arange(9)

    def draw(seed):
        return split.batch(index, torch.Generator().manual_seed(seed))

    assert torch.equal(draw(1), draw(1))
    assert not torch.equal(draw(1), draw(2))
    assert not torch.equal(split.batch(index), draw(1))
    assert torch.equal(split.batch(index)[0], split.batch(index)[1])


def test_grey_and_palette_images_become_colour(tmp_path):
    write_folder(tmp_path)
    Image.new("L", (20, 20), 77).save(tmp_path / "val" / "blue" / "0.png")
    Image.new("P", (20, 20), 0).save(tmp_path / "val" / "blue" / "1.png")
    splits = data.load(table(), tmp_path)

    assert splits.test.pixels_at(torch.tensor([0]))[0, :, 3, 3].tolist() == [77, 77, 77]
    assert splits.test.pixels_at(torch.tensor([1])).shape == (1, 3, 16, 16)


def test_an_unreadable_image_is_named(tmp_path):
    write_folder(tmp_path)
    path = tmp_path / "val" / "green" / "2.png"
    path.write_bytes(path.read_bytes()[:30])
    splits = data.load(table(), tmp_path)

    with pytest.raises(DataError, match=r"green/2.png: cannot be read as an image"):
        _ = splits.test.images


def test_one_class_folder_is_refused(tmp_path):
    for part in ("train", "val"):
        (tmp_path / part / "only").mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / part / "only" / "0.png")

    with pytest.raises(DataError, match="got only the class 'only' in 1 images"):
        data.load(table(), tmp_path)


def test_different_class_folders_in_training_and_validation_are_refused(tmp_path):
    write_folder(tmp_path)
    (tmp_path / "val" / "red").rename(tmp_path / "val" / "rot")

    with pytest.raises(DataError, match="only in one of them: red, rot"):
        data.load(table(), tmp_path)


def test_a_class_count_other_than_the_recipe_says_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"got 3 class folders, expected the 5 of data.classes"):
        data.load(table(classes=5), write_folder(tmp_path))


def test_a_flat_folder_is_refused_with_the_way_out(tmp_path):
    write_folder(tmp_path, parts=("train",))
    (tmp_path / "val").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "val" / "ILSVRC2012_val_00000001.JPEG")

    with pytest.raises(DataError, match=r"got no images in class folders, .* sort a flat archive"):
        data.load(table(), tmp_path)


def test_a_run_on_folders_learns_the_classes_from_them_and_is_loaded_without_them(tmp_path):
    from bnndeploy.training import load_run, train
    from bnndeploy.training.recipe import ModelTable, Recipe, TrainTable

    recipe = Recipe(
        name="colours",
        model=ModelTable("bnn-mlp", {"hidden": [32]}),
        data=table(augment=("resized_crop", "flip")),
        train=TrainTable(epochs=8, batch=8, lr=0.01),
    )
    report = train(recipe, write_folder(tmp_path / "images", each=20), tmp_path / "run")
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    loaded = load_run(tmp_path / "run")

    assert report["test_accuracy"] == 1.0
    assert loaded.classes == ("blue", "green", "red")
    assert loaded.input_spec["shape"] == [3, 16, 16]


def test_without_images_the_number_of_classes_must_be_given():
    assert len(data.get(table(classes=7)).classes) == 7
    with pytest.raises(RecipeError, match=r"data.classes: got none"):
        _ = data.get(table()).classes


def jpeg(shade):
    content = io.BytesIO()
    Image.new("RGB", (8, 8), (shade,) * 3).save(content, "JPEG")
    return content.getvalue()


@pytest.fixture
def validation(tmp_path):
    """Five images in a flat archive, of which 2 and 5 are of class n02."""
    path = tmp_path / "ILSVRC2012_img_val.tar"
    with tarfile.open(path, "w") as tar:
        for number in range(1, 6):
            content = jpeg(40 * number)
            info = tarfile.TarInfo(f"ILSVRC2012_val_{number:08d}.JPEG")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


CLASSES = ["n01", "n02", "n01", "n01", "n02"]


def write_labels(folder, kind):
    names = [f"ILSVRC2012_val_{number:08d}" for number in range(1, 6)]
    if kind == "text":
        path = folder / "val.txt"
        path.write_text("".join(f"{n}.JPEG {c}\n" for n, c in zip(names, CLASSES, strict=True)))
    elif kind == "kaggle":
        path = folder / "LOC_val_solution.csv"
        rows = [f"{n},{c} 1 2 3 4\n" for n, c in zip(names, CLASSES, strict=True)]
        path.write_text("ImageId,PredictionString\n" + "".join(rows))
    else:
        from scipy.io import savemat

        path = folder / "devkit.tar.gz"
        synsets = np.array([(1, "n01"), (2, "n02")], dtype=[("ILSVRC2012_ID", "O"), ("WNID", "O")])
        meta = io.BytesIO()
        savemat(meta, {"synsets": synsets})
        truth = "".join(f"{c[-1]}\n" for c in CLASSES).encode()
        with tarfile.open(path, "w:gz") as tar:
            for name, content in (
                ("devkit/data/ILSVRC2012_validation_ground_truth.txt", truth),
                ("devkit/data/meta.mat", meta.getvalue()),
            ):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("kind", ["text", "kaggle", "devkit"])
def test_the_flat_archive_is_sorted_by_each_kind_of_labels(tmp_path, validation, kind):
    counts = sort_imagenet(validation, write_labels(tmp_path, kind), tmp_path / "val")

    assert counts == {"n01": 3, "n02": 2}
    found = sorted(str(p.relative_to(tmp_path / "val")) for p in (tmp_path / "val").rglob("*.JPEG"))
    numbers = [(c, n) for n, c in enumerate(CLASSES, start=1)]
    assert found == sorted(f"{c}/ILSVRC2012_val_{n:08d}.JPEG" for c, n in numbers)
    assert (tmp_path / "val" / "n02" / "ILSVRC2012_val_00000005.JPEG").read_bytes() == jpeg(200)


def test_an_extracted_folder_is_sorted_too(tmp_path, validation):
    with tarfile.open(validation) as tar:
        tar.extractall(tmp_path / "flat", filter="data")

    counts = sort_imagenet(tmp_path / "flat", write_labels(tmp_path, "text"), tmp_path / "val")

    assert counts == {"n01": 3, "n02": 2}


def test_labels_that_would_leave_the_folder_are_refused(tmp_path, validation):
    labels = tmp_path / "evil.txt"
    labels.write_text("ILSVRC2012_val_00000001.JPEG ../../elsewhere\n")

    with pytest.raises(DataError, match="expected an image name and a class a line"):
        sort_imagenet(validation, labels, tmp_path / "val")


def test_an_image_without_a_label_is_named(tmp_path, validation):
    labels = tmp_path / "short.txt"
    labels.write_text("ILSVRC2012_val_00000001.JPEG n01\n")

    with pytest.raises(DataError, match=r"has no class for ILSVRC2012_val_00000002.JPEG"):
        sort_imagenet(validation, labels, tmp_path / "val")
    assert sorted(path.name for path in tmp_path.iterdir()) == [validation.name, "short.txt"]


def test_a_truncated_archive_leaves_nothing_behind(tmp_path, validation):
    validation.write_bytes(validation.read_bytes()[:2000])

    with pytest.raises(DataError, match=r"holds 1 .JPEG images, expected the 5 of"):
        sort_imagenet(validation, write_labels(tmp_path, "text"), tmp_path / "val")
    assert not (tmp_path / "val").exists()


def test_a_folder_that_holds_files_is_not_written_to(tmp_path, validation):
    with pytest.raises(DataError, match="holds files, expected a new or empty folder"):
        sort_imagenet(validation, write_labels(tmp_path, "text"), tmp_path)
