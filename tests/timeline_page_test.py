"""Opens timeline pages in headless Chromium and uses them as a reader would.

    timeline_page_test.py PAGE.html...     pages that write_timeline wrote

Exit status 77, with the reason, where Chromium is not installed. Python's standard library only: the browser is
driven over its debugging pipe, so nothing listens on a port.
"""

import fcntl
import functools
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
         "--disable-dev-shm-usage", "--window-size=1600,1000", "--remote-debugging-pipe"]


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
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + 60
        while not self.evaluate("document.readyState === 'complete' && location.protocol === 'file:'"):
            if time.monotonic() > deadline:
                raise TimeoutError("the page did not load within a minute")
            time.sleep(0.05)
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


def on_each_page(test):
    @functools.wraps(test)
    def run(self):
        for page in self.pages:
            with self.subTest(page=page.name):
                self.browser.open(page.as_uri())
                test(self, page)
    return run


def on_each_measured_tab(kind):
    """Runs a test on each tab of that kind, "measured" or "both"; passed over where no page has a measured step."""
    def decorate(test):
        @functools.wraps(test)
        def run(self):
            found = 0
            for page in self.pages:
                self.browser.open(page.as_uri())
                for tab in self.browser.evaluate(f"views.flatMap((v, k) => v.kind === '{kind}' ? [k] : [])"):
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
        late = self.browser.evaluate("""plans.flatMap(p => p.replicas.map((r, k) => Math.abs(r.makespan -
            Math.max(...lanesOf(p).filter(l => l.r === k).map(l => l.end[l.n - 1])))))""")
        self.assertLess(max(late), 5, "nanoseconds")

    @on_each_page
    def test_hovering_a_pack_tells_about_it(self, page):
        self.assertTrue(self.browser.evaluate("$('tip').hidden"))
        self.browser.evaluate("move(0, 4 * rows[0].lane.end[0])")
        self.browser.settle()
        self.browser.mouse("mouseMoved", *self.pack_centre())
        text = self.browser.evaluate("$('tip').hidden ? '' : $('tip').textContent")
        for word in ("F0", "forward pack 0", "stage 0", "duration", "tokens", "sequence"):
            self.assertIn(word, text)

    @on_each_page
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

    @on_each_page
    def test_the_wheel_zooms_where_the_mouse_is(self, page):
        left, top, width = self.browser.evaluate("(b => [b.left, b.top, b.width])($('lanes').getBoundingClientRect())")
        x, y = round(left + width / 3), round(top + 20)
        at = f"timeAt({x} - $('lanes').getBoundingClientRect().left)"
        before, span = self.browser.evaluate(f"[{at}, show.t1 - show.t0]")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        after, zoomed = self.browser.evaluate(f"[{at}, show.t1 - show.t0]")
        self.assertLess(zoomed, 0.7 * span)
        self.assertLess(abs(after - before), 0.01 * zoomed)

    @on_each_page
    def test_keys_reach_every_view(self, page):
        self.browser.evaluate("move(0, 1000)")
        self.browser.key("0")
        self.assertTrue(self.browser.evaluate("show.t0 === 0 && show.t1 === fullEnd()"))
        self.browser.key("c")
        self.assertTrue(self.browser.evaluate("show.critical && $('critical').checked"))
        self.browser.key("m")
        self.assertTrue(self.browser.evaluate("!show.memory && rows.every(row => row.strip === 0)"))

    @on_each_page
    def test_the_address_restores_the_view(self, page):
        end = self.browser.evaluate("plans[0].step / 1e9")
        self.browser.evaluate(f"location.hash = 't0={end / 4!r}&t1={end / 2!r}&critical=1&memory=0'")
        self.browser.settle()
        t0, t1, critical, memory = self.browser.evaluate("[show.t0, show.t1, show.critical, show.memory]")
        self.assertAlmostEqual(t0 / (end * 1e9), 0.25, 9)
        self.assertAlmostEqual(t1 / (end * 1e9), 0.5, 9)
        self.assertEqual((critical, memory), (True, False))

    @on_each_page
    def test_every_tab_can_be_chosen(self, page):
        for k in range(self.browser.evaluate("views.length")):
            self.browser.key(str(k + 1))
            chosen, title, planner = self.browser.evaluate(
                f"[$('tabs').children[{k}].getAttribute('aria-selected'), document.title, views[{k}].plan.planner]")
            self.assertEqual(chosen, "true")
            self.assertTrue(title.startswith(planner), title)

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
        for words in ("Step measured", f"{ratio} \u00d7", "Bubble measured", "Instructions off by"):
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

    @on_each_page
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
