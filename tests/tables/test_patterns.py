"""The texts of layouts: what is put in, and what of LaTeX they may hold."""

from __future__ import annotations

import pytest
from matplotlib.mathtext import MathTextParser

from mlcdr.tables.patterns import _COMMANDS, check_formulas, check_names, template


def test_names_are_replaced_and_formulas_kept():
    got = template("$M$ = {value} $K$, 100% of {name}", value="20%", name="a_$b$")
    assert got.plain == "M = 20% K, 100% of a_$b$"
    assert got.latex == r"$M$ = 20\% $K$, 100\% of a\_\$b\$"
    assert template("$x_{1} = {value}$", value="a±b").latex == r"$x_{1} = \mbox{a$\pm$b}$"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("costs $5", "a dollar sign has no partner"),
        (r"$\input{/etc/hostname}$", r"\\input is not known in mathematics"),
        (r"$\immediate\write18{x}$", r"\\immediate is not known"),
        ("$^^5cinput x$", r"\^\^ is not known"),
        ("$a%b$", "% is not known"),
        ("$a}{b$", "a brace has no partner"),
        (r"$\hat{a}}$", "a brace has no partner"),
        (r"$\hat{a$", "a brace has no partner"),
        (r"$ \{value} $", "a brace has no partner"),
        ("$$ a $$", "nothing stands between"),
        ("$x_{a_}$", "nothing stands between"),
        ("$" + "{" * 11 + "}" * 11 + "$", "more than 10 braces"),
        ("a" * 1001, "1,001 letters; 1,000 are taken"),
        ("{other}", r"\{other\} is unknown \(known: \{value\}\)"),
        ("{value:>400000000}", "a brace that is not part of a name"),
        ("{value.__class__}", "a brace that is not part of a name"),
    ],
)
def test_what_is_more_than_a_name_or_a_formula_is_refused(pattern, message):
    with pytest.raises(ValueError, match=message):
        check_names(pattern, ("value",))


def test_figures_know_each_command():
    parser = MathTextParser("path")
    braces = {"frac": "{a}{b}", "sqrt": "{a}", "overline": "{a}"} | dict.fromkeys(
        ["mathrm", "mathbf", "mathit", "mathcal"], "{A}"
    )
    for command in "".join(_COMMANDS.split()).split("|"):
        parser.parse(check_formulas(rf"$\{command} {braces.get(command, 'a')}$"))
