# SPDX-License-Identifier: Apache-2.0
"""Documents of products: accounts, validations, explanations, identifications, proposals."""
import json
import os

from ._documents import Document, page, table, text


class GemmAccount(Document):
    """The loss account of a product: what each rule of the Tensor Core cost."""

    def to_html(self):
        """The page that `--account x.html` writes: one file, no external request."""
        from ._binade import _account_html

        return _account_html(self._json)


class Validation(Document):
    """A kernel's bits against the model."""


class Explanation(Document):
    def __init__(self, text, json, svg, no_svg):
        super().__init__(text, json)
        self._svg, self._no_svg = svg, no_svg


class Identification(Document):
    def __init__(self, text, json, models, found):
        super().__init__(text, json)
        self.models, self._found = models, found


class Proposal(dict):
    def __init__(self, arrays, words):
        super().__init__(arrays)
