"""The page at /, in a real browser: what it draws of a live daemon, and what it does with hostile text.

Skipped where chromium is not installed (scripts/packages browser)."""

import json
import math
import unittest
import urllib.parse

from browser import Browser
from daemon import DaemonTest, trade, wait_until

HOSTILE = "<img src=/nothing onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
# Too small to be of any use: each sealed segment of 100 trades says maybe to one stranger in six.
USELESS = {"store": {"generation_keys": 16, "segment_rows": 100},
           "filter": {"false_positive_rate": 0.5, "capacity": 100, "self_test_interval_s": 0}}
SMALL = {"store": {"generation_keys": 4096}, "filter": {"capacity": 10000}}

ASK = "document.getElementById('key').value = arguments[0]; document.querySelector('#ask .primary').click()"
CARD = """const card = document.getElementById('card'), asked = card.querySelector('.asked');
return asked && asked.textContent === arguments[0] ? {kind: card.dataset.kind, text: card.innerText,
  bits: [...card.querySelectorAll('.receipts li')].map((item) => item.className),
  marks: document.querySelectorAll('#arcs .mark').length, images: card.querySelectorAll('img, script').length} : null"""
LESSON = """document.querySelector(`[data-lesson="${arguments[0]}"]`).click();
const scrub = document.getElementById('lesson-scrub');
scrub.value = scrub.max;
scrub.dispatchEvent(new Event('input'));
return {...document.getElementById('lesson').dataset, last: scrub.max}"""
FIRING = "return [...document.querySelectorAll('#banner .alert')].map((alert) => alert.dataset.name)"


def expected(bits, hashes, keys):
    return (1 - math.exp(-hashes * keys / bits)) ** hashes


class PageTest(DaemonTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def opened(self, config=None, trades=0):
        """A daemon with so many trades, its page open."""
        served = self.started(config)
        self.store(served, range(trades))
        self.browser.open(f"http://{served.endpoints['http']}/")
        self.addCleanup(self.browser.open, "about:blank")
        self.browser.wait("the lessons", "return document.getElementById('lesson').dataset.lesson")
        if trades:
            self.wait_for_wall(served)
        return served

    def store(self, served, numbers):
        served.ask(b"".join(trade(str(number)) for number in numbers))

    def wait_for_wall(self, served):
        """Until the wall shows every bit that is set."""
        generation = served.stats()["generations"][-1]
        return self.browser.wait("the wall", "return document.getElementById('wall').dataset.bitsSet === arguments[0]",
                                 str(generation["bits_set"]))

    def card(self, key):
        self.browser.run(ASK, key)
        return self.browser.wait("the card", CARD, key)

    def key_that_is(self, served, screen):
        """A key never stored that the screen answers so."""
        def ask(number):
            key = f"XNAS/AAPL/never-{number}"
            answer = json.loads(served.get("/check?" + urllib.parse.urlencode({"key": key}))[1])
            return key if answer["screen"] == screen else None
        return next(filter(None, map(ask, range(2000))))


class Wall(PageTest):
    def test_it_fills_while_a_feed_runs(self):
        served = self.opened(SMALL)
        before = 0
        for batch in range(3):
            self.store(served, range(500 * batch, 500 * (batch + 1)))
            self.wait_for_wall(served)
            now = served.stats()["generations"][-1]["bits_set"]
            self.assertGreater(now, before)
            before = now

    def test_keys_alone_reach_single_bits_with_their_owners(self):
        self.opened(SMALL, trades=1000)
        figure = "return Number(document.getElementById('wall').dataset[arguments[0]])"
        press = ("document.getElementById('wall').focus(); document.activeElement.dispatchEvent("
                 "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true, cancelable: true}))")
        self.assertEqual(self.browser.run(figure, "owners"), 0)
        self.browser.run(press, "ArrowRight")
        while (width := self.browser.run(figure, "width")) > 4096:
            self.browser.run(press, "Enter")
            self.browser.wait("a smaller window", figure + " < arguments[1]", "width", width)
        self.browser.wait("owners", figure, "owners")

    def test_it_asks_nobody_else_and_its_policy_refuses_nothing(self):
        served = self.opened(SMALL, trades=100)
        names = self.browser.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        root = f"http://{served.endpoints['http']}/"
        self.assertGreater(len(names), 8)
        self.assertEqual([name for name in names if not name.startswith(root)], [])
        self.assertEqual(self.browser.complaints(), [])

    def test_it_fits_a_telephone(self):
        self.browser.size(390, 844)
        self.addCleanup(self.browser.size, 1440, 900)
        self.opened(SMALL, trades=100)
        self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 390)


