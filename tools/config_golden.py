"""Writes tests/golden/config/resolution.tsv: what the settings must resolve to.

usage: config_golden.py > tests/golden/config/resolution.tsv

An independent statement of the rules in Python, from docs/settings.md and model.md section 2: it
shares no code with src/config. One line per family, weight format, device and list of changes.
"""

import itertools

# hidden, layers, vocab, positions, heads, q_lora, kv_lora, nope, rope, v, inter, moe_inter, experts,
# top_k, shared, index_heads, index_dim, index_topk, layers with an indexer
FAMILIES = {
    "glm_moe_dsa": (6144, 78, 154880, 1048576, 64, 2048, 512, 192, 64, 256, 12288, 2048, 256, 8, 1,
                    32, 128, 2048, 21),
    "deepseek_v32": (7168, 61, 129280, 163840, 128, 1536, 512, 128, 64, 128, 18432, 2048, 256, 8, 1,
                     64, 128, 2048, 61),
    "deepseek_v3": (7168, 61, 129280, 163840, 128, 1536, 512, 128, 64, 128, 18432, 2048, 256, 8, 1,
                    0, 0, 0, 0),
    "kimi_k2": (7168, 61, 163840, 262144, 64, 1536, 512, 128, 64, 128, 18432, 2048, 384, 8, 1, 0, 0,
                0, 0),
    "deepseek_v2": (2048, 27, 102400, 4096, 16, 0, 512, 128, 64, 128, 10944, 1408, 64, 6, 2, 0, 0, 0,
                    0),
}
FORMATS = ("bf16", "fp8_block", "nvfp4_modelopt")
# name, memory of all devices, CPUs, features
DEVICES = {
    "cpu-x86-64": (64 * 10**9, 8, False),
    "cpu-avx2": (256 * 10**9, 32, True),
    "cpu-zen5:1000GB": (1000 * 10**9, 128, True),
    "sm_120:96GB x8": (8 * 96 * 10**9, 0, None),
}
CHANGES = (
    "",
    "context=65536 sequences=2",
    "attention=sparse seed=7",
    "attention=dense kv-dtype=f32",
    "kernels=avx2 threads=40 chunk=64",
    "context=100 attention-form=expanded greedy memory-budget=30MB",
)


def scratch_bytes(f, context, chunk, threads, sparse, expanded):
    """Floats and int32s of one step: the buffers of the forward pass."""
    (hidden, _, vocab, _, heads, q_lora, kv_lora, nope, rope, v, inter, moe_inter, experts, top_k,
     shared, index_heads, index_dim, index_topk, _) = f
    t, s = chunk, context
    selected = min(index_topk, s) if sparse else s
    words = 2 * t + 3 * t * hidden
    words += t * q_lora + t * heads * (nope + rope)
    words += (max(s, t) if expanded else t) * (kv_lora + rope)
    words += s * heads * (nope + v) if expanded else 2 * t * heads * kv_lora
    words += t * heads * v + threads * selected + t * selected + t
    if sparse:
        words += t * index_heads * index_dim + t * index_dim + t * index_heads
        words += min(t, 32) * s + threads * s
    words += 2 * t * max(inter, moe_inter * shared) + t * hidden
    words += t * experts + 2 * t * top_k
    words += t * top_k * (hidden + moe_inter) + t * top_k + 2 * experts + 1
    words += 8 * vocab
    return 4 * words


def aligned(n):
    return -(-n // 64) * 64


def kv_bytes(f, tokens, sparse, element):
    layers, width, index_dim, indexers = f[1], f[6] + f[8], f[16], f[18] if sparse else 0
    page = layers * aligned(64 * width * element) + indexers * aligned(64 * index_dim * element)
    return -(-tokens // 64) * page


def resolve(family, device, changes):
    f = FAMILIES[family]
    memory, cpus, avx2 = DEVICES[device]
    user = dict(c.split("=") if "=" in c else (c, "") for c in changes.split())
    refusals = set()
    kernels = user.get("kernels", {True: "avx2", False: "generic", None: "auto"}[avx2])
    if avx2 is None:
        refusals.add("kernels.no_backend")
    elif kernels == "avx2" and not avx2:
        refusals.add("kernels.missing_feature")
    threads = int(user.get("threads", max(cpus, 1)))
    context = int(user.get("context", min(8192, f[3])))
    if context > f[3]:
        refusals.add("kv.context_limit")
    chunk = int(user.get("chunk", min(256, context)))
    scope = user.get("attention", "sparse" if f[15] else "dense")
    if scope == "sparse" and not f[15]:
        refusals.add("attention.sparse_needs_indexer")
    form = user.get("attention-form", "absorbed")
    dtype = user.get("kv-dtype", "bf16")
    tokens = aligned(context) * int(user.get("sequences", 1))
    budget = 30 * 10**6 if "memory-budget" in user else memory
    kv = kv_bytes(f, tokens, scope == "sparse", 4 if dtype == "f32" else 2)
    scratch = scratch_bytes(f, context, chunk, threads, scope == "sparse", form == "expanded")
    if kv + scratch > budget:
        refusals.add("memory.budget")
    temperature = "0" if "greedy" in user else "1"
    return (kernels, threads, context, chunk, scope, form, dtype, tokens, temperature, kv, scratch,
            ",".join(sorted(refusals)) or "-")


def main():
    columns = ("family", "format", "device", "changes", "kernels", "threads", "context", "chunk",
               "scope", "form", "dtype", "kv_tokens", "temperature", "kv_bytes", "scratch_bytes",
               "refusals")
    print("# Written by tools/config_golden.py; do not edit.")
    print("\t".join(columns))
    for case in itertools.product(FAMILIES, FORMATS, DEVICES, CHANGES):
        family, weights, device, changes = case
        row = (family, weights, device, changes or "-") + resolve(family, device, changes)
        print("\t".join(str(cell) for cell in row))


if __name__ == "__main__":
    main()
