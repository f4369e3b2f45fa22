"""Each rule of tidy.py fails on a bad sample and passes on a good one.

usage: tidy_test.py
"""

import os
import tempfile
import unittest

import tidy

HEADER = "#pragma once\n// What it is.\n"


def write_tree(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path) or root, exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def found(files):
    """What tidy says of a tree of exactly these files."""
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, files)
        return [f"{name}:{line}: {what}" for name, line, what in tidy.findings(root)]


def body(lines):
    return "void f(int a) {\n" + "  a = a + 1;\n" * (lines - 2) + "}\n"


class TidyTest(unittest.TestCase):
    def assert_one(self, files, *words):
        got = found(files)
        self.assertEqual(len(got), 1, got)
        for word in words:
            self.assertIn(word, got[0])

    def test_clean_tree(self):
        self.assertEqual(found({"src/base/a.cc": "int f() {\n  return 1;\n}\n"}), [])

    def test_banned_names(self):
        for code, word in [("std::cout << 1;", "std::cout"), ('printf("x");', "printf"),
                           ("auto x = getenv(name);", "getenv"), ("int x = rand();", "rand"),
                           ("auto x = std::stoi(s);", "from_chars"), ("assert(x);", "assert"),
                           ("std::regex r;", "regex"), ("std::abort();", "abort"),
                           ("using namespace std;", "using namespace"), ("exit(1);", "exit"),
                           ("fmt::print(s);", "fmt::print"), ("int x;  XXX y;", "XXX"),
                           ("auto* x = new Thing;", "make_unique"), ("delete x;", "unique_ptr"),
                           ("delete[] x;", "unique_ptr"), ("free(x);", "container"),
                           ("vfprintf(f, s, a);", "vfprintf"), ("sscanf(s, f);", "sscanf"),
                           ("strcpy(a, b);", "strcpy"), ("x = std::atoll(s);", "from_chars"),
                           ("x = strtod(s, 0);", "from_chars"), ("x << std::endl;", "std::endl")]:
            self.assert_one({"src/model/a.cc": code + "\n"}, "src/model/a.cc:1", word)
        self.assert_one({"src/model/a.cc": "bool b = std::isnan(x);\n"}, "exponent bits")
        self.assert_one({"src/model/a.cc": "#include <immintrin.h>\n"}, "intrinsics")

    def test_banned_names_in_comments_strings_and_allowed_places(self):
        self.assertEqual(found({"src/model/a.cc": "// std::cout\nauto s = \"printf(x)\";\n",
                                "src/cli/b.cc": "fmt::print(s);\n",
                                "src/kernels/c.cc": "#include <immintrin.h>\n"}), [])

    def test_finite_math_flags(self):
        self.assert_one({"CMakeLists.txt": "add_compile_options(-ffast-math)\n"}, "-ffast-math")
        self.assert_one({"cmake/a.cmake": "set(F -Ofast)\n"}, "-Ofast")

    def test_text_shape(self):
        self.assert_one({"a.md": "x \n"}, "trailing space")
        self.assert_one({"a.md": "x"}, "no line feed")
        self.assert_one({"src/base/a.cc": "int x;" + " " * 100 + "int y;\n"}, "columns")
        self.assert_one({"src/base/a.cc": "\tint x;\n"}, "tab")
        self.assert_one({"a.md": "see /wo" + "rk/main\n"}, "path of some machine")

    def test_banned_names_in_tests_and_fuzz_targets(self):
        self.assert_one({"tests/a_test.cc": "std::cout << 1;\n"}, "tests/a_test.cc:1")
        self.assert_one({"fuzz/a.cc": "int x = rand();\n"}, "fuzz/a.cc:1")

    def test_what_looks_like_a_banned_name(self):
        self.assertEqual(found({"src/model/a.cc": "A(const A&) = delete;\nvoid* operator new(size_t);\n"
                                                  "std::snprintf(p, n, s);\nx.exit(1);\n"
                                                  "int new_rows = brand(2);\n"}), [])

    def test_flags_of_a_build(self):
        with tempfile.TemporaryDirectory() as root:
            path = os.path.join(root, "compile_commands.json")
            for flags, count in [("-O3", 0), ("-O3 -ffast-math", 1), ("-Ofast", 1)]:
                write_tree(root, {"compile_commands.json": f'"command": "g++ {flags} a.cc"\n'})
                self.assertEqual(len(list(tidy.check_commands(path))), count, flags)

    def test_headers(self):
        self.assertIn("#pragma once", found({"src/base/a.h": "// What.\n"})[0])
        self.assertIn("paragraph", found({"src/base/a.h": "#pragma once\n\nint x;\n"})[0])

    def test_own_header_first(self):
        self.assert_one({"src/base/a.h": HEADER,
                         "src/base/a.cc": "#include <string>\n#include \"base/a.h\"\n"},
                        "comes first")

    def test_file_and_function_sizes(self):
        self.assert_one({"src/base/a.cc": "int x;\n" * 501}, "lines: 501")
        self.assert_one({"src/base/a.cc": body(71)}, "function: 71")
        self.assertEqual(found({"src/base/a.cc": body(70)}), [])
        self.assertEqual(found({"src/base/a_test.cc": body(100)}), [])
        self.assert_one({"src/base/a_test.cc": body(101)}, "function: 101")
        self.assert_one({"tests/a.py": "def f():\n" + "    g()\n" * 70}, "function: 71")
        self.assertEqual(found({"tests/a.py": "def f():\n" + "    g()\n" * 69}), [])

    def test_exceptions_only_shrink(self):
        def with_exception(size):
            return {"src/base/a.cc": "int x;\n" * 510,
                    "tests/tidy/exceptions.txt": f"lines src/base/a.cc {size}\n"}
        self.assertEqual(found(with_exception(510)), [])
        self.assert_one(with_exception(509), "allows 509")
        self.assert_one({"src/base/a.cc": "int x;\n" * 801,
                         "tests/tidy/exceptions.txt": "lines src/base/a.cc 801\n"}, "never over 800")
        self.assert_one(with_exception(600), "lower the exception")
        self.assert_one({"tests/tidy/exceptions.txt": "lines src/gone.cc 600\n"}, "no such file")

    def test_rooms_and_matrix(self):
        cmake = "room(base LIBS x)\nroom(a DEPS base\n     LIBS y)\n"
        table = "| base | 0 | - |\n| a | 1 | base |\n"
        self.assertEqual(found({"CMakeLists.txt": cmake, "ARCHITECTURE.md": table}), [])
        self.assert_one({"CMakeLists.txt": cmake, "ARCHITECTURE.md": "| base | 0 | - |\n"},
                        "room a is not in")
        self.assert_one({"CMakeLists.txt": cmake,
                         "ARCHITECTURE.md": table.replace("| a | 1 | base |", "| a | 1 | - |")},
                        "room a: the table says")
        self.assert_one({"CMakeLists.txt": cmake,
                         "ARCHITECTURE.md": table.replace("| a | 1", "| a | 0")},
                        "does not point down")

    def test_includes_follow_the_arrows(self):
        tree = {"CMakeLists.txt": "room(base)\nroom(a DEPS base)\n",
                "ARCHITECTURE.md": "| base | 0 | - |\n| a | 1 | base |\n",
                "src/a/a.h": HEADER, "src/a/b.cc": "#include \"a/a.h\"\n"}
        self.assertEqual(found(tree), [])
        tree["src/base/b.cc"] = "#include \"a/a.h\"\n"
        self.assert_one(tree, "base may not include a")

    def test_dead_files(self):
        self.assert_one({"src/base/a.h": HEADER}, "nothing includes")
        self.assert_one({"fuzz/a.h": "#pragma once\n"}, "nothing includes")
        self.assert_one({"tools/lonely.py": "# usage: lonely.py\n"}, "no document")
        self.assertEqual(found({"tools/known.py": "x = 1\n", "a.md": "run tools/known.py\n"}), [])


if __name__ == "__main__":
    unittest.main()