class Cards(PageTest):
    def test_a_member_is_maybe_and_stored(self):
        self.opened(SMALL, trades=1000)
        card = self.card("XNAS/AAPL/7")
        self.assertEqual((card["kind"], set(card["bits"])), ("stored", {"set"}))
        self.assertIn("trade 8, received", card["text"])
        self.assertEqual(card["marks"], len(card["bits"]))

    def test_a_stranger_with_a_zero_is_proven_absent(self):
        served = self.opened(SMALL, trades=1000)
        card = self.card(self.key_that_is(served, "absent"))
        self.assertEqual(card["kind"], "no")
        self.assertIn("unset", card["bits"])
        self.assertRegex(card["text"], r"Bit [\d,]+ is 0")
        self.assertEqual(card["marks"], len(card["bits"]))

    def test_a_false_positive_shows_who_set_its_bits(self):
        served = self.opened(USELESS, trades=500)
        card = self.card(self.key_that_is(served, "maybe"))
        self.assertEqual((card["kind"], set(card["bits"])), ("never", {"set"}))
        self.assertEqual(card["text"].count("XNAS/AAPL/"), 1 + len(card["bits"]))


class Hostile(PageTest):
    def owned(self):
        return (self.browser.run("return document.title"), self.browser.complaints(),
                self.browser.run("return document.querySelectorAll('img').length"))

    def test_a_hostile_key_is_text(self):
        served = self.opened(SMALL, trades=1)
        served.ask(trade(HOSTILE))
        self.wait_for_wall(served)
        key = "XNAS/AAPL/" + HOSTILE.replace("/", "%2F")
        card = self.card(key)
        self.assertEqual((card["kind"], card["images"]), ("stored", 0))
        self.assertEqual(card["text"].count("<img"), 1 + len(card["bits"]))  # itself, and as owner of each bit
        self.assertEqual(self.owned(), ("tradesieve", [], 0))

    def test_markup_would_be_noticed(self):
        self.opened(SMALL)
        self.browser.run("document.getElementById('card').innerHTML = arguments[0]", HOSTILE)
        title, complaints, images = self.owned()
        self.assertEqual((title, images), ("tradesieve", 1))  # the policy stops it, and the test sees it
        wait_until("a refusal", lambda: complaints or self.browser.complaints())


class Banner(PageTest):
    def test_it_appears_when_the_filter_is_useless(self):
        served = self.opened(USELESS, trades=50)
        self.assertNotIn("filter_useless", self.browser.run(FIRING))
        self.store(served, range(50, 3000))
        self.browser.wait("the banner", FIRING.replace("return ", "return (") + ").includes('filter_useless')")
        self.assertIn("maybe is predicted for", self.browser.run("return document.getElementById('banner').innerText"))

    def test_it_says_that_the_daemon_is_silent(self):
        served = self.opened(SMALL)
        self.assertEqual(self.browser.run(FIRING), [])
        served.kill()
        self.browser.wait("the banner", FIRING.replace("return ", "return (") + ").includes('no answer')")


class Lessons(PageTest):
    """Each ends as the mathematics says."""

    def setUp(self):
        self.opened()

    def test_ten_bits(self):
        end = self.browser.run(LESSON, "ten")
        self.assertEqual((end["ones"], end["answer"]), ("3", "no"))
        text = "return document.getElementById('lesson-note').innerText"
        self.assertIn("bit 9 is 0", self.browser.run(text))
        self.browser.run("document.getElementById('lesson-back').click()")
        self.assertIn("Is C stored? Bits 1 and 7 are 1: maybe", self.browser.run(text))

    def test_clearing_a_loses_b(self):
        end = self.browser.run(LESSON, "forgetting")
        self.assertEqual((end["ones"], end["answer"]), ("1", "lost"))

    def fills(self, name, bits, hashes, keys):
        """The end has the bits, and the rate for exactly these bits, that mathematics gives, within 4 sigma."""
        end = self.browser.run(LESSON, name)
        ones, measured, share = int(end["ones"]), float(end["measured"]), 1 - math.exp(-hashes * keys / bits)
        self.assertEqual((int(end["keys"]), int(end["members"]), int(end["last"])), (keys, keys, keys))
        self.assertAlmostEqual(float(end["predicted"]), expected(bits, hashes, keys), places=9)
        self.assertLess(abs(ones - bits * share), 4 * math.sqrt(bits * share * (1 - share)))
        rate = (ones / bits) ** hashes
        self.assertLessEqual(abs(measured - rate), 4 * math.sqrt(rate * (1 - rate) / 4000))
        return measured

    def test_180_keys_on_a_wall_for_118(self):
        self.fills("overfull", 512, 3, 180)

    def test_nine_positions_on_the_same_wall_are_worse(self):
        self.assertGreater(self.fills("nine", 512, 9, 180), 2 * self.fills("overfull", 512, 3, 180))

    def test_400_keys_on_a_wall_for_59_say_maybe_to_everything(self):
        self.assertEqual(self.fills("useless", 256, 3, 400), 1)

    def test_playing_goes_on_by_itself_to_the_end(self):
        self.browser.run("document.querySelector('[data-lesson=overfull]').click();"
                         "const scrub = document.getElementById('lesson-scrub'); scrub.value = 175;"
                         "scrub.dispatchEvent(new Event('input')); document.getElementById('lesson-play').click()")
        self.browser.wait("the end", "return document.getElementById('lesson').dataset.step === '180'"
                                     " && document.getElementById('lesson-play').textContent.includes('play')")


if __name__ == "__main__":
    unittest.main()
