"""What a recipe can switch on: bf16, averages, a teacher, clipping, Bop; and evaluate-only."""

import json

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from bnndeploy.errors import RecipeError
from bnndeploy.training import data, evaluate_run, load_run, train
from bnndeploy.training.distillation import Teacher
from bnndeploy.training.ema import Ema
from bnndeploy.training.listener import Listener
from bnndeploy.training.run_folder import RunFolder, load_tensors
from bnndeploy.training.trainer import Trainer


def signs(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 2, shape, generator=generator).float() * 2 - 1


def autocast_linear(x, w):
    with torch.autocast("cpu", torch.bfloat16):
        return F.linear(x, w).float()


def test_bf16_sums_of_signs_are_exact_up_to_256_products():
    for k in (1, 64, 255, 256):
        x, w = signs(32, k, seed=k), signs(16, k, seed=k + 1)
        assert torch.equal(autocast_linear(x, w), F.linear(x, w))


def test_bf16_sums_above_256_are_not_exact_so_evaluation_runs_in_float32():
    ones = torch.ones(1, 257)

    assert F.linear(ones, ones).item() == 257
    assert autocast_linear(ones, ones).item() != 257


@pytest.mark.parametrize(
    "overrides",
    [
        ("train.amp=true",),
        ("train.ema=0.9",),
        ("train.clip_gradient=0.1",),
        ("train.accumulate=4",),
        ("train.optimizer=bop", "train.bop.gamma=0.01"),
        ("train.optimizer=sgd", "train.lr=0.1"),
        ("train.optimizer=adamw", "train.weight_decay=0.01"),
        ("train.loss=squared_hinge",),
        ("train.label_smoothing=0.1",),
        ("train.schedule=linear", "train.warmup_epochs=1"),
        ("train.schedule=step", "train.step_epochs=[1, 2]"),
    ],
    ids=lambda overrides: overrides[0],
)
def test_each_regime_learns_and_resumes_to_the_same_numbers(tiny, tmp_path, overrides):
    class Stop(Listener):
        def step(self, step, loss):
            if step == 8:
                raise KeyboardInterrupt

    recipe = tiny("data.augment=[]", "train.batch=128", *overrides)
    report = train(recipe, None, tmp_path / "straight")
    with pytest.raises(KeyboardInterrupt):
        train(recipe, None, tmp_path / "resumed", listener=Stop())
    train(recipe, None, tmp_path / "resumed")

    assert report["test_accuracy"] > 0.3  # three epochs; guessing gives 0.1
    for name in ("metrics.csv", "layers.csv"):
        assert (tmp_path / "straight" / name).read_text() == (
            tmp_path / "resumed" / name
        ).read_text()
    best = [load_tensors(tmp_path / run / "best.safetensors") for run in ("straight", "resumed")]
    assert all(torch.equal(value, best[1][key]) for key, value in best[0].items())


def trainer(recipe, tmp_path):
    from bnndeploy.training.build import build_module

    torch.manual_seed(0)
    module = build_module(recipe, data.get(recipe.data))
    return Trainer(recipe, module, data.load(recipe.data), RunFolder(tmp_path))


def gradients(of):
    of.backward(0)
    return [p.grad.clone() for p in of.module.parameters()]


def test_accumulated_gradients_equal_those_of_the_whole_batch(tiny, tmp_path, monkeypatch):
    # Batch-norm in eval: its statistics are those of a micro-batch otherwise.
    def stay_in_eval(self, mode=True):
        return nn.Module.train(self, False)

    monkeypatch.setattr(nn.BatchNorm1d, "train", stay_in_eval)
    found = [
        gradients(trainer(tiny("data.augment=[]", f"train.accumulate={n}"), tmp_path))
        for n in (1, 4)
    ]

    for whole, parts in zip(*found, strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-6)


