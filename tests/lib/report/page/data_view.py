# SPDX-License-Identifier: Apache-2.0
"""Tests what the page holds and fetches, and its messages if its data or its scripts cannot be read."""

import page_data
from report_page import ReportPage
from selenium.webdriver.support.ui import WebDriverWait


class Data(ReportPage):
    def notices_of(self, page):
        """Which notices a page shows that cannot be drawn, and what it complains of."""
        path = self.path / "broken.html"
        path.write_text(page, encoding="utf-8")
        self.browser.get(path.as_uri())
        WebDriverWait(self.browser, 10, 0.02).until(
            lambda _: any(notice.is_displayed() for notice in self.find_all(".notice")))
        return ([notice.get_attribute("id") for notice in self.find_all(".notice") if notice.is_displayed()],
                len(self.browser.get_log("browser")))

    def test_it_asks_the_network_for_nothing_but_itself(self):
        path = self.open()
        self.find("#histogram svg")
        self.assertEqual(self.requested(), [path.as_uri()])

    def test_it_holds_the_report_it_came_with(self):
        embedded, planes = page_data.unpacked(self.html.read_text(encoding="utf-8"))
        self.assertEqual(planes, b"")
        wanted = page_data.line_of(self.report)
        for table in ("groups", "tensors"):
            for name in ("mean", "mean_square"):
                held, exact = embedded[table].pop(name), wanted[table].pop(name)
                self.assertGreater(len(held), 0)
                self.assertLessEqual(max(abs(a - b) for a, b in zip(held, exact, strict=True)), 1, name)
            held, exact = embedded[table].pop("sqnr_db"), wanted[table].pop("sqnr_db")
            for form, by_scale in exact.items():
                for a, b in zip(held[form]["0"], by_scale["0"], strict=True):
                    self.assertTrue(a == b or abs(a - b) < 0.0011, (a, b))
        first, *others = embedded.pop("loss_scales")
        self.assertEqual(first, wanted.pop("loss_scales")[0])
        self.assertEqual([scale["format"] for scale in others], self.report["options"]["formats"][1:])
        self.assertEqual(embedded, wanted)

    def test_a_browser_that_cannot_inflate_is_told_so_in_a_sentence(self):
        script = self.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument",
                                              {"source": "delete window.DecompressionStream"})
        try:
            self.browser.get(self.html.as_uri())
            self.assertTrue(self.find("#no-data").is_displayed())
            self.assertIn("DecompressionStream", self.find("#no-data").text)
            self.assertFalse(self.find("#damaged").is_displayed())
            self.assertEqual(len(self.browser.get_log("browser")), 1)
        finally:
            self.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    def test_a_browser_that_cannot_read_the_scripts_is_told_so(self):
        page = self.html.read_text(encoding="utf-8")
        begin = '<script type="module">'
        self.assertEqual(page.count(begin), 1)
        self.assertEqual(self.notices_of(page.replace(begin, begin + "await await;")), (["no-data"], 1))
        self.assertEqual(self.notices_of(page.replace(begin, '<script type="unknown">')), (["no-data"], 0))
        self.assertNotRegex(page, r"\(\?<[=!]", "Safari 16.4 is the first to read these")

    def test_damaged_data_are_told_as_such(self):
        page = self.html.read_text(encoding="utf-8")
        data = page_data.DATA.search(page)
        middle = (data.start(2) + data.end(2)) // 2
        other = "A" if page[middle] != "A" else "B"
        for words, broken, complaints in (
                ("a letter is another", page[:middle] + other + page[middle + 1:], 1),
                ("what is no letter of base64", page[:middle] + "*" + page[middle + 1:], 1),
                ("four letters less", page[:middle] + page[middle + 4:], 1),
                ("the end of the data is missing", page[:middle] + page[data.end(2):], 1),
                ("the file ends in the data", page[:middle], 0),
                ("the file ends in the scripts", page[:-2000], 0)):
            with self.subTest(words):
                self.assertEqual(self.notices_of(broken), (["damaged"], complaints))
