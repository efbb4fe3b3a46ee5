import re
from html import unescape

import pytest
from markdown_it import MarkdownIt

from mlcdr.cli.printing import print_table
from mlcdr.errors import join_words
from mlcdr.tables.escaping import escape_latex
from mlcdr.tables.sheet import Sheet, Text, text

ODD = ["a_b", "_lead", "x|y", "*star*", "$5 & $6", "<b>", "`code`", "[link](url)", "back\\slash", "1 ± 2 –"]


def sheet(rows, stub=1, header=None, **more):
    header = header or ["Name", *(f"c{k}" for k in range(len(rows[0]) - 1))]
    cells = tuple(tuple(c if isinstance(c, Text) else text(c) for c in row) for row in rows)
    return Sheet(text("Caption"), tuple(map(text, header)), cells, stub, **more)


def test_markdown_shows_every_text_literally():
    """A Markdown parser reads back what was put in."""
    rows = [[odd, Text(odd, "", bold=k % 2 == 0)] for k, odd in enumerate(ODD)]
    html = MarkdownIt("commonmark").enable("table").render(sheet(rows).markdown())
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)[1:]]
    assert [[unescape(re.sub("</?strong>", "", c)) for c in row] for row in found] == [[odd, odd] for odd in ODD]
    assert [row[1].startswith("<strong>") for row in found] == [k % 2 == 0 for k in range(len(ODD))]


def test_latex_has_a_command_for_each_character_that_it_lacks():
    latex = escape_latex('<>|"~^–−±×†‡↓↑≤≥∩∪Σ‖²χα∞ᵀ')
    assert latex.isascii()
    assert not set('<>"~') & set(latex)
    assert escape_latex("|^") == r"\textbar{}\textasciicircum{}"


def test_markdown_begins_no_block_within_a_text():
    caption, note = "# Caption &lt;\n# no heading", "- no list\r\n===\x1b[2J"
    page = (
        MarkdownIt("commonmark")
        .enable("table")
        .render(Sheet(text(caption), (text("A"),), (), 1, notes=(note,)).markdown())
    )
    assert re.findall("<(h1|li|hr)", page) == []
    assert "&amp;lt;" in page
    assert "\x1b" not in page


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_terminal_is_never_overrun_and_nothing_is_lost(width, colour):
    numbers = [[f"0.{i}{j}23 ± 0.{j}{i}" for j in range(9)] for i in range(4)]
    rows = [[f"row{i}", *(Text(c, "", bold=(i == j)) for j, c in enumerate(row))] for i, row in enumerate(numbers)]
    shown = re.sub("\x1b\\[\\dm", "", sheet(rows).terminal(width, colour))
    assert max(map(len, shown.splitlines())) <= max(width, 24)
    for i, row in enumerate(numbers):
        for j, number in enumerate(row):
            star = "*" if i == j and not colour else ""
            assert (number + star) in shown or (number.replace(" ", "") + star) in shown


def test_a_table_is_set_closer_before_it_is_broken():
    rows = [["a", *["0.1234 ± 0.0012"] * 3]]
    assert "0.1234 ± 0.0012" in sheet(rows).terminal(55)
    closer = sheet(rows).terminal(50)
    assert "0.1234±0.0012" in closer
    assert closer.count("Name") == 1
    broken = sheet(rows).terminal(45)
    assert "0.1234 ± 0.0012" in broken
    assert broken.count("Name") == 2


def test_columns_are_aligned():
    rows = [["a", "1.5", "yes"], ["long", Text("10.5", "", bold=True), "n"]]
    lines = sheet(rows, left=(2,), header=["N", "x", "V"]).terminal(80).splitlines()
    assert lines[2:6] == ["N        x   V", "────────────────", "a      1.5   yes", "long  10.5*  n"]


def test_a_piped_table_is_that_of_a_terminal_of_100_columns(monkeypatch, capsys):
    table = sheet([["d", "A", "1"], ["", "B", "2"], ["e", "A", "3"]], stub=2, header=["D", "M", "c"], groups=(2,))
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table(table)
    assert capsys.readouterr().out.rstrip("\n") == table.terminal(100).rstrip("\n")


def test_small_words():
    assert [join_words(list("abc")[:k]) for k in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert escape_latex("50% of {x}_1 & ~y^2 ± 1 – #") == (
        r"50\% of \{x\}\_1 \& \textasciitilde{}y\textasciicircum{}2 $\pm$ 1 -- \#"
    )


def test_html_shows_every_text_literally_and_says_what_heads_are():
    rows = [["a<b", "x&y", Text("1", "", bold=True)], ["", '"q"', "2"], ["c", "</td>", "–"]]
    made = sheet(rows, stub=2, header=["G", "<N>", "c"], groups=(0, 2), notes=("n < 1",), left=()).html(sortable=True)
    assert made == (
        '<div class="scroll" role="group" tabindex="0" aria-label="Caption">\n'
        '<table class="sortable">\n'
        "<caption><span>Caption</span></caption>\n"
        '<thead><tr><th scope="col" class="left">G</th><th scope="col" class="left last-label">&lt;N&gt;</th>'
        '<th scope="col">c</th></tr></thead>\n'
        "<tbody>\n"
        '<tr><th scope="row" class="left">a&lt;b</th><th scope="row" class="left">x&amp;y</th>'
        "<td><strong>1</strong></td></tr>\n"
        '<tr><th scope="row" class="left"><span class="again">a&lt;b</span></th>'
        '<th scope="row" class="left">&#34;q&#34;</th><td>2</td></tr>\n'
        '<tr class="group"><th scope="row" class="left">c</th><th scope="row" class="left">&lt;/td&gt;</th>'
        "<td>–</td></tr>\n"
        "</tbody>\n</table>\n</div>\n"
        '<ul class="notes"><li>n &lt; 1</li></ul>\n'
    )
    assert "<table>" in sheet([["a", "1"]]).html()


@pytest.mark.parametrize("begins", ["[2mm]", "*", "  [x"])
def test_no_row_begins_with_an_argument_of_the_command_before_it(begins):
    odd = sheet([[begins, "1"], [begins, "2"]], header=[begins, "b"], notes=("a", begins), groups=(1,))
    latex = odd.latex()
    assert not re.search(r"(\\\\|\\toprule|\\midrule|\\addlinespace)\s*[\[*]", latex)
    assert latex.count("{}") >= 4
