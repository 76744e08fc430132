# SPDX-License-Identifier: Apache-2.0
"""What tests of trainings, sweeps and advice share: small settings and what every page of an answer is."""

SETTINGS = {"workload": "digits_mlp", "format": "binary16", "steps": 12, "batch": 16, "loss_shift": 14}
SPEC = {"name": "rates", "base": {"workload": "digits_mlp", "steps": 3, "batch": 8, "format": "binary16"},
        "grid": {"lr": [0.1, 0.2], "seed": [0, 1, 2]}}


def words(settings):
    return [f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in settings.items()]


def check_page(case, document, *wanted):
    """The page of an answer in a notebook is small, fetches nothing, runs nothing and holds these words."""
    page = document._repr_html_()
    case.assertLess(len(page.encode()), 200_000)
    for word in ("http:", "https:", "<script"):
        case.assertNotIn(word, page)
    for word in wanted:
        case.assertIn(word, page)
    case.assertEqual(page.count("<tr>"), page.count("</tr>"))
