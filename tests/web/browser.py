#!/usr/bin/env python3
"""The classroom in a headless Chromium: every page loads, calculates, answers its exercises, keeps its state in
the link, works by keyboard and by mouse, fits a phone, and says nothing on the console. Colours are told apart
without green cones too. Orders are made by dragging, by tapping and by keyboard. With --program, each answer that a
page got is what the native program says.

usage: browser.py FOLDER_OF_PAGES [--screenshots FOLDER] [--program LESSONS]        Exit code 77: skipped.
"""
import argparse, base64, json, pathlib, re, shutil, subprocess, sys, tempfile, zlib

import claims
import sight
from chromium import Browser, check


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
        check_labels(browser, page, width)
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
        check_controls(browser, address, page)
        check_hand(browser, address, page)
        check(browser.evaluate("document.querySelectorAll('.notice li').length") >= 3, f"{page} says too little of what to notice")
    if page == "schedules":
        check_game(browser, address)
    for claim in claims.CLAIMS.get(page, []):
        claim(claims.Page(browser, address))
        print(f"  {claim.__name__.replace('_', ' ')}")
    browser.keep_answers()
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


def check_labels(browser, page, width):
    """No text of a picture sticks out of it, where it would be cut off."""
    cut = browser.evaluate("""[...document.querySelectorAll('#result svg')].flatMap((svg) => { const around = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter((it) => { const at = it.getBoundingClientRect(); return at.left < around.left - 1 || at.right > around.right + 1; }).map((it) => it.textContent); })""")
    check(not cut, f"{page}, {width} pixels wide: cut off: {cut}")


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


RESULT = "document.querySelector('#result').innerHTML"
CONTROLS = "document.querySelectorAll('#controls input, #controls select')"


def check_state(browser, address, page):
    """An arrow key on a slider changes the result and the link; the link brings the result back."""
    browser.open(address)
    shown = "document.querySelector('#result').textContent"
    link, text = browser.evaluate("location.hash"), browser.evaluate(shown)
    # A slider at its end does not move: the first one that does.
    for i in range(browser.evaluate("document.querySelectorAll('#controls input[type=range]').length")):
        browser.evaluate(f"document.querySelectorAll('#controls input[type=range]')[{i}].focus()")
        for key in ("ArrowLeft", "ArrowRight"):
            if browser.evaluate("location.hash") == link:
                operate(browser, i, lambda: browser.key(key, key, 37 if key == "ArrowLeft" else 39), "#controls input[type=range]")
        if browser.evaluate(shown) != text:
            break
    changed, new_link = browser.evaluate(shown), browser.evaluate("location.hash")
    check(changed != text and new_link != link, f"{page}: arrow keys change nothing")
    browser.open(address + new_link)
    check(browser.evaluate(shown) == changed, f"{page}: its link does not bring the state back")


def operate(browser, i, action, among="#controls input, #controls select"):
    """Does `action` to control number i; waits for the page where that changed the control's value."""
    control = f"document.querySelectorAll({json.dumps(among)})[{i}]"
    value = f"({control}.type === 'checkbox' ? {control}.checked : {control}.value)"
    before, drawn = browser.evaluate(value), browser.evaluate("document.body.dataset.ready")
    action()
    if browser.evaluate(value) == before:
        return False
    browser.wait(f"document.body.dataset.ready !== '{drawn}'")
    return True


# Where a page's first state leaves a control without effect: one CTA cannot drift.
STIRRED = {"cache": "#ctas=4&q=8"}


