"""What else would answer the attention calls of a program, and in how much time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from natten_sim import _core
from natten_sim._error import Error, require_torch
from natten_sim._ranking import device_here
from natten_sim._ways import Way, Ways

if TYPE_CHECKING:
    from natten_sim._calls import Found


def _tiles_of(config: Any) -> tuple[int, int]:
    """Of Triton's configurations and Helion's."""
    if hasattr(config, "kwargs"):
        return int(config.kwargs["BLOCK_M"]), int(config.kwargs["BLOCK_N"])
    *_, q_tile, kv_tile = config["block_sizes"]
    return int(q_tile), int(kv_tile)


@dataclasses.dataclass(frozen=True)
class TunedCall:
    """A call of the sample, and what else would make it.

    Attributes:
        name: The function that was called.
        count: How often with these sizes.
        question: Keywords of count() that say what it attends to.
        mask: A rule or a BlockMask, where no such keyword does.
        backward: Whether gradients are needed, so that both passes count.
        now: The call that was made; None where it has no time.
        ways: Others with the same output, the fastest first.
        refusal: Why there are none, or no time; empty where there is.
        device: Whose times these are.
    """

    name: str
    count: int
    question: Mapping[str, Any]
    mask: Any
    backward: bool
    now: Way | None
    ways: tuple[Way, ...]
    refusal: str
    device: str

    def tiled(self, config: Any) -> dict[str, Any]:
        """Keywords of count() for a configuration's tiles.

        Args:
            config: Of Triton, with BLOCK_M and BLOCK_N; of Helion, whose last two block_sizes are those of Q and KV.

        Returns:
            The call's question with `q_tile` and `kv_tile`, for a layout of one axis.

        Raises:
            KeyError: The configuration has no such sizes.
        """
        q_tile, kv_tile = _tiles_of(config)
        return {**self.question, "q_tile": q_tile, "kv_tile": kv_tile}

    def early_config_prune(self, *, top: int = 8, ctas_per_sm: int = 1) -> Callable[..., list[Any]]:
        """natten_sim.triton.early_config_prune() for a Triton kernel that makes this call.

        Args:
            top: How many configurations are kept, at least one.
            ctas_per_sm: Workgroups resident on an SM, 1 or more.

        Returns:
            A hook for `prune_configs_by`.

        Raises:
            Error: When the hook is called: no rates of the device are known.
        """
        from natten_sim import triton

        return triton.early_config_prune(lambda config, arguments: self.tiled(config), top=top, device=self.device,
                                         ctas_per_sm=ctas_per_sm)

    def autotune_seed_configs(self, candidates: Iterable[Any], *, top: int = 4) -> list[Any]:
        """natten_sim.helion.autotune_seed_configs() for a Helion kernel that makes this call.

        Args:
            candidates: helion.Config objects.
            top: How many are returned, 1 or more.

        Returns:
            Some of the candidates, the fastest first.

        Raises:
            Error: No rates of the device are known.
        """
        from natten_sim import helion

        return helion.autotune_seed_configs(candidates, self.tiled, top=top, device=self.device)

    def autotune_config_filter(self, *, best: Any, within: float = 2.0) -> Callable[[Any], Any]:
        """natten_sim.helion.autotune_config_filter() for a Helion kernel that makes this call.

        Args:
            best: The configuration to compare with.
            within: How many times its floor is still kept, 1 or more.

        Returns:
            A filter for `autotune_config_filter`.

        Raises:
            Error: No rates of the device are known; `within` is below 1, or `best` makes no sense.
        """
        from natten_sim import helion

        return helion.autotune_config_filter(self.tiled, best=best, within=within, device=self.device)


class Tuning:
    """What tune() answers.

    Attributes:
        device: Whose times these are.
        calls: Those of the sample, the longest first: calls of one kind and size are one.
        costs: What was learned from trials, for a Catalog; None: nothing.
    """

    def __init__(self, device: str, calls: tuple[TunedCall, ...], costs: Mapping[str, Any] | None, found: tuple[Found, ...]) -> None:
        self.device, self.calls, self.costs, self._found = device, calls, costs, found

    def __repr__(self) -> str:
        return f"Tuning({self.device}: {len(self.calls)} calls, {self.now_ms:.3g} ms, {self.best_ms:.3g} ms in the fastest ways)"

    @property
    def now_ms(self) -> float:
        """Milliseconds of the calls that are made and have a time."""
        return sum(call.count * call.now.total for call in self.calls if call.now)

    @property
    def best_ms(self) -> float:
        """Milliseconds of the same calls, each made in its fastest way."""
        return sum(call.count * min([call.now, *call.ways], key=lambda way: way.total).total for call in self.calls if call.now)

    def learn(self, trials: Iterable[Mapping[str, Any]]) -> Tuning:
        """Answers again with what trials measured.

        Args:
            trials: A dict each: `call`, its number in `calls` from 0; `ms`, of one pass; and `kernel`, `q_tile`, `kv_tile`,
                `pass` where they differ from those of the call that is made.

        Returns:
            A Tuning whose `costs` are fitted to them (calibrate()).

        Raises:
            Error: No such call, or a trial that calibrate() refuses.

        Source:
            docs/calibration.md.
        """
        runs = [_run_of(self, trial) for trial in trials]
        costs = _core.calibrate(runs, source="trials").costs()
        return _tuning(self._found, self.device, _core.Catalog(costs=costs), costs)

    def __str__(self) -> str:
        lines = [f"{self.device}: attention of the sample takes {self.now_ms:.3g} ms, {self.best_ms:.3g} ms in the fastest ways"]
        for call in self.calls:
            lines += _lines_of(call)
        return "\n".join(lines) + "\n"


def _lines_of(call: TunedCall) -> list[str]:
    asked = call.question
    layout = "x".join(map(str, asked["input"]))
    mask = f", {call.mask}" if isinstance(call.mask, str) else ", block mask" if call.mask is not None else ""
    causal = ", causal" if any(asked.get("causal") or ()) else ""
    window = "" if asked["window"] == asked["input"] else f", window {'x'.join(map(str, asked['window']))}"
    lines = [f"{call.count} x {call.name}: {layout} tokens, batch {asked['batch_size']}, {asked['heads']} heads of "
             f"{asked['head_dim']}, {asked['dtype']}{window}{mask}{causal}{', with gradients' if call.backward else ''}"]
    if call.now:
        lines.append(f"  now {call.now.kernel}: {call.now.total:.3g} ms ({call.now.low:.3g} .. {call.now.high:.3g})")
    if call.refusal:
        lines.append(f"  {call.refusal}")
    for way in call.ways[:3]:
        gain = "" if way.gain is None else f", {way.gain:.2f}x ({way.gain_low:.2f} .. {way.gain_high:.2f})"
        lines.append(f"  {way.kernel}: {way.total:.3g} ms{gain}: {way.call}")
    return lines


def _run_of(tuning: Tuning, trial: Mapping[str, Any]) -> dict[str, Any]:
    """A row for calibrate()."""
    number = trial["call"]
    if not 0 <= number < len(tuning.calls):
        accepted = f"0..{len(tuning.calls) - 1}, the number of a call"
        raise Error(f"call: {number} is not valid; accepted: {accepted}", "call", str(number), accepted)
    call = tuning.calls[number]
    way = next((way for way in [call.now, *call.ways] if way and way.kernel == trial.get("kernel", way.kernel)), None)
    question = {**call.question, **(dict(way.question) if way else {})}
    run = {"kernel": trial.get("kernel", question.get("kernel")), "device": tuning.device, "ms": trial["ms"],
           "pass": trial.get("pass", "forward"), "batch": question["batch_size"]}
    for name in ("input", "window", "stride", "dilation", "causal", "q_tile", "kv_tile", "heads", "heads_kv", "head_dim", "dtype"):
        value = trial.get(name, question.get(name))
        if value is not None:
            run[name] = value
    if "q_tile" not in run:  # a kernel's own
        backward = run["pass"] == "backward"
        asked = {name: question[name] for name in ("input", "window", "causal", "heads", "heads_kv", "head_dim", "dtype") if name in question}
        own = _core.count(**asked, kernel=run["kernel"], device=tuning.device, backprop=backward).input
        run["q_tile"], run["kv_tile"] = ((own.backward_q_tile, own.backward_kv_tile) if backward else (own.q_tile, own.kv_tile))
    return run


def _tuned(found: Found, device: str, catalog: Any) -> TunedCall:
    ways = Ways(found, device, catalog)
    now, others, refusal = None, [], found.refusal
    if not refusal:
        try:
            now, others = ways.now(), ways.others()
        except Error as error:
            refusal = str(error)
        if now is None and not refusal:
            refusal = f"no time of the call that is made, by {found.kind} on {device}"
    if now:
        best = now
        others = [dataclasses.replace(way, gain=best.total / way.total, gain_low=best.low / way.high, gain_high=best.high / way.low)
                  for way in others if (way.kernel, way.question) != (best.kernel, best.question)]
    return TunedCall(found.name, found.count, dict(found.question), found.mask, found.backward, now, tuple(others), refusal, device)


def _tuning(found: Sequence[Found], device: str, catalog: Any, costs: Mapping[str, Any] | None) -> Tuning:
    pairs = [(_tuned(each, device, catalog), each) for each in found]
    pairs.sort(key=lambda pair: -pair[0].count * (pair[0].now.total if pair[0].now else 0))
    return Tuning(device, tuple(call for call, _ in pairs), costs, tuple(each for _, each in pairs))


def tune(function: Callable[..., Any], sample: Any, *, device: str | None = None, catalog: Any = None) -> Tuning:
    """Runs a function on a sample, finds its attention calls, and says what else would make each, with the gain.

    Calls of PyTorch's scaled_dot_product_attention and fused layers, of FlexAttention, NATTEN, flash-attn and Helion are
    seen, not those inside of what torch.compile has compiled. With tensors of the meta device no attention is computed, so
    that a large model needs no GPU. The call that scaled_dot_product_attention makes is taken to be FlashAttention-2.

    Args:
        function: A model or another callable. It is run once.
        sample: Its argument; a tuple or list of arguments, or a dict of keywords.
        device: Whose times are told, see devices() [the GPU that PyTorch would run on].
        catalog: Devices and times of your own [those that ship].

    Returns:
        A Tuning; str() of it is the report.

    Raises:
        Error: The device is not in the catalog, or is not named where there is no GPU.
        ModuleNotFoundError: PyTorch is not installed.

    Source:
        Times are those of time() and mask(): docs/time.md, docs/masks.md.
    """
    require_torch("natten_sim.tune()")
    from natten_sim._calls import Watch  # needs NumPy

    whose = device or device_here()
    _core.count(input=1, device=whose, catalog=catalog)  # refuses an unknown one before anything is run
    with Watch() as watch:
        if isinstance(sample, dict):
            function(**sample)
        else:
            function(*sample) if isinstance(sample, tuple | list) else function(sample)
    return _tuning(watch.calls, whose, catalog, None)
