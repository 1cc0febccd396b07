#!/usr/bin/env python3
"""The classroom in a headless Chromium: every page loads, calculates, answers its exercises, keeps its state in
the link, works by keyboard, fits a phone, and says nothing on the console. Colours are told apart without green
cones too. Orders are made by dragging, by tapping and by keyboard.

usage: browser.py FOLDER_OF_PAGES [--screenshots FOLDER]        Exit code 77: skipped.
"""
import argparse, base64, json, os, pathlib, re, shutil, subprocess, sys, tempfile, time, zlib

import sight


class Browser:
    """The DevTools protocol over a pipe: no port, no library."""

    def __init__(self, program, profile):
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def place_pipes():
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            got = os.read(self.read_end, 1 << 20)
            if not got:
                raise RuntimeError("the browser ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, parameters=None, session=""):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters or {}}
        if session is not None:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, text):
        answer = self.call("Runtime.evaluate", {"expression": text, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{text}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=60):
        end = time.time() + seconds
        while not self.evaluate(condition):
            if time.time() > end:
                raise AssertionError(f"not within {seconds} s: {condition}")
            time.sleep(0.05)

    def complaints(self):
        found = []
        for event in self.events:
            if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                found.append(json.dumps(event["params"])[:400])
        self.events.clear()
        return found

    def look(self, scheme="light", width=1280, height=900):
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.call("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def open(self, address, ready=True):
        self.call("Page.navigate", {"url": "about:blank"})
        self.call("Page.navigate", {"url": address})
        self.wait("document.readyState === 'complete'" + (" && document.body.dataset.ready > 0" if ready else ""))

    def key(self, name, code, virtual):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": name, "code": code, "windowsVirtualKeyCode": virtual})

    def place(self, find):
        """The middle of what `find` finds, scrolled into sight."""
        return self.evaluate(f"(() => {{ const it = {find}; it.scrollIntoView({{block: 'center'}}); const at = it.getBoundingClientRect();"
                             "return [at.x + at.width / 2, at.y + at.height / 2]; })()")

    def mouse(self, kind, at):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": at[0], "y": at[1], "button": "none" if kind == "mouseMoved" and not self.held else "left",
                                               "buttons": int(self.held), "clickCount": 1})

    held = False

    def click(self, at):
        self.held = True
        self.mouse("mousePressed", at)
        self.held = False
        self.mouse("mouseReleased", at)

    def drag(self, start, end):
        """What a hand does: press, move, release. The browser's own drag is caught and dropped at `end`."""
        self.call("Input.setInterceptDrags", {"enabled": True})
        self.events = [each for each in self.events if each.get("method") != "Input.dragIntercepted"]
        self.held = True
        self.mouse("mousePressed", start)
        for step in range(1, 5):
            self.mouse("mouseMoved", [start[i] + (end[i] - start[i]) * step / 4 for i in (0, 1)])
        self.evaluate("1")
        caught = [each for each in self.events if each.get("method") == "Input.dragIntercepted"]
        check(caught, "nothing is dragged")
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", {"type": kind, "x": end[0], "y": end[1], "data": caught[0]["params"]["data"]})
        self.held = False
        self.mouse("mouseReleased", end)
        self.call("Input.setInterceptDrags", {"enabled": False})

    def shoot(self, path):
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        picture = self.call("Page.captureScreenshot", {"clip": {"x": 0, "y": 0, "width": width, "height": min(height, 4000), "scale": 1}, "captureBeyondViewport": True})
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def check_page(browser, folder, page, shots):
    address = (folder / f"{page}.html").as_uri()
    has_library = page != "index"
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
        browser.look(scheme, width, 900)
        browser.open(address, has_library)
        check(browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{page} is wider than {width} pixels")
        check(browser.evaluate("document.querySelectorAll('.problem').length") == 0, f"{page} shows a problem at first sight")
        dark = browser.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        check(dark == (scheme == "dark"), f"{page}: ground of the {scheme} scheme")
        check_colours(browser, page, scheme)
        check_names(browser, page)
        if shots:
            browser.shoot(shots / f"{page}-{scheme}-{width}.png")
            if width > 390:
                browser.call("Emulation.setEmulatedVisionDeficiency", {"type": "deuteranopia"})
                browser.shoot(shots / f"{page}-{scheme}-deuteranopia.png")
                browser.call("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    if has_library:
        browser.look()
        browser.open(address)
        check_exercises(browser, page)
        check_state(browser, address, page)
        check(browser.evaluate("document.querySelectorAll('.notice li').length") >= 3, f"{page} says too little of what to notice")
    if page == "schedules":
        check_game(browser, address)
    complaints = browser.complaints()
    check(not complaints, f"{page}: console: {complaints}")


# Colours that mean different things in one picture, as the style sheet calls them.
TOLD_APART = {
    "schedules": [["blue", "orange", "teal", "magenta", "gold", "sky"]],  # heads
    "tiles": [["blue", "orange"], ["blue", "blue-soft"]], "cache": [["blue", "orange"]], "atomics": [["blue", "orange"]],
    "roofline": [["blue", "orange"]],
}


def check_colours(browser, page, scheme):
    """Distances in OKLab as in the library's own pictures: 12 between categories, for three kinds of sight."""
    colour = lambda name: sight.rgb(browser.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}')"))
    for group in TOLD_APART.get(page, []):
        for i, one in enumerate(group):
            for other in group[:i]:
                for kind in sight.KINDS:
                    apart = sight.distance(colour(one), colour(other), kind)
                    check(apart >= 12, f"{page}, {scheme}: {one} and {other} are {apart:.1f} apart for {kind} sight")
    for name in ("ink", "soft"):
        contrast = sight.contrast(colour(name), colour("ground"))
        check(contrast >= 4.5, f"{page}, {scheme}: text in {name} has a contrast of {contrast:.1f}")


def check_names(browser, page):
    """What a person can operate has a name for those who hear the page, and pictures say what they show."""
    nameless = browser.evaluate("""[...document.querySelectorAll('input, select, button, svg')].filter((it) =>
      !(it.getAttribute('aria-label') || it.textContent.trim() || it.closest('svg svg'))).map((it) => it.outerHTML.slice(0, 80))""")
    check(not nameless, f"{page}: no name: {nameless}")


LANE = "document.querySelectorAll('.lane')[%d]"
CHIPS = "[...document.querySelectorAll('.lane')].map((lane) => [...lane.querySelectorAll('.chip')].map((chip) => chip.textContent))"


def score(browser):
    """The makespan of the order that was made by hand."""
    text = browser.evaluate("[...document.querySelectorAll('.game .numbers div')].find((it) => it.textContent.startsWith('makespan')).querySelector('dd').textContent")
    return float(text.replace(",", ""))


def check_game(browser, address):
    """4 causal tiles, compute 7 and add 2: ten tasks, so 90 on one worker, by dragging, by tapping and by keyboard."""
    small = address + "#left=ascending&right=best&mask=causal&tiles=4&heads=1&workers=2&compute=7&reduce=2&handoff=0&release=at-once"
    alone = 10 * (7 + 2)
    for way in ("dragging", "tapping", "keyboard"):
        browser.look()
        browser.open(small)
        chips = browser.evaluate(CHIPS)
        check(sum(map(len, chips)) == 4 and all(chips), f"schedules: the game begins with {chips}")
        check(score(browser) < alone, "schedules: two workers are no faster than one")
        while browser.evaluate(CHIPS)[1]:
            left = len(browser.evaluate(CHIPS)[1])
            chip = LANE % 1 + ".querySelector('.chip')"
            if way == "keyboard":
                browser.evaluate(chip + ".focus()")
                browser.key("ArrowUp", "ArrowUp", 38)
            else:
                lane = browser.evaluate(f"(() => {{ const it = {LANE % 0}.getBoundingClientRect(); return [it.right - 8, it.y + it.height / 2]; }})()")
                start = browser.place(chip)
                lane = browser.evaluate(f"(() => {{ const it = {LANE % 0}.getBoundingClientRect(); return [it.right - 8, it.y + it.height / 2]; }})()")
                if way == "dragging":
                    browser.drag(start, lane)
                else:
                    browser.click(start)
                    browser.click(lane)
            check(len(browser.evaluate(CHIPS)[1]) == left - 1, f"schedules: {way} does not move a chip")
        check(score(browser) == alone, f"schedules: {way}: all on one worker take {score(browser)}, not {alone}")
    # The link brings the order back, and one of other settings is left alone.
    link = browser.evaluate("location.hash")
    browser.open(address + link)
    check(score(browser) == alone and browser.evaluate(CHIPS)[1] == [], "schedules: the link does not bring the order back")
    browser.open(address + link.replace("tiles=4", "tiles=5"))
    check(score(browser) < 15 * (7 + 2), "schedules: an order of 4 tiles is taken for one of 5")
    browser.open(address + link)
    # Turning a chain round by keyboard: V reverses its Q tiles, R rotates them.
    chip = LANE % 0 + ".querySelector('.chip')"
    tiles = lambda: browser.evaluate(chip + ".textContent").split(": ")[1].split()
    before = tiles()
    browser.evaluate(chip + ".focus()")
    browser.key("v", "KeyV", 86)
    check(tiles() == before[::-1], f"schedules: V makes {tiles()} of {before}")
    browser.key("r", "KeyR", 82)
    check(tiles() == before[::-1][1:] + before[-1:], f"schedules: R makes {tiles()}")


def check_exercises(browser, page):
    """What `Show me` says is right, by the page's own judgement; a wrong number is not."""
    count = browser.evaluate("document.querySelectorAll('#exercises li').length")
    check(count >= 3, f"{page}: {count} exercises")
    for i in range(count):
        item = f"document.querySelectorAll('#exercises li')[{i}]"
        submit = f"{item}.querySelector('form').requestSubmit()"
        browser.evaluate(f"{item}.querySelector('button[type=button]').click()")
        told = browser.evaluate(f"{item}.querySelector('.verdict').textContent")
        number = "".join(c for c in told.split()[0].replace(",", "") if c in "-.0123456789").rstrip(".")
        browser.evaluate(f"{item}.querySelector('input').value = '{number}'; {submit}")
        check(browser.evaluate(f"{item}.querySelector('.verdict').textContent").startswith("Right"), f"{page}: exercise {i}: {told}")
        browser.evaluate(f"{item}.querySelector('input').value = '{float(number) + 7}'; {submit}")
        check(browser.evaluate(f"{item}.querySelector('.verdict').textContent") == "Not yet.", f"{page}: exercise {i} takes a wrong answer")


def check_state(browser, address, page):
    """An arrow key on a slider changes the result and the link; the link brings the result back."""
    browser.open(address)
    find = "document.querySelector('#controls input[type=range]')"
    shown = "document.querySelector('#result').textContent"
    link, text = browser.evaluate("location.hash"), browser.evaluate(shown)
    # A slider at its end does not move: the first one that does.
    for i in range(browser.evaluate("document.querySelectorAll('#controls input[type=range]').length")):
        browser.evaluate(f"document.querySelectorAll('#controls input[type=range]')[{i}].focus()")
        before = browser.evaluate("document.body.dataset.ready")
        for _ in range(2):
            browser.key("ArrowLeft", "ArrowLeft", 37)
        time.sleep(0.3)
        browser.wait(f"document.body.dataset.ready !== '{before}' || true")
        if browser.evaluate(shown) != text:
            break
    changed, new_link = browser.evaluate(shown), browser.evaluate("location.hash")
    check(changed != text and new_link != link, f"{page}: arrow keys change nothing")
    browser.open(address + new_link)
    check(browser.evaluate(shown) == changed, f"{page}: its link does not bring the state back")


def sizes(folder):
    """Bytes of the folder as it lies, and with the module inflated: what a browser has before it can answer."""
    lying = sum(file.stat().st_size for file in folder.iterdir())
    packed = re.search(rb'atob\("([^"]*)"\)', (folder / "natten-sim-web.js").read_bytes())[1]
    return lying, lying - len(packed) + len(zlib.decompress(base64.b64decode(packed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--pages", nargs="+", help="some of them")
    arguments = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("skipped: chromium is missing")
        return 77
    if not (arguments.folder / "natten-sim-web.js").exists():
        print(f"skipped: {arguments.folder} has no module; scripts/build_web.sh builds it, with Emscripten")
        return 77
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    pages = arguments.pages or sorted(file.stem for file in arguments.folder.glob("*.html"))
    check(len(pages) >= 1, "no pages")
    size, inflated = sizes(arguments.folder)
    check(inflated < 1_500_000, f"the pages have {inflated} bytes before compression, more than 1.5 MB")
    failed = 0
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        for page in pages:
            try:
                check_page(browser, arguments.folder.resolve(), page, arguments.screenshots)
                print(f"{page}: passed")
            except (AssertionError, RuntimeError) as error:
                failed += 1
                print(f"{page}: {error}")
        browser.close()
    print(f"{inflated} bytes before compression, {size} as they lie; {failed} of {len(pages)} pages failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
