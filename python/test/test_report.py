# SPDX-License-Identifier: Apache-2.0
"""Reports: as text, as a notebook shows them, and drawn."""
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import tulle

A = sp.csr_matrix(sp.diags([-np.ones(59), 4 * np.ones(60), -np.ones(59)], [-1, 0, 1]))


def test_text_and_table():
    tulle.matmul(A, A)
    r = tulle.report()
    assert r["call"] == "matmul" and r["flops"] > 0 and "flops" in str(r)
    assert r._repr_html_().startswith("<table>") and "<th style='text-align:left'>flops</th>" in r._repr_html_()
    tulle.cg(A, np.ones(60))
    r = tulle.report()
    assert f"{r['iterations'] + 1} values" in str(r) and f"<td>{r['iterations'] + 1} values</td>" in r._repr_html_()


@pytest.fixture
def axes():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt.subplots()[1]
    plt.close("all")


def test_plots(axes, tmp_path):
    tulle.matmul(A, A)
    r = tulle.report()
    assert r.plot(axes) is axes
    names = [label.get_text() for label in axes.get_xticklabels()]
    assert names == ["compute", "communicate", "accumulate", "wait"]
    heights = [bar.get_height() for bar in axes.patches]
    assert heights == [r[name][which] for which in ("max", "mean") for name in names]
    axes.figure.savefig(tmp_path / "phases.png")
    tulle.cg(A, np.ones(60))
    drawn = tulle.report().plot()  # axes of its own
    assert drawn is not axes and drawn.get_yscale() == "log"
    assert list(drawn.lines[0].get_ydata()) == tulle.report()["history"]
    drawn.figure.savefig(tmp_path / "residuals.png")
    tulle.matfun("sign:mu=4", A, blocks=1, method="newton-schulz")
    drawn = tulle.report().plot()
    assert list(drawn.lines[0].get_ydata()) == [step["residual"] for step in tulle.report()["history"]]
    tulle.sddmm(A, np.ones((60, 2)), np.ones((60, 2)))
    with pytest.raises(ValueError, match="neither residuals nor phases"):
        tulle.report().plot(axes)


def test_plots_need_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    tulle.matmul(A, A)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        tulle.report().plot()
