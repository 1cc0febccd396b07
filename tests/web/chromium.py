"""A headless Chromium by its DevTools protocol, and what a page asked the library in it."""
import base64, json, os, pathlib, subprocess, time


# Before a page's own scripts: each request to the module, with its answer, is kept in window.asked.
KEEP_REQUESTS = """
window.asked = [];
(() => {
  let start;
  // Emscripten puts another function in the place of the first one when that is called.
  const keep = (made) => {
    if (made.kept) return made;
    let answer = made._natten_sim_answer;
    const kept = (place) => {
      const request = made.UTF8ToString(place), said = answer(place);
      window.asked.push([request, made.UTF8ToString(said)]);
      return said;
    };
    made.kept = true;
    Object.defineProperty(made, "_natten_sim_answer", { get: () => kept, set: (next) => { answer = next; } });
    return made;
  };
  Object.defineProperty(window, "natten_sim_module", { configurable: true, get: () => start,
    set: (make) => { start = async (...options) => keep(await make(...options)); } });
})();
"""


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
        self.asked = {}  # request: answer, of all pages
        target = self.call("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", {"source": KEEP_REQUESTS})

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

    def keep_answers(self):
        self.asked.update(self.evaluate("window.asked?.splice(0) ?? []"))

    def open(self, address, ready=True):
        self.keep_answers()
        self.call("Page.navigate", {"url": "about:blank"})
        self.call("Page.navigate", {"url": address})
        self.wait("document.readyState === 'complete'" + (" && document.body.dataset.ready > 0" if ready else ""))

    def key(self, name, code, virtual):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", {"type": kind, "key": name, "code": code, "windowsVirtualKeyCode": virtual})

    def draw_again(self, action):
        """`action`, and the page has drawn what came of it."""
        before = self.evaluate("document.body.dataset.ready")
        action()
        self.wait(f"document.body.dataset.ready !== '{before}'")

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
        self.release(at)

    def slide(self, start, end, steps=8):
        """Press and move; the button stays down until `release`."""
        self.held = True
        self.mouse("mousePressed", start)
        for step in range(1, steps + 1):
            self.mouse("mouseMoved", [start[i] + (end[i] - start[i]) * step / steps for i in (0, 1)])

    def release(self, at):
        self.held = False
        self.mouse("mouseReleased", at)

    def drag(self, start, end):
        """What a hand does: press, move, release. The browser's own drag is caught and dropped at `end`."""
        self.call("Input.setInterceptDrags", {"enabled": True})
        self.events = [each for each in self.events if each.get("method") != "Input.dragIntercepted"]
        self.slide(start, end, steps=4)
        self.evaluate("1")
        caught = [each for each in self.events if each.get("method") == "Input.dragIntercepted"]
        check(caught, "nothing is dragged")
        for kind in ("dragEnter", "dragOver", "drop"):
            self.call("Input.dispatchDragEvent", {"type": kind, "x": end[0], "y": end[1], "data": caught[0]["params"]["data"]})
        self.release(end)
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