def check_controls(browser, address, page):
    """Each control changes what is shown, by keyboard alone. One that cannot move, at most a third of them, is left out."""
    address += STIRRED.get(page, "")
    browser.open(address)
    count, still = browser.evaluate(CONTROLS + ".length"), []
    check(count >= 4, f"{page}: {count} controls")
    for i in range(count):
        browser.open(address)
        name = browser.evaluate(f"{CONTROLS}[{i}].getAttribute('aria-label')")
        before = browser.evaluate(RESULT)
        browser.evaluate(f"{CONTROLS}[{i}].focus()")
        kind = browser.evaluate(f"{CONTROLS}[{i}].type")
        keys = [(" ", "Space", 32)] if kind == "checkbox" else [("ArrowRight", "ArrowRight", 39), ("ArrowLeft", "ArrowLeft", 37)]
        if kind == "select-one":
            keys = [("ArrowDown", "ArrowDown", 40), ("ArrowUp", "ArrowUp", 38)]
        press = lambda key: operate(browser, i, lambda: browser.key(*key))
        key = next((each for each in keys if press(each)), None)
        if key is None:
            still.append(name)
            continue
        # Not every step of a stride or a window changes a tile.
        while browser.evaluate(RESULT) == before:
            check(press(key), f"{page}: {name} changes nothing")
    check(len(still) * 3 <= count, f"{page}: controls that do not move: {still}")


def check_hand(browser, address, page):
    """A slider that a mouse pulls follows to where it is let go, and the result follows while the button is down."""
    browser.open(address)
    widest = browser.evaluate("(() => { const all = [...document.querySelectorAll('#controls input[type=range]')].map((it) => (it.max - it.min) / it.step); return all.indexOf(Math.max(...all)); })()")
    slider = f"document.querySelectorAll('#controls input[type=range]')[{widest}]"
    middle = browser.place(slider)
    left, right, share = browser.evaluate(f"(() => {{ const it = {slider}, at = it.getBoundingClientRect(); return [at.left + 8, at.right - 8, (it.value - it.min) / (it.max - it.min)]; }})()")
    thumb = left + (right - left) * share
    end = right - (right - left) / 8 if share < .5 else left + (right - left) / 8
    before, value = browser.evaluate(RESULT), float(browser.evaluate(slider + ".value"))
    browser.slide([thumb, middle[1]], [end, middle[1]])
    browser.wait(f"{RESULT} !== {json.dumps(before)}", 10)
    browser.release([end, middle[1]])
    after, low, high = (float(browser.evaluate(f"{slider}.{name}")) for name in ("value", "min", "max"))
    reached = (after - low) / (high - low)
    check(abs(reached - (7 / 8 if share < .5 else 1 / 8)) < .1, f"{page}: pulled from {value}, a slider stays at {after} of {low} to {high}")


def same(ours, native):
    """Texts are equal, numbers to 1e-9: the two have different mathematics libraries (compare.js)."""
    if isinstance(ours, dict) and isinstance(native, dict):
        return list(ours) == list(native) and all(same(ours[key], native[key]) for key in ours)
    if isinstance(ours, list) and isinstance(native, list):
        return len(ours) == len(native) and all(map(same, ours, native))
    if isinstance(ours, (int, float)) and isinstance(native, (int, float)):
        return abs(ours - native) <= 1e-9 * max(abs(ours), abs(native))
    return ours == native


def check_native(asked, program):
    """What the pages were answered, and what the native program answers."""
    requests = list(asked)
    said = subprocess.run([program], input="".join(each + "\n" for each in requests), capture_output=True, text=True, check=True).stdout.splitlines()
    check(len(said) == len(requests), f"{len(requests)} requests, {len(said)} native answers")
    for request, native in zip(requests, said):
        check(same(json.loads(asked[request]), json.loads(native)), f"{request}\n  {asked[request][:300]}\n  native {native[:300]}")
    return len(requests)


def sizes(folder):
    """Bytes of the folder as it lies, and with the module inflated: what a browser has before it can answer."""
    lying = sum(file.stat().st_size for file in folder.iterdir())
    packed = re.search(rb'atob\("([^"]*)"\)', (folder / "natten-sim-web.js").read_bytes())[1]
    return lying, lying - len(packed) + len(zlib.decompress(base64.b64decode(packed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path)
    parser.add_argument("--program", type=pathlib.Path, help="natten_sim_lessons of a native build")
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
    if arguments.program:
        print(f"{check_native(browser.asked, arguments.program)} different requests of the pages: answered as the native program does")
    print(f"{inflated} bytes before compression, {size} as they lie; {failed} of {len(pages)} pages failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
