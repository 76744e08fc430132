# SPDX-License-Identifier: Apache-2.0
"""The page of a run's report in the browser, and the oracle of its figures: from the values themselves, scaled in Python,
with shares rounded to the byte in which the page holds them."""

import json
import math
import random
import struct
import subprocess

import page_data
from chromium import PageCase
from made_files import f32, safetensors
from selenium.webdriver.support.ui import Select

STEPS = (0, 50, 60, 1000)
LAYERS = ("fc1", "</script><script>window.hit=1</script>/&amp;", "head")
ROLES = ("act", "dAct", "weight", "dW", "update")


def safetensors_of(tensors, metadata=None):
    """A file of the values of each tensor, in binary32."""
    return safetensors(*((name, "F32", [len(values)], f32(*values)) for name, values in tensors.items()),
                       metadata=metadata)


def make_run():
    """Gradients of two binades per step around what binary16 loses; `head` has no act and misses a step."""
    draw = random.Random(7)
    run = {}
    for step in STEPS:
        for depth, layer in enumerate(LAYERS):
            for role in ROLES:
                if layer == "head" and (role == "act" or step == 60):
                    continue
                low = -20 - 4 * depth - step // 100 if role.startswith("d") else -8
                values = [draw.uniform(1, 2) * 2.0 ** draw.randint(low - 4, low + 4) for _ in range(60)]
                run[step, layer, role] = list(struct.unpack("<60f", f32(*values))) + [0.0] * 4
    return run


def share_to_zero(tensors, k):
    """The share of the non-zero values that become zero in binary16 at the scale 2^k: those up to 2^-25."""
    values = [v for tensor in tensors for v in tensor if v != 0]
    return sum(math.ldexp(v, k) <= 2.0**-25 for v in values) / len(values)


def rounded(share):
    """The share as the byte in the page holds it."""
    return page_data.share(page_data.code(share))


def lost_l2(tensors, k):
    values = [v for tensor in tensors for v in tensor]
    lost = math.fsum(v * v for v in values if math.ldexp(v, k) <= 2.0**-25)
    return math.sqrt(lost / math.fsum(v * v for v in values))


class TimePage(PageCase):
    program = "binade"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_tensors = make_run()
        named = {f"step{s:05d}/{layer}/{role}": v for (s, layer, role), v in cls.run_tensors.items()}
        cls.report = cls.page_of("run", named)

    def setUp(self):
        super().setUp()
        self.open("run")

    @classmethod
    def page_of(cls, name, tensors):
        (cls.path / f"{name}.safetensors").write_bytes(safetensors_of(tensors))
        return cls.report_on(name, [f"{name}.safetensors"])

    @classmethod
    def report_on(cls, name, files):
        subprocess.run([cls.program, "report", "-q", *files, "-o", f"{name}.html", "--json", f"{name}.json"],
                       cwd=cls.path, check=True, timeout=120)
        return json.loads((cls.path / f"{name}.json").read_text(encoding="utf-8"))

    def open(self, name):
        self.browser.get((self.path / f"{name}.html").as_uri())
        self.wait_until_drawn()

    def slide(self, k):
        self.script("""const slider = document.getElementById('slider');
            slider.value = arguments[0];
            slider.dispatchEvent(new Event('input', {bubbles: true}));""", k)

    def choose(self, which, text):
        Select(self.find(f"#time-{which}")).select_by_visible_text(text)

    def lines(self, figure="shares"):
        """Line -> {step: value} of the points drawn."""
        points = self.script("""return [...document.querySelectorAll(`#time-${arguments[0]} .line`)].map((line) =>
            [line.dataset.line, [...line.querySelectorAll('circle')].map((point) =>
              [Number(point.dataset.step), Number(point.dataset.value)])]);""", figure)
        return {name: dict(values) for name, values in points}

    def tensors(self, step, layer, role):
        return [v for (s, x, r), v in self.run_tensors.items()
                if s == step and r == role and layer in (None, x)]

    def cell_color(self, column, line=0):
        """Red, green and blue in the middle of a cell of the map, found by its keys; lines run through all roles."""
        return self.script("""const canvas = document.querySelector('#time-map canvas');
            const key = (name) => canvas.dispatchEvent(new KeyboardEvent('keydown', {key: name, bubbles: true}));
            key('PageUp');
            for (let i = 0; i < 9; i += 1) key('PageUp');
            key('Home');
            for (let i = 0; i < arguments[1]; i += 1) key('ArrowDown');
            for (let i = 0; i < arguments[0]; i += 1) key('ArrowRight');
            const [frame, box] = [document.querySelector('#time-map .cursor'), canvas].map((one) => one.getBoundingClientRect());
            const probe = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
            probe.drawImage(canvas, frame.x - box.x + frame.width / 2, frame.y - box.y + frame.height / 2, 1, 1, 0, 0, 1, 1);
            return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);""", column, line)