def test_gradients_are_clipped_to_the_norm(tiny, tmp_path):
    recipe = tiny("train.clip_gradient=0.001", "train.optimizer=sgd", "train.momentum=0")
    subject = trainer(recipe, tmp_path)
    before = [p.detach().clone() for p in subject.module.parameters()]

    subject.backward(0)
    subject.update(0)

    pairs = zip(before, subject.module.parameters(), strict=True)
    moved = sum((a - b.detach()).square().sum().item() for a, b in pairs) ** 0.5
    assert 0 < moved <= 0.001 * subject.table.lr * 1.01


def test_the_moving_average_follows_its_formula():
    module = nn.BatchNorm1d(1)
    ema = Ema(module, decay=0.75)
    with torch.no_grad():
        module.weight.fill_(5.0)
        module.num_batches_tracked.fill_(3)

    ema.update(module)
    ema.update(module)

    assert ema.module.weight.item() == pytest.approx(5 - 4 * 0.75**2)
    assert ema.module.num_batches_tracked.item() == 3


def test_a_teacher_who_agrees_adds_nothing_and_the_formula_holds():
    logits, images = torch.tensor([[1.0, 3.0]]), torch.tensor([[2.0, 0.0]])
    teacher = Teacher(nn.Identity(), weight=0.25, temperature=2.0)
    p, q = F.softmax(images / 2, 1), F.softmax(logits / 2, 1)
    kl = (p * (p / q).log()).sum()

    mixed = teacher.mix(torch.tensor(8.0), logits, images)
    agreed = teacher.mix(torch.tensor(8.0), images, images)

    assert mixed.item() == pytest.approx(0.75 * 8 + 0.25 * 4 * kl.item())
    assert agreed.item() == pytest.approx(0.75 * 8)


def test_a_run_learns_from_a_teacher_run(tiny, tmp_path):
    train(tiny(), None, tmp_path / "teacher")

    plain = train(tiny("train.seed=1"), None, tmp_path / "plain")
    taught = train(
        tiny("train.seed=1", f"train.teacher.run={tmp_path / 'teacher'}"), None, tmp_path / "taught"
    )

    assert taught["test_accuracy"] != plain["test_accuracy"]
    assert taught["test_accuracy"] > 0.3


def test_a_teacher_of_other_inputs_is_refused(tiny, tmp_path):
    train(tiny("data.mean=[0.1]", "train.epochs=1"), None, tmp_path / "teacher")

    with pytest.raises(RecipeError, match=r"train.teacher.run: .* has the input"):
        train(tiny(f"train.teacher.run={tmp_path / 'teacher'}"), None, tmp_path / "run")


def test_evaluate_only_gives_the_report_of_the_run_again(tiny, tmp_path):
    report = train(tiny("train.epochs=1"), None, tmp_path / "run")
    before = sorted(path.name for path in (tmp_path / "run").iterdir())

    again = evaluate_run(tmp_path / "run", None)

    for key in ("test_accuracy", "test_top5_accuracy", "test_loss", "confusion"):
        assert again[key] == report[key]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before


def test_the_html_report_shows_the_numbers_and_every_image_it_embeds(tiny, tmp_path):
    import base64
    import io
    import re

    from PIL import Image

    report = train(tiny(), None, tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text()

    assert f"{100 * report['test_accuracy']:.2f} %" in page
    assert page.count("<figure>") == 24
    for count in {c for row in report["confusion"] for c in row if c}:
        assert f">{count}</td>" in page
    for picture in re.findall(r'src="data:image/png;base64,([^"]+)"', page):
        Image.open(io.BytesIO(base64.b64decode(picture))).load()
    assert "http" not in page  # self-contained
    assert json.loads((tmp_path / "run" / "report.json").read_text())["latents"]


def test_deploying_a_moving_average_loads_the_average(tiny, tmp_path):
    report = train(tiny("train.ema=0.9"), None, tmp_path / "run")

    assert load_run(tmp_path / "run").metrics["test_accuracy"] == report["test_accuracy"]
