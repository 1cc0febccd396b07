"""What each page of the classroom is for, claim by claim. Expected numbers are formulas that stand here, counts of
what is drawn, or what the same page says elsewhere."""
import json, pathlib, re

from chromium import check

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Page:
    """A page that is open: what it shows, and what its controls are."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def open(self, state=""):
        self.browser.open(self.address + ("#" + state if state else ""))

    def preset(self, text):
        self.browser.draw_again(lambda: self.browser.evaluate(f"[...document.querySelectorAll('#presets button')].find((it) => it.textContent === {json.dumps(text)}).click()"))

    def text(self, selector):
        return self.browser.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((it) => it.textContent)")

    def count(self, selector):
        return self.browser.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def fact(self, name, within="#result"):
        """What stands under a name among a panel's numbers."""
        return self.browser.evaluate(f"[...document.querySelector({json.dumps(within)}).querySelectorAll('.numbers div')].find((it) => it.querySelector('dt').textContent === {json.dumps(name)}).querySelector('dd').textContent")

    def number(self, name, within="#result"):
        return numbers_in(self.fact(name, within))[0]

    def slide_to(self, label, value):
        """By keyboard: Home, then as many steps to the right."""
        find = f"document.querySelector('#controls [aria-label={json.dumps(label)}]')"
        self.browser.evaluate(f"{find}.focus()")
        if self.browser.evaluate(f"{find}.value !== {find}.min"):
            self.browser.draw_again(lambda: self.browser.key("Home", "Home", 36))
        low, step = (float(self.browser.evaluate(f"{find}.{name}")) for name in ("min", "step"))
        for _ in range(round((value - low) / step)):
            self.browser.draw_again(lambda: self.browser.key("ArrowRight", "ArrowRight", 39))
        check(float(self.browser.evaluate(f"{find}.value")) == value, f"{label} does not reach {value}")

    def answer(self, command):
        """The last answer of the library to a command."""
        said = self.browser.evaluate(f"window.asked.findLast((each) => JSON.parse(each[0]).command === {json.dumps(command)})[1]")
        return json.loads(said)["result"]

    def told(self):
        """The numbers that `Show me` tells, exercise by exercise."""
        self.browser.evaluate("document.querySelectorAll('#exercises button[type=button]').forEach((it) => it.click())")
        return [numbers_in(text)[0] for text in self.text("#exercises .verdict")]


def numbers_in(text):
    return [float(each.replace(",", "")) for each in re.findall(r"-?\d[\d,]*\.?\d*", text)]


FILLED = ", ".join(f"#result {place} svg > rect[fill='{fill}']" for place in (".scroll", ".slices") for fill in ("var(--blue)", "url(#partly)"))


