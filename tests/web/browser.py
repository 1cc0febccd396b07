#!/usr/bin/env python3
"""The classroom in a headless Chromium: every page loads, calculates, answers its exercises, keeps its state in
the link, works by keyboard, fits a phone, and says nothing on the console.

usage: browser.py FOLDER_OF_PAGES [--screenshots FOLDER]        Exit code 77: skipped.
"""
import argparse, base64, json, os, pathlib, shutil, subprocess, sys, tempfile, time

PAGES = ["index", "tiles", "schedules", "cache", "atomics", "roofline"]


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
        if shots:
            browser.shoot(shots / f"{page}-{scheme}-{width}.png")
    if has_library:
        browser.look()
        browser.open(address)
        check_exercises(browser, page)
        check_state(browser, address, page)
    complaints = browser.complaints()
    check(not complaints, f"{page}: console: {complaints}")


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--pages", nargs="+", default=PAGES)
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
    size = sum(file.stat().st_size for file in arguments.folder.iterdir())
    check(size < 1_500_000, f"the pages have {size} bytes, more than 1.5 MB")
    failed = 0
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(program, profile)
        for page in arguments.pages:
            try:
                check_page(browser, arguments.folder.resolve(), page, arguments.screenshots)
                print(f"{page}: passed")
            except (AssertionError, RuntimeError) as error:
                failed += 1
                print(f"{page}: {error}")
        browser.close()
    print(f"{size} bytes of pages; {failed} of {len(arguments.pages)} pages failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
