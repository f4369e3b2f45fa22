#!/usr/bin/env python3
"""The rules of the house that a compiler does not check. Prints a screen at most; 1 on findings.

usage: tidy.py [ROOT] [--commands COMPILE_COMMANDS.json]

With --commands the flags of an actual build are held against the rules as well.
"""

import argparse
import ast
import os
import re
import subprocess
import sys

LINES_MAX, LINES_HARD = 500, 800
FUNCTION_MAX, FUNCTION_HARD = 70, 100
COLUMNS_MAX = {".cc": 100, ".h": 100, ".py": 120}
SHOWN_MAX = 40

# Rooms that handle activations and weights: there NaN and infinity are told by exponent bits.
NUMERIC_ROOMS = re.compile(r"src/(numerics|kernels|model|engine|sampler|kv|checkpoint)/(?!.*_test\.cc)")

# Files that own memory by hand, because make_unique cannot reach what they make: private or counted.
OWNERS = ("src/model/model.cc", "src/tokenizer/jinja/", "src/tokenizer/pretokenizer.cc",
          "tests/engine/allocation_test.cc")

# pattern, what to use instead, where it is allowed (prefixes, or a test of the name)
BANNED = [
    (r"std::(cout|cerr|clog)\b", "observe or cli: fmt::print", ()),
    (r"\b(v?f?d?printf|f?puts|putc|putchar|perror)\s*\(", "observe or cli: fmt::print",
     ("src/base/check.cc",)),
    (r"\bv?sprintf\s*\(|\b[sf]?scanf\s*\(|\bstr(cpy|cat|tok)\s*\(", "a std::string, std::from_chars",
     ()),
    (r"fmt::print\b", "return text or an Error; observe and cli print",
     ("src/observe/", "src/cli/")),
    (r"\b(secure_)?getenv\s*\(", "base: environment snapshot", ("src/base/",)),
    (r"\benviron\b", "base: environment snapshot", ("src/base/",)),
    (r"\bs?rand\s*\(", "a seeded generator", ()),
    (r"\b(ato(i|f|l|ll)|strto(d|f|ld|l|ul|ll|ull))\s*\(", "std::from_chars", ()),
    (r"\bstd::sto[idful]+\s*\(", "std::from_chars", ()),
    (r"std::regex\b", "PCRE2 with limits", ()),
    (r"using namespace std\b", "names in full", ()),
    (r"\bstd::endl\b", "'\\n'", ()),
    (r"\bassert\s*\(", "PELLUCID_CHECK", ()),
    (r"\b(std::)?(abort|quick_exit|_exit)\s*\(", "PELLUCID_CHECK or an Error",
     ("src/base/check.cc",)),
    (r"(?<![.\w])(std::)?exit\s*\(", "return an exit status from cli", ()),
    (r"#include <iostream>", "fmt or <cstdio>", ()),
    (r"#include <[a-z]*mmintrin.h>", "kernels: intrinsics live there", ("src/kernels/",)),
    (r"\b(malloc|calloc|realloc|free)\s*\(", "a container",
     ("tests/engine/allocation_test.cc", "src/cli/chat.cc")),  # chat: what getline allocated
    (r"(?<!operator )\bnew\s+[A-Za-z_:]", "std::make_unique", OWNERS),
    (r"(?<!operator )\bdelete\b\s*(\[\s*\])?\s*[\w(*:]", "std::unique_ptr", OWNERS),
    (r"\b(TODO|FIXME|XXX)\b", "do it, or say it in the docs", ("tests/tidy/",)),
    (r"\bstd::is(nan|inf|finite)\b", "numerics::is_nan, is_finite (exponent bits)",
     lambda name: not NUMERIC_ROOMS.match(name)),
]
# Where C++ of ours lies.
CODE_FOLDERS = ("src/", "tests/", "fuzz/")
FAST_MATH = r"-f(fast-math|finite-math-only|associative-math|unsafe-math-optimizations)|-Ofast"
PLACE_WORDS = r"(^|[\s\"'`(=])(/[w]ork/|\.\./[s]hared|/tmp/[b]uild)"
TEXT_ENDINGS = (".cc", ".h", ".py", ".md", ".txt", ".cmake", ".sh", ".json", ".toml", ".yml")
CODE_ENDINGS = (".cc", ".h")


