from bnndeploy.training.listener import Listener, Listeners
from bnndeploy.training.trainer import train

FLOAT_LATENTS = ("train.clip_latents=false", "train.lr=3.0", "train.epochs=2")


class Collector(Listener):
    def __init__(self):
        self.findings = []

    def finding(self, text):
        self.findings.append(text)


def test_a_sound_training_has_no_findings(tiny, tmp_path):
    collector = Collector()
    train(tiny("train.epochs=1"), None, tmp_path / "run", listener=collector)

    assert collector.findings == []


def test_latents_that_leave_the_gate_are_told_once_to_every_listener(tiny, tmp_path):
    collectors = [Collector(), Collector()]
    train(tiny(*FLOAT_LATENTS), None, tmp_path / "run", listener=Listeners(collectors))

    for collector in collectors:
        assert len(collector.findings) == 1
        assert "latent weights lie outside [-1, 1]" in collector.findings[0]
        assert "clip_latents" in collector.findings[0]


def test_looking_changes_no_number_of_the_run(tiny, tmp_path, monkeypatch):
    train(tiny("train.epochs=1"), None, tmp_path / "looked")
    monkeypatch.setattr("bnndeploy.training.trainer.check", lambda *_: [])
    train(tiny("train.epochs=1"), None, tmp_path / "blind")

    rows = [(tmp_path / run / "metrics.csv").read_text() for run in ("looked", "blind")]
    assert rows[0] == rows[1]
