"""The training loop: updates until a run's minutes, steps or epochs are over or its target is met.

Everything an update does depends on the settings, the weights and its number alone: the order of
the data and what dropout drops are drawn anew from the seed and the step. So a run that was stopped
and goes on from its checkpoint makes the very same updates.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.attention import dropout_stream
from regard.config import MaskedLanguageModelSettings, Run
from regard.folder import WEIGHTS, Tokenizers, load_weights, put_weights, save_weights
from regard.models.build import Network
from regard.training.average import RunningMean, mean_weights
from regard.training.checkpoint import TENSORS, fitting, read_checkpoint, steps, write_checkpoint
from regard.training.dev import Look, Looking
from regard.training.examples import masked
from regard.training.objective import Lesson, Lessons, objective_of
from regard.training.optimizer import Optimizers
from regard.training.place import Place
from regard.training.precision import autocast, chosen_precision
from regard.training.ranks import ALONE, Ranks
from regard.training.report import Log, Reporter, Silent
from regard.training.run_state import Outcome, State
from regard.training.schedule import Progress, learning_rate
from regard.training.shards import Crew, cores, shards
from regard.training.snapshot import restore, snapshot, weights_of

LOOKS = 10  # at the development set in a run, unless settings say otherwise
LOOK_SHARE = 15  # with a time budget, time between two looks, in units of a look's own
LOG_SECONDS = 5.0  # between two lines of figures
END_SHARE, END_SECONDS = 0.04, 10.0  # of the budget, at most: what follows the last validation


class Trainer:
    """One run over one network, in one folder (or in memory only, without one)."""

    def __init__(
        self,
        network: Network,
        run: Run,
        tokenizers: Tokenizers,
        examples: Lessons,
        dev: Looking | None = None,
        folder: Path | None = None,
        reporter: Reporter | None = None,
        tensorboard: bool = False,
        ranks: Ranks = ALONE,
        spent: float = 0.0,
    ) -> None:
        """`spent` seconds of the time budget went into reading and preparing the corpus."""
        self.settings, self.run_settings, self.tokenizers = run.training, run, tokenizers
        self.device = _device(run.training.device)
        self.network = network.to(self.device)
        self.parameters: list[Tensor] = [p for p in network.parameters() if p.requires_grad]
        self.examples, self.dev, self.folder = examples, dev, folder
        self.objective = objective_of(run, tokenizers)
        self.reporter = reporter or Silent()
        self.tensorboard = tensorboard
        self.ranks = ranks
        self.mean = (
            RunningMean(self.parameters, self.settings.ema_decay)
            if self.settings.average == "ema"
            else None
        )
        self.precision = chosen_precision(self.settings.precision, self.device)
        alone = ranks.number == 1 and self.device.type == "cpu"
        self.cores = cores(self.settings.threads) if alone else 1
        self.optimizers = Optimizers(self.parameters, self.settings, self.cores)
        self.state = State(seconds=spent)
        self.tokens, self.busy = 0, 1e-9
        self._looked, self._look_cost = 0.0, 0.0
        self._stop = False

    def resume(self, folder: Path) -> bool:
        """Take up the newest checkpoint of a folder; whether there was one."""
        found = read_checkpoint(folder)
        if found is None:
            return False
        tensors, state = found
        with fitting(folder / "checkpoints"):
            restore(tensors, self.network, self.optimizers, self.mean)
            known = {name: state[name] for name in asdict(self.state) if name in state}
            if not isinstance(known.get("best"), list):  # as format 1 had it until 0.1
                known["best"] = None
            self.state = State(**{**known, "place": Place(*state["place"])})
        return True

    def train(self) -> Outcome:
        """Go on until the run is over or stopped; what is best is in the folder then."""
        log = Log(self.folder, self.tensorboard, self.state.step) if self.folder else None
        crew = Crew(self.cores)
        self.network.train()
        try:
            with self._interruptible():
                finished = self._updates(crew, log)
        finally:
            crew.close()
            self.reporter.close()
            if log:
                log.close()
        self.network.eval()
        return self.outcome(finished)

    def outcome(self, finished: bool) -> Outcome:
        """How the run stands, with figures of the weights kept: a folder's best, else the last."""
        passed = self.examples.passed(self.state.place)
        rate = self.tokens / self.busy
        look = (self.folder and self.state.best_look) or self.state.last_look
        return Outcome(finished, self.state.step, self.state.seconds, passed, look, rate)

    def _updates(self, crew: Crew, log: Log | None) -> bool:
        """Make updates; True if the run came to its end, False if it was stopped."""
        begun = time.monotonic() - self.state.seconds
        self.state.looks = int(self.share() * LOOKS)  # preparing took some
        saved, logged = time.monotonic(), time.monotonic()
        while self.share() < 1 and not self._patience_over() and not self.state.target_met:
            start = time.monotonic()
            loss, norm, count = self.update(crew)
            now = time.monotonic()
            self.state.seconds = now - begun
            self.tokens, self.busy = self.tokens + count, self.busy + now - start
            figures = {
                "step": self.state.step, "loss": loss, "norm": norm, "rate": self.rate(),
                "tokens_per_second": self.tokens / self.busy, "seconds": self.state.seconds,
            }  # fmt: skip
            share = self.share()
            planned = self.schedule_share()
            shown = share if planned >= 1 else planned
            self.reporter.update(shown, self._left(shown), figures)
            if log and (now - logged >= LOG_SECONDS or self.state.step == 1):
                log.write(self.state.step, figures)
                logged = now
            looked = self._look_due(share)
            if looked:
                self._look(crew, log)
                before, self.state.seconds = self.state.seconds, time.monotonic() - begun
                self._looked, self._look_cost = self.state.seconds, self.state.seconds - before
            due = time.monotonic() - saved >= 60 * self.settings.checkpoint_minutes
            stopping = self._stop
            if stopping or looked or due:
                self._checkpoint()
                saved = time.monotonic()
            if self._agree():
                if not stopping:  # it came while others were waited for
                    self._checkpoint()
                return False
        self._finish(crew, log)
        return True

    def _agree(self) -> bool:
        """Take the leader's clock, patience and target; whether it is to stop."""
        state = self.state
        told = self.ranks.agreed(state.seconds, state.since_best, state.target_met, self._stop)
        state.seconds, state.since_best, state.target_met = told[0], int(told[1]), bool(told[2])
        return bool(told[3])

    def update(self, crew: Crew) -> tuple[float, float, int]:
        """One update; the loss of a token, the gradient's norm, and how many tokens it saw."""
        state, settings = self.state, self.settings
        batches: list[Any] = []
        for _ in range(settings.accumulate):
            batch, state.place = self.examples.take(state.place)
            batches.append(self._hidden(batch, len(batches)))
        count = sum(batch.answers for batch in batches)
        loss = 0.0
        gradients: list[Tensor] = []
        for number, batch in enumerate(batches):
            part, found = self._gradients(crew, batch, number, count)
            part = self.ranks.summed(found, part)
            loss += part
            if gradients:
                for total, more in zip(gradients, found, strict=True):
                    total.add_(more)
            else:
                gradients = found
        norm = self.optimizers.step(crew, gradients, self.rate())
        state.step += 1
        if self.mean:
            self.mean.update(self.parameters, state.step)
        return loss, norm, count

    def _gradients(
        self, crew: Crew, batch: Lesson, number: int, count: int
    ) -> tuple[float, list[Tensor]]:
        seed, step, smoothing = self.settings.seed, self.state.step, self.settings.label_smoothing
        if self.device.type != "cpu":
            torch.manual_seed(hash((seed, step, number)))

        def work(shard: int, piece: Lesson) -> Tensor:
            stream = dropout_stream(seed, step, number, shard + self.ranks.rank)
            with stream, autocast(self.precision, self.device):
                return self.objective(self.network, piece, smoothing, 1 / count)

        pieces = [batch.to(self.device)] if self.cores == 1 else shards(batch, self.cores)
        return crew.gradients(pieces, work, self.parameters)

    def _hidden(self, batch: Any, number: int) -> Any:
        """The batch, with tokens hidden if the model is one that guesses hidden ones."""
        model = self.run_settings.model
        if not isinstance(model, MaskedLanguageModelSettings):
            return batch
        vocab = len(self.tokenizers.target)
        return masked(batch, model, vocab, 1 + self.settings.seed, self.state.step, number)

    def share(self) -> float:
        """The share of the run that is over: by time, updates or epochs, whichever is most."""
        state, settings = self.state, self.settings
        shares = [0.0]
        if settings.minutes is not None:
            shares.append(state.seconds / max(1e-9, 60 * settings.minutes - self._end_seconds()))
        if settings.steps is not None:
            shares.append(state.step / settings.steps)
        if settings.epochs is not None:
            shares.append(self.examples.passed(state.place) / max(1e-9, settings.epochs))
        return min(1.0, max(shares))

    def _end_seconds(self) -> float:
        """What the last validation, and writing the model after it, will take of the budget."""
        if self.dev is None or self.settings.minutes is None:
            return 0.0
        return self._look_cost + min(END_SECONDS, END_SHARE * 60 * self.settings.minutes)

    def is_over(self) -> bool:
        """Whether the run came to the limits that its settings have."""
        return self.state.ended == self._limits() or self.state.target_met

    def _limits(self) -> list[float | None]:
        return [self.settings.minutes, self.settings.steps, self.settings.epochs]

    def schedule_share(self) -> float:
        """The share of the schedule that is over: by its own updates, or sooner with the run."""
        planned = self.settings.schedule_steps
        return max(self.share(), min(1.0, self.state.step / planned) if planned else 0.0)

    def rate(self) -> float:
        """The learning rate of the next update."""
        return learning_rate(self.settings, Progress(self.state.step, self.schedule_share()))

    def _left(self, share: float) -> float:
        return self.state.seconds * (1 - share) / max(share, 1e-6)

    def _look_due(self, share: float) -> bool:
        if self.dev is None or share >= 1:  # the last look comes after the last update
            return False
        if self.settings.validate_every:
            return self.state.step % self.settings.validate_every == 0
        if int(share * LOOKS) <= self.state.looks:
            return False
        by_time = self.settings.minutes is not None  # then looks must not eat the budget
        return not by_time or self.state.seconds - self._looked >= LOOK_SHARE * self._look_cost

    def _patience_over(self) -> bool:
        return bool(self.settings.patience) and self.state.since_best >= self.settings.patience

    def _look(self, crew: Crew, log: Log | None) -> None:
        """Look at the development set with the averaged weights; keep them if they are best yet."""
        if self.dev is None:
            return
        if self.settings.average == "checkpoints":
            self._checkpoint()  # these weights are to be among those averaged
        with self._averaged():
            found = self.dev.look(
                self.network, self.run_settings, self.tokenizers, self.device, crew
            )
            better = self.state.best is None or list(found.goodness) > self.state.best
            better = better or self._weights_missing()
            target = self.settings.target_exact_match
            if target is not None and found.exact is not None and found.exact >= target:
                self.state.target_met = better = True
            if better and self.folder:
                save_weights(self.folder / WEIGHTS, self.network.state_dict())
        self.state.since_best = 0 if better else self.state.since_best + 1
        self.state.best = list(found.goodness) if better else self.state.best
        if not self.state.last_look:
            self.reporter.say(f"(best) marks the weights that are kept; by {found.compared_by}.")
        self.state.last_look = {"step": self.state.step, **asdict(found)}
        if better:
            self.state.best_look = self.state.last_look
        if log:
            log.look(self.state.step, found)
        self.reporter.say(_line(self.state.step, found, better))
        self.state.looks = max(self.state.looks + 1, int(self.share() * LOOKS))

    def _weights_missing(self) -> bool:
        return self.folder is not None and not (self.folder / WEIGHTS).is_file()

    def _finish(self, crew: Crew, log: Log | None) -> None:
        """The last look, the last checkpoint, and the best weights into the network."""
        self._checkpoint()
        if self.state.last_look.get("step") != self.state.step or self._weights_missing():
            self._look(crew, log)
        self.state.ended = self._limits()
        self._checkpoint()
        if not self.folder:
            self._put_mean()
            return
        if self.dev is None:
            with self._averaged():
                save_weights(self.folder / WEIGHTS, self.network.state_dict())
        put_weights(self.network, load_weights(self.folder / WEIGHTS), str(self.folder))

    def _put_mean(self) -> None:
        if self.mean:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, self.mean.mean)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The network with its averaged weights inside."""
        kept = [p.detach().clone() for p in self.parameters]
        if self.mean:
            self._put_mean()
        elif self.settings.average == "checkpoints" and self.folder:
            self._put_checkpoints_mean(self.folder)
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(self.parameters, kept)

    def _put_checkpoints_mean(self, folder: Path) -> None:
        paths = [folder / "checkpoints" / f"step-{n}" / TENSORS for n in steps(folder)]
        if not paths:
            return
        files = [load_weights(path) for path in paths[-self.settings.average_last :]]
        mean = mean_weights([weights_of(file) for file in files])
        with torch.no_grad():
            for name, parameter in self.network.named_parameters():
                if name in mean:
                    parameter.copy_(mean[name])

    def _checkpoint(self) -> None:
        if self.folder is None:
            return
        keep = self.settings.keep
        if self.settings.average == "checkpoints":
            keep = max(keep, self.settings.average_last)
        tensors = snapshot(self.network, self.optimizers, self.mean)
        write_checkpoint(self.folder, self.state.step, tensors, asdict(self.state), keep=keep)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM let the update end and stop the run; a second one stops at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: object) -> None:
            if self._stop:
                raise KeyboardInterrupt
            self._stop = True
            self.reporter.say("Stopping after this update …")

        old = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


def _device(asked: str) -> torch.device:
    if asked != "auto":
        return torch.device(asked)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def _line(step: int, found: Look, better: bool) -> str:
    return "  ".join([f"step {step}", *found.said()]) + ("  (best)" if better else "")
