#!/usr/bin/env python3
"""Regenerates tests/golden/tokenizer/: what Hugging Face `tokenizers` and OpenAI `tiktoken` make of
about 2,500 texts, for the shipped model's tokenizer and for small vocabularies that are trained
here with the pre-tokenizers of GLM, DeepSeek, Kimi and GPT-2.

    pip install tokenizers==0.23.3 tiktoken==0.14.0
    python3 tools/tokenizer_golden.py

The texts come from a fixed seed; the versions are written to provenance.json.
"""

import base64
import json
import os
import pathlib
import random
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tiktoken
import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).parent.parent
OUT = ROOT / "tests/golden/tokenizer"
TINY = ROOT / "models/tiny/tokenizer.json"
SEED = 20261201

GLM = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥\u3040-ゟ゠-ヿ]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
]
KIMI_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
KIMI_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI = "|".join(
    [
        r"[\p{Han}]+",
        rf"[^\r\n\p{{L}}\p{{N}}]?{KIMI_UPPER}*{KIMI_LOWER}+{CONTRACTION}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{KIMI_UPPER}+{KIMI_LOWER}*{CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)

GLM_ADDED = [
    *[(t, True) for t in ("<|endoftext|>", "[MASK]", "[gMASK]", "[sMASK]", "<sop>", "<eop>")],
    *[(t, True) for t in ("<|system|>", "<|user|>", "<|assistant|>", "<|observation|>")],
    *[(t, False) for t in ("<think>", "</think>", "<tool_call>", "</tool_call>", "/nothink")],
]
DEEPSEEK_SPECIAL = ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"]
DEEPSEEK_ADDED = ["<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", "<｜fim▁hole｜>"]
KIMI_ADDED = ["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>"]
KIMI_TEXT_ADDED = ["<think>", "</think>"]
# Overlapping contents: leftmost, then longest; `normalized` ones only in what the others leave.
OVERLAPPING = [
    ("[[", False), ("[[[", False), ("[a", False), ("]]", True), ("a]", True), ("[a]", True),
    ("☃", False), ("☃☃x", False), ("of", True),
]  # fmt: skip

# --- texts ---

BLOCKS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0xFF), (0x100, 0x17F), (0x1C4, 0x1CC), (0x250, 0x2AF),
    (0x2B0, 0x2FF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58F), (0x591, 0x5F4),
    (0x600, 0x6FF), (0x700, 0x74F), (0x780, 0x7B1), (0x900, 0x97F), (0x980, 0x9FE), (0xA01, 0xA76),
    (0xB01, 0xB77), (0xB82, 0xBFA), (0xC00, 0xC7F), (0xC80, 0xCF3), (0xD00, 0xD7F), (0xD81, 0xDF4),
    (0xE01, 0xE5B), (0xE81, 0xEDF), (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF),
    (0x1100, 0x11FF), (0x1200, 0x139F), (0x13A0, 0x13FD), (0x1400, 0x167F), (0x1680, 0x169C),
    (0x16A0, 0x16F8), (0x1780, 0x17F9), (0x1800, 0x18AA), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE),
    (0x2000, 0x206F), (0x2070, 0x209C), (0x20A0, 0x20C0), (0x20D0, 0x20F0), (0x2100, 0x218B),
    (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2500, 0x27BF), (0x2C00, 0x2C5F), (0x2D30, 0x2D7F),
    (0x2E80, 0x2FD5), (0x3000, 0x303F), (0x3040, 0x30FF), (0x3105, 0x312F), (0x3131, 0x318E),
    (0x3200, 0x32FF), (0x3400, 0x3500), (0x4E00, 0x5200), (0x9F00, 0x9FFF), (0xA000, 0xA0FF),
    (0xA640, 0xA69F), (0xA720, 0xA7FF), (0xAC00, 0xAFFF), (0xF900, 0xFAD9), (0xFB00, 0xFB17),
    (0xFE00, 0xFE6B), (0xFF01, 0xFFEE), (0x10000, 0x100FA), (0x10330, 0x1034A), (0x10400, 0x1044F),
    (0x10A00, 0x10A58), (0x11000, 0x1106F), (0x12000, 0x120FF), (0x13000, 0x130FF),
    (0x16FE0, 0x16FF1), (0x1B000, 0x1B0FF), (0x1D400, 0x1D4FF), (0x1D7CE, 0x1D7FF),
    (0x1E900, 0x1E95F), (0x1F000, 0x1F0F5), (0x1F300, 0x1F6FF), (0x1F900, 0x1F9FF),
    (0x20000, 0x20100), (0x2EBF0, 0x2EE5D), (0x31350, 0x32300), (0x1C89, 0x1C8A), (0xA7CB, 0xA7DC),
    (0x105C0, 0x105F3), (0x10D40, 0x10D8F), (0x11380, 0x113E2), (0x11F00, 0x11F5A),
    (0x16D40, 0x16D79), (0x1CC00, 0x1CCF9), (0x1E030, 0x1E06D), (0xE0001, 0xE007F),
]  # fmt: skip
SPACES = [
    "\t", "\n", "\v", "\f", "\r", " ", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u180e",
    *map(chr, range(0x2000, 0x200E)), "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000",
    "\ufeff", "\r\n", "  ", "\n\n",
]  # fmt: skip
DIGITS = ["0", "12", "345", "6789", "٣", "९", "５", "²", "Ⅷ", "〇", "½", "𝟘", "①", "𑄶", "௧", "〡"]
PIECES = [
    *["a", "Z", "the", "The", "ſ", "ß", "K", "İ", "ǅ", "ʰ", "ª", "é", "e\u0301", "中", "文字", "々"],
    *["〆", "〻", "ー", "あ", "カ", "한", "글", "ا", "ب", "ไทย", "\u0e31", "\u0301", "\u20dd", "\U00016ff0"],
    *["'", "’", "'s", "'S", "'ſ", "'t", "'T", "'re", "'RE", "'vE", "'m", "'ll", "'lL", "'d", "'D", "''"],
    *[".", ",", "!", "-", "_", "(", ")", "[", "]", "{", "}", "<", ">", "|", "\\", "/", "~", "^", "`"],
    *["$", "€", "+", "=", "©", "→", "。", "「", "」", "？", "…", "—", "🙂", "👩‍💻", "\0", "\x7f", "\x9f"],
    *["\u200d", "\ufe0f", "\ue000", "\U000e0041", "\U0010ffff", "\ufffd", "\ufffe", "\u0378"],
]  # fmt: skip
WORDS = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from or "
    "had an they which one you were all her she there would their we him been has when who will no "
    "more if out so up said what its about than into them can only other time new some could these "
    "two may first then do any like my now over such our man me even most made after also well "
    "attention sparse model token router expert layer cache latent index Kapitän straße café naïve "
    "Москва привет мир Ελλάδα שלום مرحبا नमस्ते ไทย 日本語 東京 中国 北京 한국어 việt Ünïcödé"
).split()
SENTENCES = [
    "The capital of France is", " Paris", "Hello world", "你好世界", "Hello, world! 你好，世界！",
    "It's John's; they've said we'll go, I'm sure he'd agree, aren't you?",
    "IT'S JOHN'S; THEY'VE SAID WE'LL GO, I'M SURE HE'D AGREE, AREN'T YOU?",
    "def f(x):\n    return x**2  # square\n\n\nclass A:\n\tpass\n",
    "for (int i = 0; i < 10; ++i) { a[i] += b[i] * 3.14159e-10; }\r\n",
    '{"name": "get_weather", "arguments": {"city": "北京", "days": 3}}',
    "https://example.com/a/b?c=d&e=%20f#g user@example.org C:\\Users\\x\\y",
    "深度学习deep learning模型model需要大量GPU资源，2023年3月14日发布。",
    "私は東京に住んでいます。カタカナとひらがな、漢字！", "안녕하세요 세계 123", "สวัสดีชาวโลก ๑๒๓",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.", "مرحبا بالعالم ١٢٣", "שָׁלוֹם עוֹלָם",
    "नमस्ते दुनिया १२३", "Xin chào thế giới", "γειά σου κόσμε", "ǅ ǈ ŉ ﬃ ﬆ İstanbul ıı ẞß",
    "x = 1,234,567.89 + 1e10 - 0x1F * 0b1010", "1234567890123456789012345678901234567890",
    "A" * 9 + "a" * 9, "camelCaseStringsAndHTTPServerURLs", "snake_case_and-kebab-case",
    "<html><body class='x'>&amp;</body></html>", "\\frac{1}{2} \\sum_{i=0}^{n} x_i^2", "",
]  # fmt: skip
ADDED_TEXTS = [
    *[t for t, _ in GLM_ADDED], *DEEPSEEK_SPECIAL, *DEEPSEEK_ADDED, *KIMI_ADDED, *KIMI_TEXT_ADDED,
    "<|reserved_token_1000|>", "<|user", "|>", "<", "<think", "</think", "[gMASK", "[[", "[[[", "[a",
    "]]", "a]", "☃", "☃☃x", "<｜", "｜>",
]  # fmt: skip
INVALID = [
    b"\x80", b"\xbf\xbf", b"\xc0\xaf", b"\xc1\x81", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x28\xa1",
    b"\xe0\x80\xaf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x9f", b"\xf0\x9f\x98",
    b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff",
    b"\xfe\xff", b"\xf0\x9f\x98\x80\x80", b"a\xe4\xb8b", b"\xe4\xb8\xad\xe4", b"\xf4\x8f\xbf",
]  # fmt: skip
RUNS = ["a", "A", "1", " ", "\n", "\r\n", "\t", "\u0301", "中", "é", "ไ", "👩‍💻", "🙂", "'s", ".", "\0", "ab"]


