# SPDX-License-Identifier: Apache-2.0
#
# lib/json.schema.json against every kind of JSON that the program writes: each document is valid, everything that the schema
# allows is written by some command, and nothing that is renamed, added or of another kind is valid.
# Run as json_schema_test.py PATH_TO_BINADE MADE_EXPERIMENTS; needs jsonschema.

import collections
import json
import os
import re
import sys

try:
    import jsonschema
except ImportError as error:
    print(f"what judges schemas is missing: {error}")
    sys.exit(77)

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, TESTS)
from cli_case import CliCase, main
from json_documents import documents_of

SCHEMA = os.path.join(TESTS, "..", "lib", "json.schema.json")
# What an emulated device never gives: bulk kernels, their rates, instructions without a kernel, a tile that differs.
OF_A_GPU = {"kernel_check", "kernel_rate", "skipped_set", "skipped_instruction", "crossed_difference"}
# Figures of an experiment, which names and nests them as it likes.
FREE = "data"
ABSENT = "absent"
KINDS = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def kind_of(value):
    return KINDS[type(value)]


def named(node):
    """The definition that a place refers to, or nothing."""
    return node.get("$ref", "").removeprefix("#/$defs/")


def children(node):
    """(pointer, node) of the places in a place."""
    for key in ("properties", "patternProperties"):
        yield from ((f"/{key}/{name}", inner) for name, inner in node.get(key, {}).items())
    yield from ((f"/{key}", node[key]) for key in ("items", "additionalProperties") if isinstance(node.get(key), dict))
    yield from ((f"/oneOf/{i}", inner) for i, inner in enumerate(node.get("oneOf", [])) if inner.keys() != {"required"})


def places(pointer, node):
    """A place and all in it."""
    yield pointer, node
    for deeper, inner in children(node):
        yield from places(pointer + deeper, inner)


def others_of(node, key):
    """(pointer, node) of a key that is no property."""
    found = [(f"/patternProperties/{pattern}", inner)
             for pattern, inner in node.get("patternProperties", {}).items() if re.search(pattern, key)]
    if not found and isinstance(node.get("additionalProperties"), dict):
        found = [("/additionalProperties", node["additionalProperties"])]
    return found


class Schema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.whole = json.load(file)
        jsonschema.Draft202012Validator.check_schema(self.whole)
        self.validator = jsonschema.Draft202012Validator(self.whole)
        self.definitions = self.whole["$defs"]
        self.documents = [named(branch) for branch in self.whole["oneOf"]]

    def fits(self, node, value):
        return self.validator.evolve(schema=node).is_valid(value)

    def faults(self, name, value):
        return self.validator.evolve(schema=self.definitions[name]).iter_errors(value)

    def name_of(self, document):
        """The document that this one says it is; where there is no device, what tells so."""
        def says(name):
            key = self.definitions[name]["properties"].get("schema", {})
            return document.get("schema") in key.get("enum", [key.get("const")])
        names = [name for name in self.documents if says(name)]
        if not names:
            raise AssertionError(f"the schema has no document {document.get('schema')}")
        return "no_hardware" if "no_hardware" in names and "reason" in document else names[-1]

    def is_closed(self, name):
        return False in (self.definitions[name].get(key) for key in ("additionalProperties", "unevaluatedProperties"))


class Uses:
    """Of every place of the schema the kinds of values that were written there, and of each key one object that has it."""

    def __init__(self, schema):
        self.schema = schema
        self.kinds = collections.defaultdict(set)
        self.objects = {}  # by (place, key): a closed definition, what it described, and where in that the object is

    def take(self, name, value):
        self.walk(f"#/$defs/{name}", self.schema.definitions[name], value, (name, value), ())

    def walk(self, place, node, value, of, path):
        self.kinds[place].add(kind_of(value))
        if name := named(node):
            to = ((name, value), ()) if self.schema.is_closed(name) else (of, path)
            self.walk(node["$ref"], self.schema.definitions[name], value, *to)
        for pointer, branch in children({"oneOf": node.get("oneOf", [])}):
            if self.schema.fits(branch, value):
                self.walk(place + pointer, branch, value, of, path)
        if isinstance(value, list) and "items" in node:
            for i, inner in enumerate(value):
                self.walk(place + "/items", node["items"], inner, of, (*path, i))
        if isinstance(value, dict):
            self.walk_object(place, node, value, of, path)

    def walk_object(self, place, node, value, of, path):
        properties = node.get("properties", {})
        for key, inner in properties.items():
            if key in value:
                self.objects.setdefault((place, key), (*of, path))
                self.walk(f"{place}/properties/{key}", inner, value[key], of, (*path, key))
            else:
                self.kinds[f"{place}/properties/{key}"].add(ABSENT)
        for key in value.keys() - properties.keys():
            for pointer, inner in others_of(node, key):
                self.walk(place + pointer, inner, value[key], of, (*path, key))


