"""Opens timeline pages in headless Chromium and uses them as a reader would.

    timeline_page_test.py PAGE.html...     pages that write_timeline wrote

What all pages do alike is tested on two of them, which take turns; with SLIMPACK_FULL=1 on each.

Exit status 77, with the reason, where Chromium is not installed. Python's standard library only: the browser is
driven over its debugging pipe, so nothing listens on a port.
"""

import contextlib
import fcntl
import functools
import itertools
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
         "--disable-background-networking", "--disable-component-update", "--disable-extensions",
         "--disable-dev-shm-usage", "--window-size=1600,1000", "--remote-debugging-pipe",
         # One process for all pages, which takes less time than to start one for each page that is loaded.
         "--renderer-process-limit=1", "--disable-site-isolation-trials", "--disable-back-forward-cache",
         "--disable-features=SpareRendererForSitePerProcess"]
FULL = bool(os.environ.get("SLIMPACK_FULL"))
PIXELS = "[...$('lanes').getContext('2d').getImageData(0, 0, $('lanes').width, $('lanes').height).data].reduce((a, b, k) => (a * 31 + b) % 1000003, 7)"


class Browser:
    """One Chromium with one page, spoken to in the DevTools protocol."""

    def __init__(self, executable, profile):
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def take_pipes():  # the browser reads file descriptor 3 and writes 4
            ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (to_browser, from_browser)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen([executable, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
                                        preexec_fn=take_pipes, close_fds=False, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.last, self.session, self.events = b"", 0, None, []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)
        empty = pathlib.Path(profile, "empty.html")
        empty.touch()
        self.empty = empty.as_uri()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.into], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium did not answer within a minute")
            more = os.read(self.into, 1 << 20)
            if not more:
                raise ConnectionError("Chromium ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def settle(self):
        """Waits for what the last input asked to be drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def open(self, address):
        """Loads a page anew. An empty file is between, since of the same page Chromium would change the address alone."""
        self.call("Page.navigate", url=self.empty)
        self.events.clear()
        loader = self.call("Page.navigate", url=address)["loaderId"]
        deadline = time.monotonic() + 60
        while not any(e.get("method") == "Page.lifecycleEvent" and e["params"]["loaderId"] == loader and e["params"]["name"] == "load"
                      for e in self.events):
            self.events.append(self.receive(deadline))
        self.settle()

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)
        self.settle()

    def key(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def close(self):
        os.close(self.out)
        os.close(self.into)
        self.process.terminate()
        self.process.wait(30)


turns = itertools.count()


def on_each_page(test):
    @functools.wraps(test)
    def run(self):
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri())
                test(self, page)
    return run


def on_pages_in_turn(test):
    """Runs a test of what all pages do alike on two of them, those whose turn it is; with SLIMPACK_FULL=1 on each page. Pages take
    turns in the order of such tests, so that each is used by some."""
    turn = next(turns)

    @functools.wraps(test)
    def run(self):
        for page in pages_of(turn, self.pages):
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri())
                test(self, page)
    return run


def pages_of(turn, pages):
    return pages if FULL else [pages[(2 * turn + k) % len(pages)] for k in range(min(2, len(pages)))]


def on_each_measured_tab(kind):
    """Runs a test on each tab of that kind, "measured" or "both"; passed over where no page has a measured step."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            found = 0
            for page in self.pages:
                for tab in self.tabs_of(page, kind):
                    found += 1
                    with self.subTest(page=page.name, tab=tab):
                        self.browser.open(f"{page.as_uri()}#tab={tab}")
                        test(self)
            if found == 0:
                self.skipTest("no page has a measured step")
        return run
    return decorate


class TimelinePage(unittest.TestCase):
    browser = None
    pages = []

    @classmethod
    @functools.cache
    def tabs_of(cls, page, kind):
        cls.browser.open(page.as_uri())
        return cls.browser.evaluate(f"views.flatMap((v, k) => v.kind === '{kind}' ? [k] : [])")

    @on_each_page
    def test_batches_are_plotted(self, page):
        if "batches" not in page.name:
            self.assertTrue(self.browser.evaluate("$('batches').hidden"))
            return
        try:
            for width, height in ((1280, 900), (390, 844)):
                for scheme in ("light", "dark"):
                    self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                    self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                    self.browser.settle()
                    found = self.browser.evaluate("""(() => {
                        const plot = $('batches').querySelector('svg'), box = plot.getBoundingClientRect();
                        const inside = e => { const b = e.getBoundingClientRect(); return b.left >= box.left - 1 && b.right <= box.right + 1 && b.top >= box.top - 1 && b.bottom <= box.bottom + 1; };
                        const dots = [...plot.querySelectorAll('circle.s0')].map(c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))]);
                        return {hidden: $('batches').hidden, steps: data.batches.series[0].steps, dots, inside: [...plot.querySelectorAll('text, circle')].every(inside),
                                fits: box.right <= window.innerWidth && document.documentElement.scrollWidth <= window.innerWidth,
                                lines: plot.querySelectorAll('polyline').length, series: data.batches.series.length, says: plot.querySelector('title').textContent,
                                ink: getComputedStyle(plot.querySelector('circle')).fill, card: getComputedStyle($('batches')).backgroundColor};
                    })()""")
                    with self.subTest(width=width, scheme=scheme):
                        self.assertFalse(found["hidden"])
                        self.assertTrue(found["inside"] and found["fits"], found)
                        self.assertEqual(found["series"], found["lines"])
                        self.assertTrue(found["says"].startswith("slimpack, batch 0: "), found["says"])
                        self.assertNotEqual(found["ink"], found["card"])
                        (low, y0), (high, y1) = min(zip(found["steps"], (y for _, y in found["dots"]))), max(zip(found["steps"], (y for _, y in found["dots"])))
                        for step, (_, y) in zip(found["steps"], found["dots"], strict=True):  # heights are to scale
                            self.assertAlmostEqual(y0 + (y1 - y0) * (step - low) / (high - low), y, places=2)
                        self.assertEqual(sorted(x for x, _ in found["dots"]), [x for x, _ in found["dots"]])
        finally:
            self.browser.call("Emulation.clearDeviceMetricsOverride")
            self.browser.call("Emulation.setEmulatedMedia", features=[])

    def pack_centre(self, row=0, instruction=0):
        """Where an instruction is on the screen."""
        return self.browser.evaluate(f"""(() => {{
            const {{lane, y, h}} = rows[{row}], box = $('lanes').getBoundingClientRect();
            return [box.left + xOf((lane.start[{instruction}] + lane.end[{instruction}]) / 2), box.top + y + h / 2];
        }})()""")

    @on_each_page
    def test_loads_without_errors_or_requests(self, page):
        names = [e.get("method") for e in self.browser.events]
        self.assertNotIn("Runtime.exceptionThrown", names)
        self.assertNotIn("Log.entryAdded", names)
        asked = [e["params"]["request"]["url"] for e in self.browser.events
                 if e.get("method") == "Network.requestWillBeSent"]
        self.assertEqual(asked, [page.as_uri()])

    @on_each_page
    def test_draws_a_lane_per_stage_and_replica(self, page):
        lanes, stages = self.browser.evaluate("[rows.length, plans[0].stages * plans[0].replicas.length]")
        self.assertEqual(lanes, stages)
        label = self.browser.evaluate("$('lanes').getAttribute('aria-label')")
        self.assertTrue(label.startswith(f"Timeline of {stages} stage"), label)

    @on_each_page
    def test_lanes_end_with_the_makespan_of_their_replica(self, page):
        early = self.browser.evaluate("""plans.flatMap(p => p.replicas.map((r, k) => [p.merges.length > 0, r.makespan -
            Math.max(...lanesOf(p).filter(l => l.r === k).map(l => l.end[l.n - 1]))]))""")
        for shares, left in early:  # a pack of a shared row may wait there for the longest of the row
            self.assertGreater(left, -5, "nanoseconds")
            self.assertTrue(shares or left < 5, left)

    @on_pages_in_turn
    def test_hovering_a_pack_tells_about_it(self, page):
        self.assertTrue(self.browser.evaluate("$('tip').hidden"))
        self.browser.evaluate("move(0, 4 * rows[0].lane.end[0])")
        self.browser.settle()
        self.browser.mouse("mouseMoved", *self.pack_centre())
        text = self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")
        for word in ("F0", "forward pack 0", "stage 0", "duration", "tokens", "sequence"):
            self.assertIn(word, text)

    @on_pages_in_turn
    def test_a_clicked_pack_stays_until_escape(self, page):
        self.browser.evaluate("move(0, 4 * rows[0].lane.end[0])")
        self.browser.settle()
        x, y = self.pack_centre()
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.mouse(kind, x, y, button="left", clickCount=1)
        self.browser.mouse("mouseMoved", 5, 5)
        self.assertFalse(self.browser.evaluate("$('tip').hidden"))
        self.assertIn("pick=F0", self.browser.evaluate("location.hash"))
        self.browser.key("Escape")
        self.assertTrue(self.browser.evaluate("$('tip').hidden"))

    @on_pages_in_turn
    def test_the_wheel_zooms_where_the_mouse_is(self, page):
        left, top, width = self.browser.evaluate("(b => [b.left, b.top, b.width])($('lanes').getBoundingClientRect())")
        x, y = round(left + width / 3), round(top + 20)
        at = f"timeAt({x} - $('lanes').getBoundingClientRect().left)"
        before, span = self.browser.evaluate(f"[{at}, show.t1 - show.t0]")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        after, zoomed = self.browser.evaluate(f"[{at}, show.t1 - show.t0]")
        self.assertLess(zoomed, 0.7 * span)
        self.assertLess(abs(after - before), 0.01 * zoomed)

    @on_pages_in_turn
    def test_keys_reach_every_view(self, page):
        self.browser.evaluate("move(0, 1000)")
        self.browser.key("0")
        self.assertTrue(self.browser.evaluate("show.t0 === 0 && show.t1 === fullEnd()"))
        self.browser.key("c")
        self.assertTrue(self.browser.evaluate("show.critical && $('critical').checked"))
        if not self.browser.evaluate("$('memory').checked"):  # lanes are too low for it until they are enlarged, which M does
            self.browser.key("m")
            known = self.browser.evaluate("rows.some(row => row.lane.memory)")
            self.assertEqual(self.browser.evaluate("rows.some(row => row.strip > 0)"), known)
            if not known:
                return
        self.browser.key("m")
        self.assertTrue(self.browser.evaluate("!show.memory && rows.every(row => row.strip === 0)"))

    @on_pages_in_turn
    def test_the_address_restores_the_view(self, page):
        end = self.browser.evaluate("plans[0].step / 1e9")
        self.browser.evaluate(f"location.hash = 't0={end / 4!r}&t1={end / 2!r}&critical=1&memory=0'")
        self.browser.settle()
        t0, t1, critical, memory = self.browser.evaluate("[show.t0, show.t1, show.critical, show.memory]")
        self.assertAlmostEqual(t0 / (end * 1e9), 0.25, 9)
        self.assertAlmostEqual(t1 / (end * 1e9), 0.5, 9)
        self.assertEqual((critical, memory), (True, False))

    @on_pages_in_turn
    def test_every_tab_can_be_chosen(self, page):
        for k in range(self.browser.evaluate("views.length")):
            self.browser.key(str(k + 1))
            chosen, title, planner = self.browser.evaluate(
                f"[$('tabs').children[{k}].getAttribute('aria-selected'), document.title, views[{k}].plan.planner]")
            self.assertEqual(chosen, "true")
            self.assertTrue(title.startswith(planner), title)

    @contextlib.contextmanager
    def window(self, width, height, scheme="light"):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        try:
            yield
        finally:
            self.browser.call("Emulation.clearDeviceMetricsOverride")
            self.browser.call("Emulation.setEmulatedMedia", features=[])

    def texts(self):
        """All texts of one drawing, with where they begin and end on their canvas."""
        return self.browser.evaluate("""(() => {
            const found = [], real = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function(text, x, y) {
                const {width} = this.measureText(text), begin = x - {left: 0, center: width / 2, right: width}[this.textAlign];
                found.push({text, begin, end: begin + width, y, room: this.canvas.clientWidth, canvas: this.canvas.id, ink: this.fillStyle});
                real.call(this, text, x, y);
            };
            try { draw(); } finally { CanvasRenderingContext2D.prototype.fillText = real; }
            return found;
        })()""")

    def test_no_text_of_the_chart_is_clipped(self):
        for page in self.pages:
            for view in ("", "#tall=1"):
                self.browser.open(page.as_uri() + view)
                for width, height in ((1600, 900), (900, 900), (390, 844)):
                    with self.window(width, height), self.subTest(page=page.name, width=width, view=view):
                        self.browser.settle()
                        for text in self.texts():
                            self.assertGreaterEqual(text["begin"], 0, text)
                            self.assertLessEqual(text["end"], text["room"] + .5, text)

    @on_each_page
    def test_the_memory_axis_names_its_limit_and_nothing_else(self, page):
        self.browser.evaluate("choose({tall: true})")
        self.browser.settle()
        limit, top, drawn, ink, strips, legend = self.browser.evaluate("""(plan => [
            limitOf(plan) === null ? null : memoryText(plan, limitOf(plan)), memoryText(plan, memoryTop(plan)), limitInStrips(plan), colour.limit,
            rows.some(row => row.strip >= 22), [...document.querySelectorAll('.bar .strips')].map(e => e.innerText).join()])(planShown())""")
        if not strips:
            return
        self.assertIn(f"memory, 0 to {top}", legend)
        self.assertEqual(limit is not None, f"limit {limit}" in legend)
        ends = [amount.replace(" tokens", "") for amount in (top, limit) if amount]
        axis = [text for text in self.texts() if text["canvas"] == "lanes" and text["text"] in ends]
        self.assertEqual(bool(axis), drawn)
        for text in axis:
            self.assertEqual((text["text"], text["ink"]), (ends[-1], ink))

    def test_all_of_many_lanes_are_in_view_and_can_be_enlarged(self):
        found = 0
        for page in self.pages:
            for width, height in ((1600, 900), (900, 900), (390, 844)):
                with self.window(width, height), self.subTest(page=page.name, width=width):
                    self.browser.open(page.as_uri())
                    lanes = self.browser.evaluate("rows.length")
                    if lanes < 64:
                        continue
                    found += 1
                    inside = self.browser.evaluate("""(({top, bottom}) => [rows.every(({y, h}) => h >= 2 && y + h <= $('scroller').clientHeight),
                        top, bottom, window.innerHeight])($('scroller').getBoundingClientRect())""")
                    self.assertTrue(inside[0])
                    if width == 1600:  # narrow windows scroll down to the chart
                        self.assertLessEqual(inside[2], inside[3])
                    self.assertLessEqual(inside[2] - inside[1], inside[3])
                    names = [text["text"] for text in self.texts() if text["text"].startswith("replica ")]
                    self.assertEqual(names, [f"replica {r}" for r in range(self.browser.evaluate("planShown().replicas.length"))])
                    self.assertFalse(self.browser.evaluate("$('memory').checked"))
                    self.browser.key("l")
                    self.assertTrue(self.browser.evaluate("rows.every(({h, strip}) => h >= 20 && strip >= 20)"))
                    self.assertIn("tall=1", self.browser.evaluate("location.hash"))
                    self.browser.open(page.as_uri() + "#tall=1&replica=3")
                    self.assertEqual(self.browser.evaluate("[$('tall').checked, rows.length]"), [True, self.browser.evaluate("planShown().stages")])
        if found == 0:
            self.skipTest("no page has 64 lanes")

    @on_each_page
    def test_says_how_much_faster_than_the_best_that_fits(self, page):
        with self.window(1600, 900):
            self.browser.settle()
            shown, bottom, plans, prices = self.browser.evaluate("""[$('verdict').hidden ? '' : $('verdict').innerText,
                $('verdict').getBoundingClientRect().bottom, plans.map(p => [labelOf(p), p.step, p.limit, Math.max(...p.replicas.flatMap(r => r.peak)),
                settingsOf(p), aboutOf(p).asFast || false, aboutOf(p).speedUp || null, p.planner]), data.facts.prices]""")
        rivals = [p for p in plans if p[7] != plans[0][7]] or plans[1:]
        fitting = [p for p in rivals if (p[2] or plans[0][2]) is None or p[3] <= (p[2] or plans[0][2])]
        self.assertEqual(bool(plans[1:]) or bool(prices), shown != "")
        self.assertLess(bottom, 200)
        self.assertIn(prices, shown)
        if fitting:
            name, step, _, _, settings, as_fast, speed_up, _ = min(fitting, key=lambda p: p[1])
            self.assertIn(f"{plans[0][0]} is " + ("as fast as " if as_fast else f"{step / plans[0][1]:.2f} \u00d7 as fast as ") + name, shown)
            self.assertIn(settings, shown)
            if speed_up:
                self.assertIn(f"between {speed_up[0]:.2f} and {speed_up[1]:.2f}", shown)

    @on_each_page
    def test_tabs_tell_plans_apart(self, page):
        names = self.browser.evaluate("views.map(viewName)")
        self.assertEqual(len(names), len(set(names)), names)

    @on_each_page
    def test_what_is_blank_beside_a_plan_says_which_one_ends_there(self, page):
        for same in (True, False):
            self.browser.evaluate(f"choose({{same: {str(same).lower()}}})")
            self.browser.settle()
            slower, end = self.browser.evaluate("""[views.filter(v => v.kind === 'predicted' && v.plan !== plans[0] && v.plan.step > 1.25 * plans[0].step)
                .map(viewName), xOf(plans[0].step)]""")
            texts = self.texts()
            for name in slower if same else []:
                told = [text for text in texts if text["canvas"] == "lanes" and text["text"].startswith(name.split(", predicted")[0] + " ends")]
                self.assertEqual(len(told), 1, (name, [text["text"] for text in texts]))
                self.assertGreater(told[0]["begin"], end)
            said = [text for text in texts if text["canvas"] == "overview" and " as fast as " in text["text"]]
            if slower or not same:
                self.assertEqual(bool(said), same)

    def test_shades_are_explained_in_both_schemes(self):
        for scheme in ("light", "dark"):
            with self.window(1600, 900, scheme):
                for page in self.pages:
                    with self.subTest(page=page.name, scheme=scheme):
                        self.browser.open(page.as_uri())
                        text, drawn, bottom = self.browser.evaluate("""[$('shades').innerText,
                            getComputedStyle($('shades').querySelector('i')).backgroundImage, $('shades').getBoundingClientRect().bottom]""")
                        self.assertIn("alternate from pack to pack", text)
                        for name in ("forward", "forward2"):
                            shade = self.browser.evaluate(f"parseInt(colour['{name}'].slice(1), 16)")
                            self.assertIn(f"rgb({shade >> 16}, {shade >> 8 & 255}, {shade & 255})", drawn)
                        self.assertLess(bottom, 900)

    @on_each_measured_tab("measured")
    def test_a_measured_step_shows_its_own_lanes(self):
        shown, stages = self.browser.evaluate(
            "[rows.filter(row => row.lane.measured).length, planShown().stages * planShown().replicas.length]")
        self.assertEqual(shown, stages)
        late = self.browser.evaluate("Math.max(...rows.map(({lane}) => lane.end[lane.n - 1] - lane.step))")
        self.assertLessEqual(late, 1, "nanoseconds")

    @on_each_measured_tab("both")
    def test_each_measured_lane_is_under_its_predicted_one(self):
        pairs = self.browser.evaluate("""rows.flatMap((row, k) => k % 2 ? [] : [
            !row.lane.measured && rows[k + 1].lane === row.lane.twin && rows[k + 1].y - row.y - row.h < 4])""")
        self.assertEqual(pairs, [True] * self.browser.evaluate("planShown().stages * planShown().replicas.length"))

    @on_each_measured_tab("both")
    def test_hovering_tells_the_ratio_in_both_lanes(self):
        self.browser.evaluate("move(0, 4 * Math.max(rows[0].lane.end[0], rows[1].lane.end[0]))")
        self.browser.settle()
        ratio = self.browser.evaluate("""(([p, m]) => (m / p).toFixed(3))(
            [0, 1].map(k => rows[k].lane.end[0] - rows[k].lane.start[0]))""")
        for row, kind in enumerate(("predicted", "measured")):
            self.browser.mouse("mouseMoved", *self.pack_centre(row))
            text = self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")
            self.assertIn(f" \u00b7 {kind}", text)
            self.assertIn(ratio + " \u00d7 measured / predicted", text)

    @on_each_measured_tab("both")
    def test_key_figures_compare_the_step(self):
        ratio, text = self.browser.evaluate(
            "[(planShown().measured.step / planShown().step).toFixed(3), $('figures').textContent]")
        for words in ("Step measured", f"{ratio} \u00d7", "Useful work measured", "Instructions off by"):
            self.assertIn(words, text)

    @on_each_measured_tab("both")
    def test_the_address_tells_measured_packs_from_predicted(self):
        for mark, measured in (("", False), ("m", True)):
            self.browser.evaluate(f"location.hash = 'tab=' + show.tab + '&pick=F0@0.0{mark}'")
            self.browser.settle()
            self.assertEqual(self.browser.evaluate("show.pick.lane.measured"), measured)

    def test_weight_gradients_have_their_own_colour_name_and_address(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            for tab in self.browser.evaluate("views.flatMap(({plan, kind}, k) => "
                                             "plan.replicas.some(r => r.weights) && kind !== 'both' ? [k] : [])"):
                found += 1
                with self.subTest(page=page.name, tab=tab):
                    self.browser.open(f"{page.as_uri()}#tab={tab}")
                    # Where nothing else runs any more there is one colour, in a lane and in the strip of all stages.
                    colours = self.browser.evaluate("""(() => {
                        const last = lane => [...lane.unit].findLastIndex(unit => kindOf(unit) !== 2);
                        const {lane, y, h} = rows[0], t = Math.max(...rows.map(({lane}) => lane.end[last(lane)]));
                        const pixel = (id, x, y) => [...$(id).getContext('2d').getImageData(
                            x * devicePixelRatio, y * devicePixelRatio, 1, 1).data];
                        return [pixel('lanes', xOf(lane.end[last(lane)]) + 2, y + h - 2),
                                pixel('overview', left + plotWidth() * t / fullEnd() + 1, 40)];
                    })()""")
                    for red, green, blue, _ in colours:
                        self.assertTrue(green > red and green > blue, colours)
                    name, address = self.browser.evaluate("""(() => {
                        const {lane} = rows[0], i = lane.n - 1, name = packName(lane, i);
                        const address = `tab=${show.tab}&pick=${name}@0.0${lane.measured ? 'm' : ''}`;
                        return [name, address];
                    })()""")
                    self.assertRegex(name, r"^W\d+\.\d$")
                    self.browser.evaluate(f"location.hash = '{address}'")
                    self.browser.settle()
                    self.assertTrue(self.browser.evaluate("show.pick.i === show.pick.lane.n - 1"))
                    text = self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")
                    self.assertIn(f"{name} \u00b7 weight gradients of backward pack", text)
        if found == 0:
            self.skipTest("no page has weight gradients apart")

    def test_calls_of_a_spread_vocabulary_have_their_own_colour_name_and_address(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            self.assertEqual(self.browser.evaluate("!!planShown().vocabulary"),
                             self.browser.evaluate("document.querySelector('.bar .vocabulary').style.display === ''"))
            for tab in self.browser.evaluate("views.flatMap(({plan, kind}, k) => plan.vocabulary && kind !== 'both' ? [k] : [])"):
                for letter, does in (("E", "embedding of forward"), ("V", "output layer of forward"),
                                     ("U", "weight gradients of the output layer of forward"), ("G", "gradients of the embedding of backward")):
                    found += 1
                    with self.subTest(page=page.name, tab=tab, letter=letter):
                        self.browser.open(f"{page.as_uri()}#tab={tab}")
                        name, measured, t0, t1 = self.browser.evaluate(f"""(() => {{
                            const {{lane}} = rows[0], i = [...lane.unit].findIndex(unit => letters[kindOf(unit)] === '{letter}');
                            return [packName(lane, i), lane.measured, lane.start[i] / 1e9, lane.end[i] / 1e9];
                        }})()""")
                        self.assertRegex(name, rf"^{letter}0$")
                        self.browser.evaluate(f"location.hash = 'tab={tab}&t0={t0}&t1={t1}&pick={name}@0.0{'m' if measured else ''}'")
                        self.browser.settle()
                        text = self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")
                        self.assertIn(f"{name} \u00b7 {does} pack 0", text)
                        if letter in "VUG":
                            self.assertRegex(text, r"(from stage \d (arrived|ended) at)")
                        red, green, blue, _ = self.browser.evaluate("""(() => {
                            const {y, h} = rows[0], x = (left + left + plotWidth()) / 2;
                            return [...$('lanes').getContext('2d').getImageData((x + 30) * devicePixelRatio, (y + 6) * devicePixelRatio, 1, 1).data];
                        })()""")
                        self.assertTrue(red > green and blue > green, (red, green, blue))
        if found == 0:
            self.skipTest("no page has a spread vocabulary")

    def tip(self):
        return self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")

    def point_at(self, row, time, below=0.5):
        """Points at a time, in nanoseconds, of a row's lane, or below it at its memory."""
        x, y = self.browser.evaluate(f"""(() => {{
            const {{y, h, memory, strip}} = rows[{row}], box = $('lanes').getBoundingClientRect();
            return [box.left + xOf({time}), box.top - $('scroller').scrollTop + ({below} < 1 ? y + {below} * h : memory + strip / 2)];
        }})()""")
        self.browser.mouse("mouseMoved", x, y)

    @on_each_page
    def test_idle_time_says_what_the_stage_waits_for(self, page):
        # The last stage's first instruction waits for a message from the stage before.
        found = self.browser.evaluate("""(() => {
            const k = rows.findIndex(({lane}) => lane.stage === planShown().stages - 1);
            const {lane} = rows[k];
            move(0, 4 * lane.end[0]);
            return [k, lane.start[0], packName(lane, 0)];
        })()""")
        self.browser.settle()
        row, start, name = found
        if start < 1000:
            return  # a page whose last stage begins at once
        self.point_at(row, start / 2)
        text = self.tip()
        for words in ("idle \u00b7 stage", "next" + name, "from stage", "arrived at"):
            self.assertIn(words, text)

    @on_each_page
    def test_memory_says_what_is_held(self, page):
        if not self.browser.evaluate("rows.some(row => row.strip > 0)"):
            return
        row, time, held, name = self.browser.evaluate("""(() => {
            const {lane} = rows[0], i = Math.min(3, lane.n - 1);
            move(Math.max(0, lane.start[i] - (lane.end[i] - lane.start[i])), lane.end[i] + (lane.end[i] - lane.start[i]));
            return [0, (lane.start[i] + lane.end[i]) / 2, memoryText(planShown(), lane.memory[i]), packName(lane, i)];
        })()""")
        self.browser.settle()
        self.point_at(row, time, below=2)
        text = self.tip()
        for words in ("memory \u00b7 stage 0", "holds" + held, name + " runs", "live tokens", "sequence"):
            self.assertIn(words, text)

    @on_each_page
    def test_live_tokens_of_every_sequence_add_up_and_end_at_none(self, page):
        left = self.browser.evaluate("""planShown().bytes ? [] : lanesOf(planShown()).slice(0, 2).map(lane => {
            const live = i => Number(memoryDetails(lane, i, lane.start[i])[1].find(([name]) => name === 'live tokens')[1].replace(/,/g, '').split(' ')[0]);
            const runs = i => Math.abs(live(i) - lane.memory[i]) < 1;
            return [runs(0), runs(Math.floor(lane.n / 2)), runs(lane.n - 1)].join();
        })""")
        for lane in left:
            self.assertEqual(lane, "true,true,true")

    def test_memory_is_drawn_in_a_gap_whose_next_instruction_is_out_of_view(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            gap = self.browser.evaluate("""(() => {
                for (const [k, {lane, strip}] of rows.entries())
                    for (let i = 1; strip && i < lane.n; ++i)
                        if (lane.start[i] - lane.end[i - 1] > 2000 && Math.min(lane.memory[i - 1], lane.memory[i]) > 0)
                            return [k, lane.end[i - 1], lane.start[i]];
                return null;
            })()""")
            if gap is None:
                continue
            found += 1
            row, begin, end = gap
            self.browser.evaluate(f"move({begin + 0.3 * (end - begin)}, {begin + 0.6 * (end - begin)})")
            self.browser.settle()
            drawn = self.browser.evaluate(f"""(() => {{
                const {{memory, strip}} = rows[{row}], ratio = devicePixelRatio;
                const data = $('lanes').getContext('2d').getImageData((left + plotWidth() / 2) * ratio,
                    (memory - $('scroller').scrollTop) * ratio, 1, strip * ratio).data;
                return data.some((x, k) => k % 4 === 3 && x > 0);
            }})()""")
            self.assertTrue(drawn, page.name)
        self.assertGreater(found, 0)

    @on_pages_in_turn
    def test_details_hide_no_lane(self, page):
        self.browser.evaluate("move(0, 4 * rows[0].lane.end[0])")
        self.browser.settle()
        self.browser.mouse("mouseMoved", *self.pack_centre())
        tip, lanes = self.browser.evaluate("[$('tip').getBoundingClientRect().top, $('scroller').getBoundingClientRect().bottom]")
        self.assertGreaterEqual(tip, lanes)

    @on_pages_in_turn
    def test_a_range_has_totals_that_add_up(self, page):
        x0, x1, y, lanes = self.browser.evaluate("""(() => {
            const box = $('lanes').getBoundingClientRect();
            return [box.left + left + plotWidth() * .2, box.left + left + plotWidth() * .5, box.top + rows[0].y + 4, rows.length];
        })()""")
        shift = 8
        self.browser.mouse("mousePressed", x0, y, button="left", clickCount=1, modifiers=shift)
        self.browser.mouse("mouseMoved", x1, y, button="left", buttons=1, modifiers=shift)
        self.browser.mouse("mouseReleased", x1, y, button="left", clickCount=1, modifiers=shift)
        length, text = self.browser.evaluate("[show.range[1] - show.range[0], $('range').textContent]")
        self.assertIn(f"of {lanes} lane", text)
        expected, shown = self.browser.evaluate("""[
            timeText(shownLanes().reduce((sum, l) => sum + Math.max(0, Math.min(show.range[1], l.step) - show.range[0]), 0)),
            $('range').querySelector('tbody tr:last-child td:nth-child(2)').textContent]""")
        self.assertEqual(shown, expected)
        self.assertGreater(length, 0)
        address = self.browser.evaluate("location.hash")
        self.assertIn("range=", address)
        self.browser.key("Escape")
        self.assertTrue(self.browser.evaluate("$('range').hidden"))
        self.browser.open(page.as_uri() + address)
        self.assertFalse(self.browser.evaluate("$('range').hidden"))

    @on_pages_in_turn
    def test_a_sequence_is_found_and_followed(self, page):
        self.browser.key("/")
        self.browser.call("Input.insertText", text="1")
        self.browser.settle()
        self.assertIn("forward and", self.browser.evaluate("$('found').textContent"))
        self.assertTrue(self.browser.evaluate("""followed.length > 0 && followed.every(({lane, i}) => {
            const pass = lane.plan.replicas[lane.r].passes[passOf(lane.unit[i])];
            for (let k = pass.first[lane.pack[i]]; k < pass.first[lane.pack[i] + 1]; ++k) if (pass.slices[3 * k] === 1) return true;
            return false;
        })"""))
        self.browser.key("Escape")
        for k in range(3):
            self.browser.key("n")
            self.assertTrue(self.browser.evaluate(f"show.pick.lane === followed[{k}].lane && show.pick.i === followed[{k}].i"))
            self.assertIn("sequence 1[", self.tip())
        self.assertIn("sequence=1", self.browser.evaluate("location.hash"))
        self.browser.evaluate("$('sequence').value = '987654321', $('sequence').oninput({target: $('sequence')})")
        self.assertIn("sequences are 0 to", self.browser.evaluate("$('found').textContent"))

    def test_sequences_have_hues_near_their_parents_and_the_path_under_the_pointer_is_marked(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            parents = self.browser.evaluate("data.parents || []")
            if not parents:
                self.assertEqual("none", self.browser.evaluate("document.querySelector('.key.forest').style.display"))
                continue
            if self.browser.evaluate("'copies' in data"):
                continue
            found += 1
            self.assertEqual("none", self.browser.evaluate("document.querySelector('.key.copies').style.display"))
            lengths, hues = self.browser.evaluate("[data.lengths, forestOf(plans[0]).hues]")
            paths = [[s] if parent < 0 else [] for s, parent in enumerate(parents)]
            for s, parent in enumerate(parents):
                paths[s] = paths[s] or [*paths[parent], s]
                children = [hues[c] for c, p in enumerate(parents) if p == s]
                self.assertTrue(not children or min(children) - 1e-9 <= hues[s] <= max(children) + 1e-9, "in the middle of its children")
            ends = [hues[s] for s in range(len(parents)) if s not in parents]
            self.assertEqual(len(set(ends)), len(ends), "no two paths have one hue at their ends")
            # Sequences of one tree are nearer to each other than the next tree is to any.
            roots = [path[0] for path in paths]
            self.assertEqual([roots[s] for s in sorted(range(len(hues)), key=lambda s: hues[s])], sorted(roots))
            sequence, instruction, share = max(self.ran(), key=lambda one: len(paths[one[0]]))
            self.assertGreater(len(paths[sequence]), 1)
            before = self.browser.evaluate(PIXELS)
            self.point(instruction, share)
            self.assertEqual(paths[sequence], self.browser.evaluate("[...markedPath(plans[0])]"))
            self.assertNotEqual(before, self.browser.evaluate(PIXELS))
            length = sum(lengths[s] for s in paths[sequence])
            self.assertIn(f"path{' › '.join(map(str, paths[sequence]))}, {length:,} tokens", self.tip())
            self.assertIn(f"sequence{sequence}, {lengths[sequence]:,} from token {length - lengths[sequence]:,} on, behind sequence {parents[sequence]}", self.tip())
            self.browser.mouse("mouseMoved", 5, 5)
            self.assertEqual([], self.browser.evaluate("[...markedPath(plans[0])]"))
            self.browser.evaluate(f"$('sequence').value = '{sequence}', $('sequence').oninput({{target: $('sequence')}})")
            self.assertEqual(paths[sequence], self.browser.evaluate("[...markedPath(plans[0])]"))
            self.assertIn(f"behind sequence {parents[sequence]}: ", self.browser.evaluate("$('found').textContent"))
        if found == 0:
            self.skipTest("no page is of samples that share beginnings")

    def test_copies_of_paths_have_the_hues_of_what_they_are_of_and_are_hatched(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            copies = self.browser.evaluate("data.copies || []")
            if not copies:
                continue
            found += 1
            self.assertEqual("", self.browser.evaluate("document.querySelector('.key.copies').style.display"))
            self.assertIn("hatched", self.browser.evaluate("document.querySelector('.key.copies').textContent"))
            # Each token at home and each copy of it is of one node: by hand, from the paths alone.
            lengths, parents = self.browser.evaluate("[data.lengths, data.parents]")
            until = {s: (of, end) for s, of, end in copies}
            begin = {}
            def begin_of(s):
                if s not in begin:
                    begin[s] = 0 if parents[s] < 0 else begin_of(parents[s]) + lengths[parents[s]]
                return begin[s]
            whole = {s for s, (_, end) in until.items() if end == begin_of(s) + lengths[s]}
            home = {s: until[s][1] if s in until else begin_of(s) for s in range(len(lengths)) if s not in whole}
            above = {s: until[s][0] if s in until else parents[s] if parents[s] not in whole else until[parents[s]][0] for s in home}
            def path(node):
                return [] if node < 0 else [*path(above[node]), node]
            told = self.browser.evaluate("""data.lengths.map((length, s) => {
                const nodes = [], {eachNode, begin, hueOf} = forestOf(plans[0]);
                eachNode(s, begin(s), begin(s) + length, (node, from, to, isCopy) => nodes.unshift([node, from, to, isCopy]));
                return nodes;
            })""")
            for s, nodes in enumerate(told):
                self.assertEqual(begin_of(s), nodes[0][1])
                self.assertEqual(begin_of(s) + lengths[s], nodes[-1][2])
                self.assertEqual(path(nodes[-1][0])[-len(nodes):], [node for node, *_ in nodes], "of one path")
                for node, first, last, is_copy in nodes:
                    self.assertTrue(home[node] == first, "a node begins where it is at home")
                    self.assertEqual(is_copy, s in until and first < until[s][1])
                    self.assertEqual(last, home[node] + (lengths[node] - (home[node] - begin_of(node))))
            self.assertLess(1, len({len(nodes) for nodes in told}), "a copy may be of several nodes")
            # In a pack, the copy and what it is of have one hue, with lines over the copy.
            colours = self.browser.evaluate("""(() => {
                const seen = [], make = fillRect => ({fillRect, save() {}, restore() {}, beginPath() {}, rect() {}, clip() {}, moveTo() {}, lineTo() {},
                                                     stroke() { seen[seen.length - 1][1] = true; }});
                for (const lane of lanesOf(plans[0]))
                    for (let i = 0; i < lane.n; ++i)
                        if (passOf(lane.unit[i]) === 0) {
                            const c = make(function (x, y, wide, high) { seen.push([this.fillStyle, false]); });
                            drawSequences(c, lane, i, 100, 900, 0, 40, new Set());
                        }
                return seen;
            })()""")
            hatched, plain = ({hue for hue, lines in colours if lines == which} for which in (True, False))
            self.assertTrue(hatched and hatched <= plain, "each hue of a copy is that of something at home")
            # The pointer tells what a copy is of, and marks its path wherever that runs.
            copy = next(s for s, *_ in copies if s in whole)
            place = self.browser.evaluate(f"""(() => {{
                for (const [r, {{lane}}] of rows.entries())
                    for (let i = 0; i < lane.n; ++i) {{
                        let share = -1;
                        eachSlice(lane, i, (sequence, from, to) => {{ if (sequence === {copy}) share = (from + to) / 2; }});
                        if (share >= 0) return [i, share, r];
                    }}
            }})()""")
            self.point(*place)
            of, end = until[copy]
            self.assertEqual(path(of), self.browser.evaluate("[...markedPath(plans[0])]"))
            self.assertIn(f"sequence{copy}, {lengths[copy]:,} from token {begin_of(copy):,} on", self.tip())
            self.assertIn(f", a copy of the path of sequence {of}", self.tip())
            self.assertIn(f"path{' › '.join(map(str, path(of)))}, {end:,} tokens", self.tip())
        if found == 0:
            self.skipTest("no page has copies of paths")

    def test_plans_with_other_sequences_have_a_tab_with_their_own(self):
        for page in self.pages:
            self.browser.open(page.as_uri())
            for k, own in enumerate(self.browser.evaluate("plans.map(plan => plan.lengths || data.lengths)")):
                self.browser.evaluate(f"choose({{tab: views.findIndex(view => view.plan === plans[{k}])}})")
                self.assertIn(f"{len(own):,} sequence", self.browser.evaluate("$('figures').textContent"))
                self.assertIn(f"{sum(own):,} tokens", self.browser.evaluate("$('figures').textContent"))
                slices = self.browser.evaluate(f"plans[{k}].replicas.flatMap(r => r.passes[0].slices.filter((_, at) => at % 3 === 0))")
                self.assertTrue(set(slices) <= set(range(len(own))))

    def ran(self):
        """Of each slice that runs on the first lane: its sequence, its instruction, and the middle of its share of that."""
        return self.browser.evaluate("""(() => {
            const {lane} = rows[0], found = [];
            for (let i = 0; i < lane.n; ++i) eachSlice(lane, i, (sequence, from, to) => found.push([sequence, i, (from + to) / 2]));
            return found;
        })()""")

    def point(self, instruction, share, row=0):
        """Points at an instruction of a lane, after so much of it, having brought it into view."""
        self.browser.evaluate(f"(({{start, end}}) => move(2 * start[{instruction}] - end[{instruction}], 2 * end[{instruction}] - start[{instruction}]))(rows[{row}].lane)")
        self.browser.settle()
        x, y = self.browser.evaluate(f"""(() => {{
            const {{lane, y, h}} = rows[{row}], box = $('lanes').getBoundingClientRect(), begin = lane.start[{instruction}];
            return [box.left + xOf(begin + {share} * (lane.end[{instruction}] - begin)), box.top + y + h / 2];
        }})()""")
        self.browser.mouse("mouseMoved", x, y)

    @on_pages_in_turn
    def test_arrows_lead_from_a_picked_pack(self, page):
        self.browser.evaluate("pick({lane: rows[0].lane, i: 0})")
        self.browser.key("ArrowRight")
        self.assertEqual(self.browser.evaluate("show.pick.i"), 1)
        self.browser.key("ArrowLeft")
        self.assertEqual(self.browser.evaluate("show.pick.i"), 0)
        if self.browser.evaluate("planShown().stages") > 1:
            name = self.browser.evaluate("packName(show.pick.lane, show.pick.i)")
            self.browser.key("ArrowDown")
            self.assertEqual(self.browser.evaluate("[show.pick.lane.stage, packName(show.pick.lane, show.pick.i)]"), [1, name])
            self.browser.key("ArrowUp")
            self.assertEqual(self.browser.evaluate("show.pick.lane.stage"), 0)

    @on_each_page
    def test_two_plans_stand_one_above_the_other(self, page):
        others = self.browser.evaluate("views.flatMap((v, k) => canBeBelow(k) ? [k] : [])")
        self.assertEqual(self.browser.evaluate("$('below').hidden"), not others)
        if not others:
            return
        above = self.browser.evaluate("rows.length")
        self.browser.evaluate(f"choose({{below: {others[-1]}}})")
        self.browser.settle()
        rows, of_other = self.browser.evaluate(f"[rows.length, lanesIn(views[{others[-1]}]).length]")
        self.assertEqual(rows, above + of_other)
        # Their times are locked: a moment is at one place in both.
        self.browser.evaluate("move(fullEnd() / 4, fullEnd() / 2)")
        self.browser.settle()
        self.assertTrue(self.browser.evaluate("rows.every(({lane}) => xOf(lane.start[0]) === xOf(0) + lane.start[0] * plotWidth() / (show.t1 - show.t0) || "
                                              "Math.abs(xOf(lane.start[0]) - xOf(0) - lane.start[0] * plotWidth() / (show.t1 - show.t0)) < 1e-6)"))
        self.browser.evaluate(f"pick({{lane: rows[rows.length - 1].lane, i: 0}})")
        address = self.browser.evaluate("location.hash")
        self.browser.open(page.as_uri() + address)
        self.assertEqual(self.browser.evaluate("[show.below, show.pick.lane === rows[rows.length - 1].lane, show.pick.i]"), [others[-1], True, 0])

    def test_exchanges_of_a_shared_sequence_are_drawn(self):
        found = 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            for sequence in self.browser.evaluate("planShown().merges.map(m => m.sequence)"):
                found += 1
                drawn = self.browser.evaluate(f"""(() => {{
                    follow({sequence});
                    let exchanges = 0, messages = 0;
                    const real = arrow;
                    arrow = (c, x0, y0, x1, y1, both) => {{ both ? ++exchanges : ++messages; real(c, x0, y0, x1, y1, both); }};
                    draw();
                    arrow = real;
                    return [exchanges, messages];
                }})()""")
                rows = self.browser.evaluate(f"""planShown().stages * planShown().chunks * planShown().merges.find(m => m.sequence === {sequence})
                    .rows.flat().filter(row => row.filter(pack => pack >= 0).length === 2).length""")
                self.assertEqual(drawn[0], rows)
                self.assertGreater(drawn[1], 0)
        if found == 0:
            self.skipTest("no page has a shared sequence")

    def test_fits_wide_and_narrow_windows_in_both_schemes(self):
        try:
            for turn, ((width, height), scheme) in enumerate(itertools.product(((1280, 900), (900, 900), (390, 844)), ("light", "dark"))):
                self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
                self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
                for page in pages_of(turn, self.pages):
                    with self.subTest(page=page.name, width=width, scheme=scheme):
                        self.browser.open(page.as_uri())
                        wide, plot, room = self.browser.evaluate("[document.documentElement.scrollWidth, plotWidth(), $('lanes').clientWidth]")
                        self.assertLessEqual(wide, width)
                        self.assertGreater(plot, 0.75 * room)
        finally:
            self.browser.call("Emulation.clearDeviceMetricsOverride")
            self.browser.call("Emulation.setEmulatedMedia", features=[])

    def test_thousands_of_packs_are_drawn_in_time(self):
        """The median of several frames, each a draw of a view moved a little: at most 100 ms. What runs beside only adds to it, so
        that it is taken again, up to three times, where it is more."""
        slowest, most = 0, 0
        for page in self.pages:
            self.browser.open(page.as_uri())
            packs = self.browser.evaluate("plans[0].replicas.reduce((sum, r) => sum + r.passes[0].counts.length + r.passes[1].counts.length, 0)")
            for zoomed in (1, 0.2):
                frame = float("inf")
                for _ in range(3):
                    times = self.browser.evaluate(f"""(() => {{
                        follow(1);
                        return Array.from({{length: 15}}, (_, k) => {{
                            setRange(k * 1000, k * 1000 + {zoomed} * fullEnd());
                            const begin = performance.now();
                            draw();
                            $('lanes').getContext('2d').getImageData(0, 0, 1, 1);  // so that it has been drawn
                            return performance.now() - begin;
                        }}).sort((a, b) => a - b);
                    }})()""")
                    frame = min(frame, times[len(times) // 2])
                    if frame < 100:
                        break
                slowest, most = max(slowest, frame), max(most, packs)
        print(f"{most} packs, a frame takes {slowest:.1f} ms")
        self.assertLess(slowest, 100)

    @on_pages_in_turn
    def test_follows_the_colour_scheme(self, page):
        drawn = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.browser.settle()
            drawn.append(self.browser.evaluate("colour.lane"))
        self.browser.call("Emulation.setEmulatedMedia", features=[])
        self.assertNotEqual(*drawn)


def main():
    TimelinePage.pages = [pathlib.Path(name).resolve(strict=True) for name in sys.argv[1:]]
    if not TimelinePage.pages:
        sys.exit("usage: timeline_page_test.py PAGE.html...")
    executable = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if executable is None:
        print("skipped: Chromium is not installed, so the timeline page was not opened")
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        TimelinePage.browser = Browser(executable, profile)
        try:
            outcome = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
        finally:
            TimelinePage.browser.close()
    sys.exit(0 if outcome.wasSuccessful() else 1)


if __name__ == "__main__":
    main()