def visited_by_hand(length, window, q_tile, kv_tile):
    """Tiles of one axis without stride: each query's window is centred, and moved inside at the ends."""
    tiles = set()
    for query in range(length):
        start = min(max(query - window // 2, 0), length - window)
        tiles |= {(query // q_tile, key // kv_tile) for key in range(start, start + window)}
    return len(tiles)


def tiles_shows_what_a_q_tile_visits(page):
    page.open()
    expected = visited_by_hand(64, 16, 8, 4)
    check(page.number("visited tiles") == expected == page.count(FILLED), f"one axis: {page.fact('visited tiles')}, drawn {page.count(FILLED)}, by hand {expected}")
    for preset in ("One axis, stride 8", "hunyuan-video 18×24×24"):
        page.preset(preset)
        check(page.count(FILLED) == len(page.answer("visited")["tiles"]), f"{preset}: {page.count(FILLED)} tiles are drawn")
    # A click on a slice moves the Q tile there: its marked rectangle and the link follow.
    page.browser.place("document.querySelectorAll('.slices svg')[0]")  # into sight
    at = page.browser.evaluate("(() => { const it = document.querySelectorAll('.slices svg')[0].getBoundingClientRect(); return [it.x + .65 * it.width, it.y + .65 * it.height]; })()")
    page.browser.draw_again(lambda: page.browser.click(at))
    rows, columns = (int(.65 * length / 8) for length in (48, 80))
    check(f"at=0.{rows}.{columns}" in page.browser.evaluate("location.hash"), f"a click on the first slice: {page.browser.evaluate('location.hash')}")


def tiles_has_four_speedups_that_agree_but_for_padding(page):
    page.open()
    page.preset("hunyuan-video 18×24×24")
    ladder = page.text("#result tbody tr td:first-child")
    check(len(ladder) >= 4, f"a ladder of {len(ladder)} strides")
    page.browser.draw_again(lambda: page.browser.evaluate("[...document.querySelectorAll('#result tbody button')].find((it) => it.textContent === '16×8×8').click()"))
    speedups = [text for text in page.text("#result svg text") if text.endswith("×")]
    # All pairs over those of the window; the work has 32 frames, since 30 are no multiple of the Q tile's 4.
    promised = 30 * 48 * 80 / (18 * 24 * 24)
    check(speedups == [f"{promised:.1f}×"] * 3 + [f"{promised * 30 / 32:.1f}×"], f"speedups {speedups}")
    check(page.fact("block-sparse") == "yes" and numbers_in(page.fact("full / partial"))[1] == 0, "a partial tile at stride 16×8×8")


def tiles_has_every_published_ladder(page):
    presets = json.loads((ROOT / "data/presets.json").read_text(encoding="utf-8"))["presets"]
    ladders = [(preset["name"], window) for preset in presets for window in preset.get("windows", []) if window.get("strides") and window.get("q_tile") and len(preset["layout"]) <= 3]
    page.open()
    buttons = page.text("#presets button")
    check(len(buttons) == 2 + len(ladders) > 4, f"{len(buttons)} presets for {len(ladders)} ladders")
    for button, (name, window) in zip(buttons[2:], ladders):
        page.preset(button)
        check(button.startswith(name) and page.count("#result .problem") == 0, f"{button} for {name}")
        check(page.count("#result tbody tr") == len(window["strides"]), f"{button}: {page.count('#result tbody tr')} strides")


BASE = dict(m=2, n=8, c=7, r=2)  # heads, tiles and workers, compute, add up: the page's first state


def ascending(m, n, c, r):
    return m * n * (c + r) + (n - 1) * r


def descending(m, n, c, r):
    return m * (n + 1) * (c + r) / 2 + (n - 1) * r


def work(m, n, c, r):
    return m * n * (n + 1) / 2 * (c + r)


SIDES = ("#result .pair section:nth-child(1)", "#result .pair section:nth-child(2)")


def schedules_shows_two_orders_with_critical_path_and_waits(page):
    page.open()
    boxes = page.browser.evaluate("[...document.querySelectorAll('.pair section')].map((it) => [it.getBoundingClientRect().x, it.getBoundingClientRect().y])")
    check(len(boxes) == 2 and boxes[0][1] == boxes[1][1] and boxes[0][0] < boxes[1][0], f"not side by side: {boxes}")
    for side, formula in zip(SIDES, (ascending, descending)):
        makespan = page.number("makespan", side)
        check(makespan == formula(**BASE), f"{side} takes {makespan}, the formula {formula(**BASE)}")
        # All that workers do not do is one of three waits.
        waits = sum(numbers_in(page.fact("waits: start / turn / end", side)))
        check(waits == 8 * makespan - work(**BASE), f"{side}: waits of {waits}")
        check(page.count(f"{side} rect[stroke='var(--ink)']") > 0, f"{side}: no critical path")
    answer = page.answer("gantt")  # the last of all orders
    check(answer["makespan"] >= work(**BASE) / 8, "an order is shorter than its work")


def schedules_says_why_an_order_hangs(page):
    page.open()
    page.preset("An order that hangs")
    said = page.text(f"{SIDES[1]} .problem, {SIDES[1]} li")
    check(said[0] == "It hangs." and len(said) >= 3, f"a hang says {said}")
    check(all("waits" in each for each in said[1:]), f"a hang does not say who waits: {said}")
    check("hangs" in page.text("#result tbody td"), "the table of all orders does not say which hang")


def schedules_has_a_slider_of_hand_offs(page):
    page.open()
    page.preset("Full: shift is perfect")
    before = [page.number("makespan", side) for side in SIDES]
    check(before[1] == 2 * 8 * 9, f"shift without hand-offs takes {before[1]}: 8 tasks of 9 for each of 2 heads")
    # A shifted addition is done a whole computation before the next worker needs it: so long a hand-off is free.
    page.slide_to("Hand-off to another worker", BASE["c"])
    after = [page.number("makespan", side) for side in SIDES]
    check(after[0] > before[0] and after[1] == before[1], f"hand-offs of 7: {before}, {after}")
    page.slide_to("Hand-off to another worker", BASE["c"] + 1)
    check(page.number("makespan", SIDES[1]) > before[1], "hand-offs of 8 are free for shift")


def schedules_tells_how_an_own_order_stands(page):
    small = "mask=causal&tiles=4&heads=1&workers=2&compute=7&reduce=2&handoff=0&release=at-once&left=ascending&right=best"
    best = None
    for own, word in (("0.0.0.1.2.3_0.1.1.2.3_0.2.2.3_0.3.3~", "longer than"), ("0.0.3.2.1.0_0.3.3~0.1.3.2.1_0.2.3.2", None)):
        page.open(f"{small}&own={own}")
        ends = [numbers_in(text)[0] for text in page.text("#result tbody td:nth-child(2)") if numbers_in(text)]
        best, mine = min(ends), page.number("makespan", "#result .game")
        expected = "longer than" if mine > best else "As short as" if mine == best else "You beat"
        told = page.text("#result .game .verdict")[0]
        check(expected in told and (word is None or word == expected), f"{own}: {mine} beside {best}: {told}")
        if mine > best:
            check(numbers_in(told)[0] == mine - best, f"{own}: {told}")


def schedules_exercises_are_the_closed_forms(page):
    page.open()
    told = page.told()
    check(told[:4] == [ascending(**BASE), descending(**BASE), work(**BASE) / 8, BASE["c"]], f"exercises: {told}")


CELL = "#result svg rect[fill='var(--%s)']"


def cache_counts_what_it_draws(page):
    for order, misses in (("cyclic", 6 * 16), ("sawtooth", 16 + 5 * (16 - 12))):
        page.open(f"order={order}&kv=16&q=6&capacity=12&ctas=1&drift=0")
        check(page.number("accesses") == 96 and page.number("misses") == misses, f"{order}: {page.fact('misses')} misses")
        drawn = {colour: page.count(CELL % colour) for colour in ("line", "blue", "orange")}
        check(drawn == {"line": 16, "blue": 96 - misses, "orange": misses - 16}, f"{order}: {drawn}")


def cache_shows_each_stack_distance_as_a_place(page):
    """Number 1 is the tile that was read last; a hit is a place that the cache keeps."""
    for state in ("order=sawtooth&kv=6&q=3&capacity=4&ctas=1&drift=0", "order=cyclic&kv=5&q=4&capacity=3&ctas=2&drift=3&causal=true"):
        page.open(state)
        walk = page.answer("accesses")["walk"]
        capacity = int(re.search(r"capacity=(\d+)", state)[1])
        for at, (_, _, _, kv_tile, distance) in enumerate(walk):
            page.browser.draw_again(lambda: page.browser.evaluate(f"document.querySelectorAll('#result svg rect')[{at}].dispatchEvent(new Event('click'))"))
            place = page.browser.evaluate("[...document.querySelectorAll('.moment li')].findIndex((it) => it.ariaCurrent === 'true') + 1")
            check(place == (distance or 0), f"access {at} of {state}: place {place}, distance {distance}")
            kept = page.text(".moment .kept")
            seen = len({each[3] for each in walk[:at]})
            check(len(kept) == min(capacity, seen) and (str(kv_tile) in kept) == (distance is not None and distance <= capacity), f"access {at} of {state}: keeps {kept}")
        check(float(page.browser.evaluate("document.querySelector('[aria-label=\"Access to look at\"]').value")) == len(walk) - 1, "the slider does not follow a click")


def cache_has_a_slider_of_capacity(page):
    page.open()
    for capacity, misses in ((15, 96), (16, 16)):
        page.slide_to("Capacity, in KV tiles", capacity)
        check(page.number("misses") == misses, f"cyclic, room for {capacity}: {page.fact('misses')}")


def cache_shows_ctas_that_drift_apart(page):
    """In step one of 4 reads for all; apart by more than the cache spans each reads alone: 4 times the misses."""
    page.open()
    page.preset("CTAs in step")
    in_step = page.number("misses")
    check(in_step == 2 * 16, f"in step {in_step} misses: two passes of 16 tiles")
    page.preset("CTAs apart")
    check(page.number("misses") >= 2 * in_step, f"apart {page.fact('misses')} misses")


def cache_shows_the_causal_explosion(page):
    page.open()
    rows = page.count("#result tbody tr")
    page.browser.evaluate("[...document.querySelectorAll('#result button')].find((it) => it.textContent.startsWith('Let the CTAs')).click()")
    check(page.count("#result tbody tr") == rows + 1, "the button adds no row")
    missed = [numbers_in(text) for text in page.text("#result tbody td:nth-child(4)")]
    check(missed[-1][0] > missed[-2][0], f"causal, in time {missed[-1]} missed sectors, in step {missed[-2]}")


def cache_exercises_are_the_closed_forms(page):
    page.open()
    check(page.told()[:4] == [6 * 16, 16, 16 + 5 * (16 - 12), 16], f"exercises: {page.told()}")


def atomics_draws_the_queue(page):
    """A reduction is served once. Of compare-and-swaps on one word, those that come second in a round fail."""
    page.open("warps=8&updates=100&hot=100&changing=100&service=5")
    done, failed = (page.browser.evaluate(f"[...document.querySelectorAll('svg.queue')].map((it) => it.querySelectorAll('rect[fill=\"var(--{colour})\"]').length)") for colour in ("blue", "orange"))
    check(done[0] == 100 and failed[0] == 0, f"reductions: {done[0]} done, {failed[0]} again")
    first = page.browser.evaluate("JSON.parse(window.asked.findLast((it) => it[0].includes('listed') && it[0].includes('\"compare-and-swap\":true'))[1]).result.first_requests")
    check(done[1] + failed[1] == len(first) == 120 and failed[1] > done[1], f"compare-and-swaps: {done[1]} done, {failed[1]} again")
    check([each[4] for each in first[:8]] == [1] + [0] * 7, f"the first round of 8 warps: {first[:8]}")


def atomics_counts_retries(page):
    retries = lambda: [numbers_in(text)[0] for text in page.text("#result table:first-of-type tbody td:nth-child(5)")[:2]]
    page.open("warps=32&updates=400&hot=100&changing=100&service=5")
    reduction, swap = retries()
    check(reduction == 0 and swap > 400, f"32 warps: {reduction} and {swap} retries")
    for state in ("warps=1&changing=100", "warps=32&changing=0"):
        page.open(f"updates=400&hot=100&service=5&{state}")
        check(retries() == [0, 0], f"{state}: {retries()} retries")


def atomics_ranks_remedies(page):
    page.open()
    names = page.text("#result svg:last-of-type text")
    answer = page.answer("atomics")
    times = {each["name"]: each["time_ns"] for each in answer["remedies"]}
    check(len(times) >= 3 and min(times.values()) < times["as-is"], f"remedies: {times}")
    check(any("as is" in text for text in page.text("#result svg text")), f"the present state is not among {names}")
    # fp32 is added by the memory itself, so the hot row costs less.
    before = answer["time_ns"]
    page.preset("fp32 on the device")
    check(page.answer("atomics")["time_ns"] < before, "fp32 is no faster than bf16 on a hot row")


def roofline_places_a_configuration_under_the_roof(page):
    page.open()
    answer = page.answer("count")
    marks = page.browser.evaluate("(() => { const at = (it) => [it.getBBox().x + it.getBBox().width / 2, it.getBBox().y + it.getBBox().height / 2];"
                                  "const svg = document.querySelector('#result svg'); return [at(svg.querySelector('circle')), at(svg.querySelector('rect'))]; })()")
    roof = page.browser.evaluate("document.querySelector('#result svg path').getBBox().y")
    multiplied, useful = marks
    check(roof < multiplied[1] < useful[1] and useful[0] < multiplied[0], f"marks at {marks}, the roof at {roof}")
    check(page.count("#result svg:first-of-type title") >= 2 and answer is not None, "marks do not say their numbers")


def roofline_says_where_the_time_goes_and_what_moves_it(page):
    page.open()
    before = page.number("time")
    parts = page.browser.evaluate("[...document.querySelectorAll('#result > svg text')].map((it) => it.textContent).filter((it) => it.endsWith(' ms'))")
    check(abs(sum(numbers_in(each)[0] for each in parts) - before) < .02 * before, f"parts {parts} of {before}")
    page.preset("Hunyuan, stride 16×8×8")
    # No pair is masked; 30 frames are padded to 8 Q tiles of 4.
    padded = f"{100 * (1 - 30 / 32):.0f}%"
    check(page.number("time") < before and page.fact("wasted FLOPs") == padded, f"stride 16×8×8: {page.fact('time')}, {page.fact('wasted FLOPs')}")
    rows = page.text("#result tbody tr:first-child td")
    check(rows[0] == "as chosen" and numbers_in(rows[1])[0] == page.number("time"), f"the first row is {rows}")
    check(page.count("#result tbody tr") >= 4, "few strides to compare")


CLAIMS = {
    "tiles": [tiles_shows_what_a_q_tile_visits, tiles_has_four_speedups_that_agree_but_for_padding, tiles_has_every_published_ladder],
    "schedules": [schedules_shows_two_orders_with_critical_path_and_waits, schedules_says_why_an_order_hangs, schedules_has_a_slider_of_hand_offs,
                  schedules_tells_how_an_own_order_stands, schedules_exercises_are_the_closed_forms],
    "cache": [cache_counts_what_it_draws, cache_shows_each_stack_distance_as_a_place, cache_has_a_slider_of_capacity, cache_shows_ctas_that_drift_apart,
              cache_shows_the_causal_explosion, cache_exercises_are_the_closed_forms],
    "atomics": [atomics_draws_the_queue, atomics_counts_retries, atomics_ranks_remedies],
    "roofline": [roofline_places_a_configuration_under_the_roof, roofline_says_where_the_time_goes_and_what_moves_it],
}
