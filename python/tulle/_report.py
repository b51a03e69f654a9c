# SPDX-License-Identifier: Apache-2.0
"""Reports of calls: dictionaries that print as tables."""
import functools
import html
import inspect
import numbers
import sys

from ._team import last
from ._warnings import say


class Report(dict):
    """What a call did: its keys and values. A notebook shows it as a table; plot draws it."""

    def _rows(self):
        for key, value in self.items():
            if isinstance(value, dict):
                value = ", ".join(f"{name} {_text(part)}" for name, part in value.items())
            elif key == "warnings":
                value = "; ".join(value)
            elif isinstance(value, list):
                value = f"{len(value)} values"
            yield str(key), _text(value)

    def __str__(self):
        width = max((len(key) for key, _ in self._rows()), default=0)
        return "\n".join(f"{key:<{width}}  {value}" for key, value in self._rows())

    def _repr_html_(self):
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>"
            for key, value in self._rows()
        )
        return f"<table>{rows}</table>"

    def _phases(self):
        """{name: (most, mean)}: seconds of processing elements."""
        return {key.removesuffix("_seconds"): (value["max"], value["mean"]) for key, value in self.items()
                if isinstance(value, dict) and value.keys() == {"max", "mean"}}

    def plot(self, ax=None):
        """Draws the residuals of an iteration, else the seconds of the phases of a call. Returns matplotlib's axes.

        ax: axes to draw into; None: new ones.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as cause:
            raise ImportError("plots need matplotlib: pip install matplotlib") from cause
        residuals = [step["residual"] if isinstance(step, dict) else step for step in self.get("history", ())]
        phases = self._phases()
        if not residuals and not phases:
            raise ValueError(f"the report of {self.get('call', 'this call')} has neither residuals nor phases")
        ax = plt.subplots()[1] if ax is None else ax
        if residuals:
            ax.semilogy(residuals, marker=".")
            ax.set(title=str(self.get("call", "")), xlabel="iteration", ylabel="residual")
            return ax
        for shift, name in enumerate(("max", "mean")):
            places = [i + 0.4 * shift for i in range(len(phases))]
            ax.bar(places, [both[shift] for both in phases.values()], 0.4, label=name)
        ax.set_xticks([i + 0.2 for i in range(len(phases))], list(phases))
        ax.set(title=str(self.get("call", "")), ylabel="seconds")
        ax.legend()
        return ax


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _wrong_type(call, args, kwargs):
    """The error for an argument that the library has no type for; None: not known which."""
    given = inspect.signature(call).bind(*args, **kwargs).arguments
    for name, parameter in inspect.signature(call).parameters.items():
        if name not in given or parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        value, usual = given[name], parameter.default
        if isinstance(usual, float) and not isinstance(value, numbers.Real):
            return TypeError(f"{name} is {value!r}: a real number is required")
        if isinstance(usual, float) and not abs(value) <= sys.float_info.max:
            return OverflowError(f"{name} is beyond the numbers of 64 bits")
        if name in ("algorithm", "device") and not (value is None or isinstance(value, str)):
            return TypeError(f"{name} is {value!r}: a name is required")
    return None


def named_types(call):
    """A call whose error for an argument of a type that the library cannot have names the argument."""

    @functools.wraps(call)
    def named(*args, **kwargs):
        try:
            return call(*args, **kwargs)
        except TypeError as failure:
            if "incompatible function arguments" not in str(failure):
                raise
            error = _wrong_type(call, args, kwargs)
            if error is None:
                raise
        raise error

    return named


def reporting(call):
    """A public call that makes a report: where it fails before that, the report of the call before is forgotten."""
    call = named_types(call)

    @functools.wraps(call)
    def reported(*args, **kwargs):
        before = getattr(last, "report", None)
        try:
            return call(*args, **kwargs)
        except BaseException:
            if getattr(last, "report", None) is before:
                last.report = None
            raise

    return reported


def keep(call, figures):
    """Makes the report of a call, which is this thread's last from now on, and says its warnings."""
    text = figures.pop("warnings", "")
    last.report = made = Report(call=call, **figures)
    lines = text.splitlines()
    if lines:
        made["warnings"] = lines
        say(lines)
    return made


def report():
    """The Report of this thread's last call; None if there was none, or it failed."""
    made = getattr(last, "report", None)
    if isinstance(made, tuple):
        call, figures = made
        made = last.report = Report(call=call, **figures())
    return made
