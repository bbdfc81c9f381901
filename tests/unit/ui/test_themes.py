from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from textual.color import Color

from iodash.model.settings import THEMES
from iodash.ui import styles, themes

PAINTED = [name for name in themes.THEMES if not themes.theme(name).ansi]
READABLE = ("read", "write", "ok", "warn", "alarm", "quiet", "strong")


def _luminance(colour: Color) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in colour.rgb)
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(Color.parse(one)), _luminance(Color.parse(other))), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _as_seen(colour: str, matrix: tuple[tuple[float, float, float], ...]) -> tuple[float, ...]:
    """The colour in linear light as somebody with a missing cone type sees it (Viénot, Brettel and Mollon 1999)."""
    linear = [(channel / 255) ** 2.2 for channel in Color.parse(colour).rgb]
    return tuple(max(0.0, sum(a * b for a, b in zip(row, linear, strict=True))) ** (1 / 2.2) for row in matrix)


PROTAN = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))
DEUTAN = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))


@pytest.mark.parametrize("name", PAINTED)
def test_every_word_can_be_read_on_both_grounds(name: str) -> None:
    theme = themes.theme(name)
    least = 7.0 if name == "high-contrast" else 4.5
    for ground in (theme.background, theme.surface):
        assert ground is not None
        assert theme.foreground is not None
        assert contrast(theme.foreground, ground) >= 7
        for word in READABLE:
            assert contrast(theme.variables[word], ground) >= least, (word, ground)


@pytest.mark.parametrize("name", PAINTED)
def test_the_selected_row_can_be_read(name: str) -> None:
    words = themes.theme(name).variables
    assert contrast(words["chosen"], words["chosen-text"]) >= 7


@pytest.mark.parametrize("name", PAINTED)
@pytest.mark.parametrize("eyes", [PROTAN, DEUTAN])
def test_reads_and_writes_differ_without_red_or_green(name: str, eyes: tuple[tuple[float, float, float], ...]) -> None:
    words = themes.theme(name).variables
    read, write = _as_seen(words["read"], eyes), _as_seen(words["write"], eyes)
    assert max(abs(a - b) for a, b in zip(read, write, strict=True)) > 0.25


@pytest.mark.parametrize("eyes", [PROTAN, DEUTAN])
def test_the_colour_blind_theme_tells_all_states_apart(eyes: tuple[tuple[float, float, float], ...]) -> None:
    words = themes.theme("colour-blind").variables
    for one, other in itertools.combinations(("ok", "warn", "alarm"), 2):
        distance = max(
            abs(a - b) for a, b in zip(_as_seen(words[one], eyes), _as_seen(words[other], eyes), strict=True)
        )
        assert distance > 0.15, (one, other)


def test_every_theme_knows_every_word_that_the_styles_use() -> None:
    for name in themes.THEMES:
        assert set(READABLE) | {"rule", "chosen", "chosen-text"} <= set(themes.theme(name).variables)
    used = set(re.findall(r"\$([a-z-]+)", "".join(path.read_text() for path in styles.styles_folder().rglob("*.tcss"))))
    textual = {"background", "foreground", "surface"}
    assert used <= set(themes.VARIABLES) | textual


def test_an_unknown_theme_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no theme 'solarized'; the themes are dark, light, .*terminal"):
        themes.first_theme("solarized")


def test_the_key_goes_round_all_themes() -> None:
    seen = [themes.THEMES[0]]
    while len(seen) <= len(themes.THEMES):
        seen.append(themes.next_theme(seen[-1]))
    assert seen[:-1] == list(themes.THEMES)
    assert seen[-1] == seen[0]
    assert themes.next_theme("textual-dark") == themes.THEMES[0]


def test_no_color_starts_with_the_terminals_own_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert themes.first_theme(None) == "dark"
    assert themes.first_theme("light") == "light"
    monkeypatch.setenv("NO_COLOR", "")
    assert not themes.no_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert themes.first_theme("light") == "terminal"


def test_the_stylesheets_are_found_in_a_checkout_and_in_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {"lines.tcss", "gpus.tcss"} <= {path.name for path in styles.stylesheets()}
    assert Path(styles.screen_stylesheet("help")).is_file()
    packaged = tmp_path / "styles"
    packaged.mkdir()
    (packaged / "one.tcss").touch()
    monkeypatch.setattr(styles, "_PLACES", (packaged, tmp_path / "none"))
    assert [path.name for path in styles.stylesheets()] == ["one.tcss"]
    monkeypatch.setattr(styles, "_PLACES", (tmp_path / "none",))
    with pytest.raises(FileNotFoundError, match="install iodash again"):
        styles.stylesheets()


def test_the_options_name_the_same_themes() -> None:
    assert themes.THEMES == THEMES
