# SPDX-License-Identifier: Apache-2.0
#
# Build step: fingerprints all headers of ours that a header includes, the sources behind them, and the emulator that the
# module compares with on the GPU, and writes C++ that defines binade_device_interface (lib/device/device_module.h). A
# change of any of them makes another fingerprint.
#   device_interface.py OUTPUT.cpp DEPFILE ROOT HEADER [SOURCE...]
import hashlib
import os
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include "(.+)"', re.MULTILINE)
DECLARED = re.compile(r"^struct (\w+);", re.MULTILINE)


def headers_of(root, header):
    """The header and all that it includes, {path from the root: text}."""
    texts, waiting = {}, [header]
    while waiting:
        path = waiting.pop()
        if path not in texts:
            texts[path] = (root / path).read_text(encoding="utf-8")
            waiting += INCLUDE.findall(texts[path])
    return texts


def undefined_types(texts):
    """What is declared and nowhere defined: a layout that no fingerprint sees."""
    every = "\n".join(texts.values())
    return [name for name in DECLARED.findall(every) if not re.search(rf"^struct {name}\b[^;]*\{{", every, re.MULTILINE)]


output, depfile, root, header, *sources = sys.argv[1:]
texts = headers_of(Path(root), header)
if missing := undefined_types(texts):
    sys.exit(f"{header} must include the headers that define {', '.join(missing)}")
emulator = [path.relative_to(root).as_posix() for path in Path(root, "emulate").rglob("*.h")]
texts |= {path: (Path(root) / path).read_text(encoding="utf-8") for path in [*sources, *emulator]}
hashed = hashlib.sha256("".join(f"{path}\0{text}\0" for path, text in sorted(texts.items())).encode()).hexdigest()
Path(output).write_text(f"""// SPDX-License-Identifier: Apache-2.0
//
// Written by lib/device/device_interface.py from {len(texts)} files.
#include "{header}"

#ifdef _GLIBCXX_DEBUG
#define BINADE_CONTAINERS "checked"
#else
#define BINADE_CONTAINERS "plain"
#endif
#define BINADE_TEXT_OF(x) #x
#define BINADE_TEXT(x) BINADE_TEXT_OF(x)
const char binade_device_interface[] =
    "{hashed[:32]}, compiler " __VERSION__ ", std::string " BINADE_TEXT(_GLIBCXX_USE_CXX11_ABI) ", containers " BINADE_CONTAINERS;
""", encoding="utf-8")
# From the build folder: what ninja cannot read in a depfile may stand in the root's name.
paths = (os.path.relpath(Path(root, path)).replace(" ", "\\ ") for path in sorted(texts))
Path(depfile).write_text(f"{output}: {' '.join(paths)}\n", encoding="utf-8")