def scripts(rng):
    for first, last in BLOCKS:
        for _ in range(5):
            words = []
            for _ in range(rng.randint(1, 4)):
                word = "".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 6)))
                words.append(word + rng.choice(["", "", ",", ".", "!", "1", "'s"]))
            yield rng.choice([" ", " ", "  ", "\u3000", "-"]).join(words)


def mixtures(rng):
    for _ in range(700):
        pool = rng.choice([PIECES, PIECES + SPACES + DIGITS, PIECES + SPACES + DIGITS])
        yield "".join(rng.choice(pool) for _ in range(rng.randint(1, 14)))


def white_space(rng):
    for space in SPACES:
        yield f"a{space}b{space}{space}c{space}"
        yield f"{space}{space}1{space}.{space}{space}\n{space}x"
    for _ in range(150):
        pool = SPACES + ["a", "B", "1", ".", "中", "'s", " ", " "]
        yield "".join(rng.choice(pool) for _ in range(rng.randint(2, 12)))


def contractions(rng):
    for suffix in ("s", "t", "re", "ve", "m", "ll", "d", "ſ", "ſt", "x", "K"):
        cases = [suffix, suffix.upper(), suffix.capitalize(), suffix[:-1] + suffix[-1].upper()]
        for text in dict.fromkeys(cases):
            yield f"it'{text} 'x'{text}x HE'{text}Y 5'{text} '{text}' ’{text} 中'{text}"


