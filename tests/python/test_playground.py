"""The page with a billiard to play with: beside the engine, by exact laws, and in a browser."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extra" / "billiard.html"
FLIGHTS = Path(__file__).with_name("flights.json")
"""What `cargo run --release --example billiard` prints."""

PROGRAM = """
const fs = require("fs"), vm = require("vm");
const [page, flights] = process.argv.slice(1).map((path) => fs.readFileSync(path, "utf8"));
const context = { module: {}, Math };
vm.runInNewContext(page.match(/<script id="engine">([^]*?)<\\/script>/)[1], context);
const B = context.module.exports;
let seed = 1;  // xorshift
const random = () => {
  seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5;
  return (seed >>> 0) / 4294967296;
};
const first = (x) => B.unit(x.slice(0, 3));
const angle = (a, b) => Math.acos(Math.min(1, B.dot(first(a), first(b))));
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
// The mean of a path, with a new direction after five radians on average.
function mean(normals, start, length, noise = 0) {
  let ball = B.launch(start, normals, random), sum = start.map(() => 0);
  const passes = () => random() < noise / (1 - noise);
  for (let path = 0; path < length;) {
    const next = B.nextWall(ball, normals), turn = -5 * Math.log(1 - random());
    const done = Math.min(next.angle, turn);
    sum = B.combine(1, sum, 1, B.arc(ball, done));
    ball = turn < next.angle ? B.launch(B.unit(B.ahead(ball, turn)), normals, random, ball.sides)
      : B.bounce(ball, normals, passes);
    path += done;
  }
  return sum;
}
// The mean of independent points of the sphere, each wrong side counting p / (1 - p).
function independent(normals, dimensions, n, noise = 0) {
  let sum = Array(dimensions).fill(0);
  for (let k = 0; k < n; k++) {
    const point = B.unit(sum.map(normal));
    const wrong = normals.filter((wall) => B.dot(wall, point) < 0).length;
    if (wrong === 0 || noise) sum = B.combine(1, sum, (noise / (1 - noise)) ** wrong, point);
  }
  return sum;
}
const results = JSON.parse(flights).map((set) => {
  const points = set.points.map(([x, y, label]) => ({ x, y, label }));
  const normals = B.walls(points), exact = B.exactCenter(normals);
  const { position, direction } = set, sides = normals.map(() => 1);
  let ball = { position, direction, sides, at: -1 };
  let off = 0;
  for (const [wall, place] of set.bounces) {
    ball = B.bounce(ball, normals);
    const change = B.combine(1, ball.position, -1, place);
    off = Math.max(off, ball.at === wall ? Math.hypot(...change) : 9);
  }
  const soft = B.walls(points, 0.5), margin = B.maximalMargin(points);
  const inside = B.unit([...margin, ...points.map(() => 0.3)]);
  return {
    off, error: set.error, center: angle(exact, set.center), margin: angle(exact, margin),
    path: angle(exact, mean(normals, margin, 5000)),
    noise: angle(mean(normals, margin, 30000, 0.2), independent(normals, 3, 60000, 0.2)),
    soft: angle(mean(soft, inside, 10000), independent(soft, 3 + points.length, 20000)),
  };
});
console.log(JSON.stringify(results));
"""


@pytest.fixture(scope="module")
def sets():
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    command = ["node", "-e", PROGRAM, PAGE, FLIGHTS]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_flights_are_those_of_the_engine(sets):
    assert len(sets) == 5
    for one in sets:
        assert one["off"] < 1e-9
        assert one["center"] < 4 * one["error"] < 0.01


def test_means_of_paths_follow_the_law(sets):
    """Of hard and soft walls and of label noise; the maximal margin is another point."""
    for one in sets:
        assert one["path"] < 0.01
        assert one["noise"] < 0.06
        assert one["soft"] < 0.05
    assert min(one["margin"] for one in sets) > 0.05


def test_the_page_in_a_browser():
    sync = pytest.importorskip("playwright.sync_api", reason="there is no playwright")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no chromium")
    errors = []
    with sync.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 1200}, reduced_motion="reduce")
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto(PAGE.as_uri())
        assert page.locator("#play").inner_text() == "Play"  # nothing moves by itself
        step = page.locator("#step")
        step.click()
        step.evaluate("button => { for (let i = 1; i < 400; i++) button.click(); }")
        words = page.locator("#status").inner_text().split()
        assert words[:2] == ["400", "bounces,"]
        assert float(words[words.index("from") - 1].rstrip("°")) < 3.0
        ink = "c => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
        for canvas in ("#plane", "#sphere"):
            assert page.locator(canvas).evaluate(ink) > 20
        n_points = page.evaluate("playground.points.length")
        plane = page.locator("#plane")
        plane.focus()
        for key in ("ArrowLeft", "ArrowUp", "Enter"):
            plane.press(key)
        added = page.evaluate("playground.points.at(-1)")
        assert added["label"] == 1
        assert math.hypot(added["x"] + 0.05, added["y"] - 0.05) < 1e-9
        plane.press("Enter")
        assert page.evaluate("playground.points.at(-1).label") == -1
        plane.press("Delete")
        assert page.evaluate("playground.points.length") == n_points
        page.select_option("#preset", "not separable")
        assert "No line separates these points" in page.locator("#status").inner_text()
        page.locator("#noise").fill("0.1")
        page.locator("#play").click()
        page.wait_for_function("playground.bounces > 3")
        browser.close()
    assert errors == []
