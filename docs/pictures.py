"""Pictures of the gallery, made small from the figures of results folders: `python docs/pictures.py RESULTS...`.

A folder is that of a config of a paper, such as `results/chen_lin_2012_figure1` after `mlcdr reproduce
chen_lin_2012/figure1`. `make docs` then puts the pictures into the gallery.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from mlcdr.papers import recipes

IMAGES = Path(__file__).parent / "images"
WIDTH, COLOURS = 900, 256

if __name__ == "__main__":
    named = {each.outline.name: each.name.replace("/", "-") for each in recipes.recipes().values()}
    for folder in map(Path, sys.argv[1:]):
        for path in sorted((folder / "figures").glob("*.png")):
            with Image.open(path) as figure:
                height = round(figure.height * WIDTH / figure.width)
                small = figure.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)
            target = IMAGES / f"{named[folder.name]}.{path.stem}.png"
            # an octree keeps the colour of a line that few pixels have
            small.quantize(COLOURS, Image.Quantize.FASTOCTREE).save(target, optimize=True)
            print(target)
