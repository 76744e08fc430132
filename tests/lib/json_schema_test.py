# SPDX-License-Identifier: Apache-2.0
#
# lib/json.schema.json against every kind of JSON that the program writes: each document is valid, whatever the schema
# allows has been written, and nothing that is renamed, added or of another kind passes.
# Run as json_schema_test.py PATH_TO_BINADE MADE_EXPERIMENTS; needs jsonschema.

import collections
import json
import os
import re
import shutil
import struct
import sys
import unittest

try:
    import jsonschema
except ImportError as error:
    print(f"the schema's judge is missing: {error}")
    sys.exit(77)

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, TESTS)
from cli_case import CliCase, main
from json_documents import documents_of

ROOT = os.path.join(TESTS, "..")
# What an emulated device never gives: bulk kernels, their rates, instructions without a kernel, a tile that differs.
OF_A_GPU = {"kernel_check", "kernel_rate", "skipped_set", "skipped_instruction", "crossed_difference"}
ABSENT = "absent"


def kind_of(value):
    kinds = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array",
             dict: "object"}
    return kinds[type(value)]


class Schema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = json.load(file)
        jsonschema.Draft202012Validator.check_schema(self.root)
        self.validator = jsonschema.Draft202012Validator(self.root)
        self.definitions = self.root["$defs"]
        self.documents = [branch["$ref"].rpartition("/")[2] for branch in self.root["oneOf"]]

    def part(self, name):
        return self.validator.evolve(schema={"$ref": f"#/$defs/{name}", "$defs": self.definitions})

    def names_of(self, document):
        """The kinds of document that say of themselves what this one says."""
        def says(name):
            key = self.definitions[name]["properties"].get("schema", {})
            return document.get("schema") in key.get("enum", [key.get("const")])
        return [name for name in self.documents if says(name)]

    def faults_of(self, document, name=None):
        """What is wrong with a document, nearest first; of several kinds with one name the one that fits best."""
        faults = [list(self.part(candidate).iter_errors(document))
                  for candidate in ([name] if name else self.names_of(document))]
        return min(faults, key=len) if faults else ["its kind is unknown"]

    def fits(self, node, value):
        return self.validator.evolve(schema={**node, "$defs": self.definitions}).is_valid(value)

    def branches(self, node):
        """(pointer, node) of every schema inside one, itself first."""
        for pointer, inner in children(node):
            yield pointer, inner
            for deeper, below in self.branches(inner):
                yield pointer + deeper, below


def children(node):
    for key in ("properties", "patternProperties"):
        yield from ((f"/{key}/{name}", inner) for name, inner in node.get(key, {}).items())
    yield from ((f"/{key}", node[key]) for key in ("items", "additionalProperties") if isinstance(node.get(key), dict))
    yield from ((f"/oneOf/{i}", inner) for i, inner in enumerate(node.get("oneOf", [])) if inner.keys() != {"required"})


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
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            inner = self.schema.definitions[name]
            closed = False in (inner.get("additionalProperties"), inner.get("unevaluatedProperties"))
            self.walk(node["$ref"], inner, value, *(((name, value), ()) if closed else (of, path)))
        for i, branch in enumerate(node.get("oneOf", [])):
            if branch.keys() != {"required"} and self.schema.fits(branch, value):
                self.walk(f"{place}/oneOf/{i}", branch, value, of, path)
        if isinstance(value, list) and "items" in node:
            for i, inner in enumerate(value):
                self.walk(place + "/items", node["items"], inner, of, (*path, i))
        if isinstance(value, dict):
            self.walk_object(place, node, value, of, path)

    def walk_object(self, place, node, value, of, path):
        for key, inner in node.get("properties", {}).items():
            if key in value:
                self.objects.setdefault((place, key), (*of, path))
                self.walk(f"{place}/properties/{key}", inner, value[key], of, (*path, key))
            else:
                self.kinds[f"{place}/properties/{key}"].add(ABSENT)
        for key in value.keys() - node.get("properties", {}).keys():
            for pointer, inner in others_of(node, key):
                self.walk(place + pointer, inner, value[key], of, (*path, key))


def others_of(node, key):
    """(pointer, node) for a key that is no property."""
    found = [(f"/patternProperties/{pattern}", inner)
             for pattern, inner in node.get("patternProperties", {}).items() if re.search(pattern, key)]
    if not found and isinstance(node.get("additionalProperties"), dict):
        found = [("/additionalProperties", node["additionalProperties"])]
    return found


def planted(value, path, change):
    copy = json.loads(json.dumps(value))
    at = copy
    for key in path:
        at = at[key]
    change(at)
    return copy