def tracked_files(root):
    """Files of the project, as git knows them; every file below root outside a repository."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "--cached", "--others",
                              "--exclude-standard"], capture_output=True, check=True, text=True)
        names = out.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [os.path.relpath(os.path.join(d, f), root)
                 for d, _, files in os.walk(root) for f in files]
        names = [n for n in names if not n.startswith((".git/", "build/")) and "__pycache__" not in n]
    return sorted(n for n in names if os.path.isfile(os.path.join(root, n)))


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as f:
        return f.read()


def is_ours(name):
    """Sources and docs; not fixtures, models or corpora."""
    return not name.startswith(("tests/golden/", "models/", "fuzz/corpus/"))


def without_comments_and_strings(text):
    """Blanks out comments, strings and characters of C++, keeping the line structure."""
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def check_banned(name, code):
    """`code`: the file without comments; strings are kept out as well."""
    for pattern, instead, allowed in BANNED:
        if allowed(name) if callable(allowed) else name.startswith(allowed):
            continue
        for match in re.finditer(pattern, code):
            yield name, line_of(code, match.start()), f"{match.group().strip()}: use {instead}"


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_text(name, text):
    """Shape of every text file of ours."""
    if "\r" in text:
        yield name, 1, "carriage return"
    if text and not text.endswith("\n"):
        yield name, text.count("\n") + 1, "no line feed at the end"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield name, number, "trailing space"
        limit = COLUMNS_MAX.get(os.path.splitext(name)[1])
        if limit and "\t" in line:
            yield name, number, "tab"
        if limit and len(line) > limit and "http" not in line:
            yield name, number, f"{len(line)} columns, at most {limit}"
        if re.search(PLACE_WORDS, line):
            yield name, number, "a path of some machine"


def check_flags(name, text):
    if name.startswith(("tests/tidy/", "docs/")) or name.endswith((".cc", ".h", ".md")):
        return
    for match in re.finditer(FAST_MATH, text):
        yield name, line_of(text, match.start()), f"{match.group()}: hides NaN and infinity"


def check_header(name, text):
    if not name.endswith(".h") or "Included inside an anonymous namespace" in text[:400]:
        return
    lines = text.split("\n")
    if lines[0] != "#pragma once":
        yield name, 1, "a header begins with #pragma once"
    elif name.startswith("src/") and not (len(lines) > 1 and lines[1].startswith("//")):
        yield name, 2, "a header opens with a paragraph that says what it is"


def check_own_header_first(name, text, names):
    if not (name.startswith("src/") and name.endswith(".cc")):
        return
    own = re.sub(r"(_test)?\.cc$", ".h", name)
    if own not in names:
        return
    first = re.search(r'^#include\s+["<]([^">]+)', text, re.M)
    if first and first.group(1) != own[len("src/"):]:
        yield name, line_of(text, first.start()), f"own header {own[4:]} comes first"


def python_function_lengths(text):
    """(first line, lines) of every function of a Python file."""
    return [(node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def function_lengths(code):
    """(first line, lines) of every outermost brace block that follows a parameter list."""
    lengths, stack = [], []
    for match in re.finditer(r"[{}]", code):
        if match.group() == "{":
            before = code[:match.start()].rstrip()
            head = before[max(before.rfind(";"), before.rfind("}"), before.rfind("{")) + 1:]
            is_function = re.search(
                r"\)\s*(const|noexcept|override|mutable|\s|->\s*[\w:<>,\s*&]+|:\s[^;{]*)*$",
                head) is not None and not re.search(r"\b(namespace|class|struct|enum)\b", head)
            stack.append((match.start(), is_function))
        elif stack:
            start, is_function = stack.pop()
            if is_function and not any(f for _, f in stack):
                first = line_of(code, start)
                lengths.append((first, line_of(code, match.start()) - first + 1))
    return lengths


def read_exceptions(root):
    """`lines PATH N` and `function PATH N`: sizes that may only shrink."""
    out = {}
    path = "tests/tidy/exceptions.txt"
    if not os.path.isfile(os.path.join(root, path)):
        return out
    for line in read(root, path).splitlines():
        if line.strip() and not line.startswith("#"):
            kind, name, size = line.split()[:3]
            out[kind, name] = int(size)
    return out


def check_sizes(name, text, code, exceptions, used):
    """Ratchet on file and function length."""
    if not name.startswith((*CODE_FOLDERS, "tools/")) and name != "dev":
        return
    lines = text.count("\n")
    sizes = [("lines", 1, lines, LINES_MAX, LINES_HARD)]
    if name.endswith((*CODE_ENDINGS, ".py")):
        lengths = (python_function_lengths if name.endswith(".py") else function_lengths)(code)
        longest = max(lengths, key=lambda f: f[1], default=(1, 0))
        # A table-driven test is its table: it has the hard limit only.
        limit = FUNCTION_HARD if name.endswith("_test.cc") else FUNCTION_MAX
        sizes.append(("function", *longest, limit, FUNCTION_HARD))
    for kind, at, size, limit, hard in sizes:
        allowed = exceptions.get((kind, name))
        if allowed is not None:
            used.add((kind, name))
            if size > hard:
                yield name, at, f"{kind}: {size}, never over {hard}"
            elif size > allowed:
                yield name, at, f"{kind}: {size}, the exception allows {allowed}"
            elif size <= limit:
                yield name, at, f"{kind}: {size}, the exception is no longer needed"
            elif size < allowed:
                yield name, at, f"{kind}: {size}, lower the exception from {allowed}"
        elif size > limit:
            yield name, at, f"{kind}: {size}, at most {limit} (never over {hard})"


def parse_rooms(cmake):
    """room(NAME DEPS a b ...) -> {name: [deps]}."""
    rooms = {}
    for match in re.finditer(r"^room\((\w+)([^)]*)\)", cmake, re.M):
        deps = re.search(r"\bDEPS\s+((?:\w+\s*)*?)(?=\s*(?:LIBS|TEST_DEPS|TEST_LIBS|$))",
                         match.group(2), re.S)
        rooms[match.group(1)] = deps.group(1).split() if deps else []
    return rooms


def parse_matrix(markdown):
    """The table of ARCHITECTURE.md: {room: (level, [may include])}."""
    rows = re.findall(r"^\| (\w+) \| (\d+) \| ([\w -]+) \|$", markdown, re.M)
    return {room: (int(level), [] if deps == "-" else deps.split()) for room, level, deps in rows}


def check_rooms(rooms, matrix):
    where = "ARCHITECTURE.md"
    for room in sorted(rooms.keys() | matrix.keys()):
        if room not in rooms or room not in matrix:
            missing = "CMakeLists.txt" if room not in rooms else where
            yield where, 1, f"room {room} is not in {missing}"
            continue
        level, may = matrix[room]
        if sorted(may) != sorted(rooms[room]):
            yield where, 1, f"room {room}: the table says {may}, CMakeLists.txt {rooms[room]}"
        for dep in may:
            if dep in matrix and matrix[dep][0] >= level:
                yield where, 1, f"arrow {room} -> {dep} does not point down"


def check_includes(name, text, rooms):
    if not (name.startswith("src/") and name.endswith(CODE_ENDINGS)):
        return
    room = name.split("/")[1]
    for match in re.finditer(r'^#include "(\w+)/', text, re.M):
        target = match.group(1)
        if target != room and target in rooms and target not in rooms.get(room, []):
            yield name, line_of(text, match.start()), f"{room} may not include {target}"


def check_dead(names, texts):
    """Headers that nothing includes, and tools that nothing mentions."""
    included = set()
    for name, text in texts.items():
        if name.endswith(CODE_ENDINGS):
            included |= set(re.findall(r'#include "([^"]+)"', text))
    mentions = {n: t for n, t in texts.items()
                if n.endswith((".md", ".txt", ".cmake", ".py", ".cc")) or n == "dev"}
    for name in names:
        if name.startswith(CODE_FOLDERS) and name.endswith(".h"):
            spelling = name[4:] if name.startswith("src/") else os.path.basename(name)
            if spelling not in included:
                yield name, 1, "nothing includes this header"
        if name.startswith("tools/") and name.endswith(".py"):
            stem = os.path.basename(name)[:-3]
            if not any(re.search(rf"\b{stem}\b", t) for n, t in mentions.items() if n != name):
                yield name, 1, "no document, build file or script mentions this tool"


def findings(root):
    names = [n for n in tracked_files(root) if is_ours(n)]
    texts = {n: read(root, n) for n in names if n.endswith(TEXT_ENDINGS) or n in ("dev", ".ci/run")}
    exceptions, used = read_exceptions(root), set()
    rooms = parse_rooms(texts.get("CMakeLists.txt", ""))
    yield from check_rooms(rooms, parse_matrix(texts.get("ARCHITECTURE.md", "")))
    for name, text in texts.items():
        code = without_comments_and_strings(text) if name.endswith(CODE_ENDINGS) else text
        yield from check_text(name, text)
        yield from check_flags(name, text)
        yield from check_header(name, text)
        yield from check_own_header_first(name, text, texts)
        yield from check_sizes(name, text, code, exceptions, used)
        yield from check_includes(name, text, rooms)
        if name.startswith(CODE_FOLDERS) and name.endswith(CODE_ENDINGS):
            yield from check_banned(name, with_includes(text, code))
    for kind, name in sorted(exceptions.keys() - used):
        yield "tests/tidy/exceptions.txt", 1, f"{kind} {name}: no such file"
    yield from check_dead(names, texts)


def with_includes(text, code):
    """`code`, with the #include lines of `text` put back: their names are strings as well."""
    lines = [t if t.startswith("#include") else c
             for t, c in zip(text.split("\n"), code.split("\n"))]
    return "\n".join(lines)


def check_commands(path):
    """Flags of a build, from the file that CMake writes."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            for match in re.finditer(FAST_MATH, line):
                yield path, number, f"{match.group()}: hides NaN and infinity"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", default=os.path.join(os.path.dirname(__file__), "../.."))
    parser.add_argument("--commands")
    arguments = parser.parse_args()
    found = list(findings(os.path.normpath(arguments.root)))
    if arguments.commands:
        found += check_commands(arguments.commands)
    for name, line, what in found[:SHOWN_MAX]:
        print(f"{name}:{line}: {what}")
    if len(found) > SHOWN_MAX:
        print(f"... and {len(found) - SHOWN_MAX} more")
    if not found:
        print("tidy: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
