# SPDX-License-Identifier: Apache-2.0
"""Reports of calls: dictionaries that print as tables."""
import html
import threading

_last = threading.local()


class Report(dict):
    """What a call did: its keys and values. A notebook shows it as a table."""

    def _rows(self):
        for key, value in self.items():
            if isinstance(value, dict):
                value = ", ".join(f"{name} {_text(part)}" for name, part in value.items())
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


def _text(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def keep(call, figures):
    """Makes the report of a call, which is this thread's last from now on."""
    _last.report = Report(call=call, **figures)
    return _last.report


def report():
    """The Report of this thread's last call; None if there was none."""
    return getattr(_last, "report", None)