def digits(rng):
    for n in range(1, 25):
        yield "".join(rng.choice("0123456789") for _ in range(n))
    for _ in range(60):
        yield "".join(rng.choice(DIGITS + [" ", ",", ".", "a"]) for _ in range(rng.randint(2, 9)))


def controls(rng):
    for c in [*range(0x20), *range(0x7F, 0xA1), 0xAD, 0x61C, *range(0x200B, 0x2010), 0x202E, 0xFFFC]:
        yield f"a{chr(c)}b {chr(c)}{chr(c)} 1{chr(c)}\n"


def runs(rng):
    for run in RUNS:
        for count in (2, 3, 47, 48, 49, 50, 97, 200):
            yield run * count
        yield "x" + run * 60 + "y " + run * 7


def emoji(rng):
    parts = ["👨", "👩", "👧", "\u200d", "🏽", "\ufe0f", "❤", "🇫", "🇷", "1", "\u20e3", "🏴", "\U000e0067", " "]
    for _ in range(100):
        yield "".join(rng.choice(parts) for _ in range(rng.randint(1, 9)))


def added(rng):
    for text in ADDED_TEXTS:
        yield text
        yield f"a {text} b{text}{text}\n{text}1 "
    for _ in range(200):
        pool = ADDED_TEXTS + ["a", " ", "\n", "the", "中", "1", "of", "["]
        yield "".join(rng.choice(pool) for _ in range(rng.randint(2, 7)))