def planted(value, path, change):
    """A copy with one object changed."""
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path:
        at = at[key]
    change(at)
    return copy


class JsonSchema(CliCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = Schema(SCHEMA)
        cls.written = [(run, run.part or cls.schema.name_of(run.document))
                       for run in documents_of(CliCase.program, MADE_EXPERIMENTS)]
        cls.uses = Uses(cls.schema)
        for run, name in cls.written:
            cls.uses.take(name, run.document)
        cls.unused = {name for name in cls.schema.definitions if f"#/$defs/{name}" not in cls.uses.kinds}
        cls.places = [(place, node) for name, definition in cls.schema.definitions.items()
                      if name not in cls.unused | {FREE} for place, node in places(f"#/$defs/{name}", definition)
                      if not cls.unused & {named(inner) for inner in (node, node.get("items", {}), *node.get("oneOf", []))}]

    def test_every_document_is_valid(self):
        self.assertGreater(len(self.written), 80)
        for run, name in self.written:
            with self.subTest(" ".join(run.words)):
                nearest = [jsonschema.exceptions.best_match([fault]) for fault in self.schema.faults(name, run.document)]
                if nearest:
                    self.fail("\n".join(f"{fault.json_path}: {fault.message[:300]}" for fault in nearest[:5]))

    def test_a_document_is_exactly_one_of_those_there_are(self):
        one_of_each = {name: run.document for run, name in self.written if not run.part}
        self.assertEqual(one_of_each.keys(), set(self.schema.documents))
        for name, document in one_of_each.items():
            with self.subTest(name):
                self.assertTrue(self.schema.validator.is_valid(document))

    def test_whatever_the_schema_allows_has_been_written(self):
        has_device_part = os.path.exists(os.path.join(os.path.dirname(CliCase.program), "binade_cuda.so"))
        self.assertEqual(self.unused, OF_A_GPU | (set() if has_device_part else {"device_module"}))
        for place, _ in self.places:
            self.assertTrue(self.uses.kinds[place] - {ABSENT}, f"{place} was never written")

    def test_each_kind_of_value_that_is_allowed_was_there(self):
        for place, node in self.places:
            kinds = self.uses.kinds[place] - {ABSENT}
            allowed = {kind_of(word) for word in node.get("enum", [])}
            if isinstance(node.get("type"), list):
                allowed |= {kind.replace("integer", "number") for kind in node["type"]}
            with self.subTest(place):
                self.assertLessEqual(allowed, kinds, "kinds of values that were never written")
                if kinds and node.get("type") != "null" and self.schema.fits(node, None):
                    self.assertTrue({"null"} < kinds, f"of null and others only {kinds} were written")

    def test_what_may_be_absent_was_absent(self):
        for place, node in self.places:
            for key in node.get("properties", {}).keys() - set(node.get("required", [])):
                self.assertIn(ABSENT, self.uses.kinds[f"{place}/properties/{key}"], f"{key} of {place} was always there")

    def test_a_key_renamed_or_added_and_a_value_of_another_kind_fail(self):
        self.assertGreater(len(self.uses.objects), 600)
        for (place, key), (name, value, path) in self.uses.objects.items():
            plants = {"renamed": lambda at: at.__setitem__(key + "_", at.pop(key)), "added": lambda at: at.update(more=1),
                      "of another kind": lambda at: at.update({key: {"planted": [{}]}})}
            if key == FREE:
                del plants["of another kind"]
            for what, change in plants.items():
                with self.subTest(f"{place}: {key} {what}"):
                    self.assertFalse(self.schema.fits(self.schema.definitions[name], planted(value, path, change)))

    def test_every_property_is_described_in_a_sentence_and_a_share_says_of_what(self):
        for name, definition in self.schema.definitions.items():
            for place, node in places(f"#/$defs/{name}", definition):
                if re.search(r"/(p|patternP)roperties/[^/]+\Z", place):
                    is_share = named(node) in ("share", "share_or_null", "shares")
                    with self.subTest(place):
                        self.assertRegex(node.get("description", ""),
                                         r"\A([A-Z].* s|S)hare of .+\.\Z" if is_share else r"\A[A-Z].*\.\Z")

    def test_every_command_whose_help_tells_of_json_is_here(self):
        commands = {words for words, text in self.commands()}
        telling = {words for words, text in self.commands()
                   if re.search(r"\bJSON\b|\.json\b", text.partition("Options:")[2].partition("Subcommands:")[0])}
        self.assertGreater(len(telling), 15)
        run = {words for words in commands for one, _ in self.written if one.words[:len(words)] == words}
        self.assertEqual(telling - run, set())


if __name__ == "__main__":
    MADE_EXPERIMENTS = os.path.abspath(sys.argv.pop(2))
    main()