class JsonSchema(CliCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = Schema(os.path.join(ROOT, "lib", "json.schema.json"))
        cls.written = documents_of(CliCase.program, MADE_EXPERIMENTS)
        cls.uses = Uses(cls.schema)
        for run in cls.written:
            fitting = [run.part] if run.part else [
                name for name in cls.schema.names_of(run.document) if not cls.schema.faults_of(run.document, name)]
            for name in fitting:
                cls.uses.take(name, run.document)

    def test_every_document_is_valid(self):
        self.assertGreater(len(self.written), 60)
        for run in self.written:
            with self.subTest(" ".join(run.words)):
                faults = self.schema.faults_of(run.document, run.part)
                self.assertFalse(faults, "\n".join(f"{getattr(fault, 'json_path', '$')}: {getattr(fault, 'message', fault)[:400]}"
                                                   for fault in faults[:5]))

    def test_a_document_is_exactly_one_of_the_kinds(self):
        smallest = {}
        for run in self.written:
            if not run.part:
                smallest.setdefault(tuple(self.schema.names_of(run.document)) + tuple(run.document), run.document)
        for document in smallest.values():
            with self.subTest(list(document)):
                self.assertTrue(self.schema.validator.is_valid(document))

    def test_whatever_the_schema_allows_has_been_written(self):
        kinds = self.uses.kinds
        unused = {name for name in self.schema.definitions if f"#/$defs/{name}" not in kinds}
        beside_the_program = os.path.join(os.path.dirname(CliCase.program), "binade_cuda.so")
        self.assertEqual(unused, OF_A_GPU | (set() if os.path.exists(beside_the_program) else {"device_module"}))
        for name in self.schema.definitions.keys() - unused:
            for pointer, node in self.schema.branches(self.schema.definitions[name]):
                place = f"#/$defs/{name}{pointer}"
                if any(node.get("$ref", "").endswith("/" + gone) or node.get("items", {}).get("$ref", "").endswith("/" + gone)
                       for gone in unused):
                    continue
                with self.subTest(place):
                    self.assertTrue(kinds[place] - {ABSENT}, "never written")

    def test_what_may_be_absent_was_absent_and_each_kind_of_value_was_there(self):
        for name, definition in self.schema.definitions.items():
            if f"#/$defs/{name}" not in self.uses.kinds:
                continue
            for pointer, node in [("", definition), *self.schema.branches(definition)]:
                place = f"#/$defs/{name}{pointer}"
                kinds = self.uses.kinds[place] - {ABSENT}
                allowed = {"number" if kind == "integer" else kind for kind in node.get("type", [])
                           } if isinstance(node.get("type"), list) else set()
                allowed |= {kind_of(word) for word in node.get("enum", [])}
                with self.subTest(place):
                    self.assertLessEqual(allowed, kinds, "kinds of values that were not written")
                    if kinds and node.get("type") != "null" and name != "data" and self.schema.fits(node, None):
                        self.assertTrue({"null"} < kinds, f"of null and others only {kinds} were written")
                    for key in node.get("properties", {}).keys() - set(node.get("required", [])):
                        self.assertIn(ABSENT, self.uses.kinds[f"{place}/properties/{key}"], f"{key} was always there")

    def test_a_key_renamed_or_added_and_a_value_of_another_kind_fail(self):
        def renamed(key):
            return lambda at: at.__setitem__(key + "_", at.pop(key))

        def added(at):
            at["another_key"] = 1

        def replaced(key):
            return lambda at: at.__setitem__(key, {"planted": [{}]})

        self.assertGreater(len(self.uses.objects), 500)
        for (place, key), (name, value, path) in self.uses.objects.items():
            part = self.schema.part(name)
            for what, change in {"renamed": renamed(key), "added beside": added, "of another kind": replaced(key)}.items():
                if (place, key, what) in FREE:
                    continue
                with self.subTest(f"{place}: {key} {what}"):
                    self.assertFalse(part.is_valid(planted(value, path, change)))

    def test_every_property_is_described_in_a_sentence(self):
        for name, definition in self.schema.definitions.items():
            for pointer, node in self.schema.branches(definition):
                if re.search(r"/(patternP|p)roperties/[^/]+$", pointer):
                    with self.subTest(name + pointer):
                        self.assertRegex(node.get("description", ""), r"\A\S.*\.\Z")

    def test_every_command_with_json_is_here(self):
        commands = {words for words, text in self.commands() if re.search(r"\bJSON\b|\.json\b", text.partition("Options:")[2])}
        self.assertGreater(len(commands), 12)
        run = {words for words, _ in self.commands()
               if any(tuple(run.words[:len(words)]) == words for run in self.written)}
        self.assertEqual(commands - run, set())


# An experiment's own figures have names of its own.
FREE = {("#/$defs/experiment", "data", "of another kind")}

if __name__ == "__main__":
    MADE_EXPERIMENTS = os.path.abspath(sys.argv.pop(2))
    main()