def prose(rng):
    yield from SENTENCES
    for _ in range(250):
        words = [rng.choice(WORDS) for _ in range(rng.randint(2, 14))]
        words[0] = words[0].capitalize()
        yield rng.choice([" ", " ", " ", "\n", ", "]).join(words) + rng.choice([".", "?", "", "\n"])


def invalid(rng):
    for piece in INVALID:
        yield piece
        yield b"ab " + piece + b" cd" + piece + piece + "é中".encode()
    for _ in range(60):
        yield bytes(rng.randrange(256) for _ in range(rng.randint(1, 24)))
    for _ in range(40):
        whole = rng.choice(SENTENCES + WORDS).encode()
        cut = rng.randint(0, len(whole))
        yield whole[:cut] + rng.choice(INVALID) + whole[cut + 1 :]


def make_texts():
    """Texts as bytes: about 2,500, no two equal."""
    rng = random.Random(SEED)
    texts = {}
    for source in (prose, scripts, mixtures, white_space, contractions, digits, controls, runs, emoji,
                   added, invalid):  # fmt: skip
        for text in source(rng):
            texts[text if isinstance(text, bytes) else text.encode()] = None
    return list(texts)


# --- tokenizers ---


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def isolated(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def train(splits, texts, size, special=(), pre_tokenizer=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer or pre_tokenizers.Sequence(
        [*map(isolated, splits), byte_level(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())


def added_token(content, token_id, special, normalized=False):
    return dict(id=token_id, content=content, single_word=False, lstrip=False, rstrip=False,
                normalized=normalized, special=special)  # fmt: skip


def append_added(document, tokens):
    """`tokens`: (content, special, normalized). One that is a word of the vocabulary has its id and
    is not special; the others have the ids that follow."""
    vocab = document["model"]["vocab"]
    for content, special, normalized in tokens:
        is_word = content in vocab
        others = sum(t["content"] not in vocab for t in document["added_tokens"])
        token_id = vocab[content] if is_word else len(vocab) + others
        entry = added_token(content, token_id, special and not is_word, normalized)
        document["added_tokens"].append(entry)


def merges_as_text(document):
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]


def make_documents(texts):
    glm = train([GLM], texts, 900)
    glm["model"]["ignore_merges"] = True
    append_added(glm, [(content, special, False) for content, special in GLM_ADDED])

    deepseek = train(DEEPSEEK, texts, 900, DEEPSEEK_SPECIAL)
    append_added(deepseek, [(content, False, i % 2 == 0) for i, content in enumerate(DEEPSEEK_ADDED)])
    merges_as_text(deepseek)

    gpt2 = train([], texts, 700, pre_tokenizer=byte_level(True))
    append_added(gpt2, [(c, i % 2 == 0, n) for i, (c, n) in enumerate(OVERLAPPING)])
    merges_as_text(gpt2)
    return {"glm": glm, "deepseek": deepseek, "gpt2": gpt2}


def make_kimi(texts):
    """Ranks (bytes -> rank) and tokenizer_config.json."""
    document = train([KIMI], texts, 900)
    byte_of = {c: b for b, c in enumerate(bytes_to_unicode())}
    tokens = [bytes([b]) for b in range(256)]
    for left, right in document["model"]["merges"]:
        token = bytes(byte_of[c] for c in left + right)
        if token not in tokens:
            tokens.append(token)
    first = len(tokens)
    named = [(content, True) for content in KIMI_ADDED] + [(t, False) for t in KIMI_TEXT_ADDED]
    decoder = {}
    for i, (content, special) in enumerate(named):
        entry = added_token(content, None, special)
        del entry["id"]
        decoder[str(first + i)] = entry
    config = {
        "added_tokens_decoder": decoder,
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
        "tokenizer_class": "TikTokenTokenizer",
        "bos_token": "[BOS]",
        "eos_token": "[EOS]",
    }
    return {token: rank for rank, token in enumerate(tokens)}, config


def bytes_to_unicode():
    """GPT-2's alphabet, as a list by byte."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in itself]
    return [chr(b) if b in itself else chr(256 + others.index(b)) for b in range(256)]


# --- fixtures ---


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, list):
        lines = ",\n".join(json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in value)
        path.write_text(f"[\n{lines}\n]\n")
        return
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def spelled(text):
    """A text in JSON: a string, or {"hex": ...} when it is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"hex": text.hex()}


def rows(texts, as_tokens, as_text, decode):
    """Per text [ids, ids as untrusted text]; the second is left out where it is the same."""
    out = []
    for text in texts:
        lossy = text.decode(errors="replace")
        trusted, untrusted = as_tokens(lossy), as_text(lossy)
        for ids in (trusted, untrusted):
            if decode(ids) != lossy:
                raise SystemExit(f"the reference does not decode its own ids: {text!r}")
        out.append([trusted] if trusted == untrusted else [trusted, untrusted])
    return out


def reference_rows(document, texts):
    trusted = Tokenizer.from_str(json.dumps(document))
    untrusted = Tokenizer.from_str(json.dumps({**document, "added_tokens": []}))
    return rows(
        texts,
        lambda text: trusted.encode(text, add_special_tokens=False).ids,
        lambda text: untrusted.encode(text, add_special_tokens=False).ids,
        lambda ids: decode_bytes(document, ids),
    )


def decode_bytes(document, ids):
    """By hand: the reference's decoder reads an added token such as "☃" in the byte alphabet."""
    alphabet = {c: b for b, c in enumerate(bytes_to_unicode())}
    tokens = {i: t for t, i in document["model"]["vocab"].items()}
    added = {t["id"]: t["content"].encode() for t in document["added_tokens"]}
    out = [added.get(i) or bytes(alphabet[c] for c in tokens[i]) for i in ids]
    return b"".join(out).decode(errors="replace")


def kimi_rows(ranks, config, texts):
    first = len(ranks)
    special = {f"<|reserved_token_{i}|>": i for i in range(first, first + 256)}
    for token_id, entry in config["added_tokens_decoder"].items():
        del special[f"<|reserved_token_{token_id}|>"]
        special[entry["content"]] = int(token_id)
    encoding = tiktoken.Encoding("kimi", pat_str=KIMI, mergeable_ranks=ranks, special_tokens=special)
    return rows(
        texts,
        lambda text: encoding.encode(text, allowed_special="all"),
        encoding.encode_ordinary,
        encoding.decode,
    )


def signatures(splits):
    """How pre-tokenization treats each code point of the planes in use: the lengths of the pieces of
    a text around it, in characters. Runs of code points that are treated alike."""
    pre_tokenizer = pre_tokenizers.Sequence([*map(isolated, splits)])
    table, runs_ = {}, []
    for c in [*range(0xD800), *range(0xE000, 0x34000), *range(0xE0000, 0xE0200), *range(0x10FFF0, 0x110000)]:
        x = chr(c)
        text = f"a{x}a1{x} {x}A{x}.{x}'{x}\n{x}{x}"
        lengths = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
        index = table.setdefault(tuple(lengths), len(table))
        if not runs_ or runs_[-1][1] != index or runs_[-1][2] != c:
            runs_.append([c, index, c + 1])
        else:
            runs_[-1][2] = c + 1
    return {"signatures": [list(s) for s in table], "runs": [[a, b, i] for a, i, b in runs_]}


def main():
    texts = make_texts()
    training = [t.decode(errors="replace") for t in texts]
    write(OUT / "texts.json", [spelled(t) for t in texts])
    write(OUT / "tiny.ids.json", reference_rows(json.loads(TINY.read_text()), texts))
    for name, document in make_documents(training).items():
        write(OUT / f"{name}/tokenizer.json", document)
        write(OUT / f"{name}.ids.json", reference_rows(document, texts))
    ranks, config = make_kimi(training)
    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    (OUT / "kimi").mkdir(parents=True, exist_ok=True)
    (OUT / "kimi/tiktoken.model").write_text("".join(lines))
    write(OUT / "kimi/tokenizer_config.json", config)
    write(OUT / "kimi.ids.json", kimi_rows(ranks, config, texts))
    for name, splits in {"glm": [GLM], "deepseek": DEEPSEEK, "kimi": [KIMI]}.items():
        write(OUT / f"{name}.code_points.json", {"splits": splits, **signatures(splits)})
    write(
        OUT / "provenance.json",
        {
            "command": "python3 tools/tokenizer_golden.py",
            "python": sys.version.split()[0],
            "tokenizers": tokenizers.__version__,
            "tiktoken": tiktoken.__version__,
            "seed": SEED,
            "texts": len(texts),
        },
    )


if __name__ == "__main__":
    main()
