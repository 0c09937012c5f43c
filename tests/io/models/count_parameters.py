#!/usr/bin/env python3
"""Counts the parameters of the language models whose config.json files are here and in other_models.json, weight by weight,
norms and biases among them, as the modules of transformers and of the models' own repositories have them; and the pairs of a
query and a key in a row of 20,000 tokens, token by token and layer by layer. Shares no code with slimpack.

    python3 tests/io/models/count_parameters.py > tests/io/models/exact_counts.json
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ROW = 20000


def full(n=ROW):
    return sum(range(1, n + 1))


def window(w, n=ROW):
    """Also of the w keys that an indexer chooses."""
    return sum(min(i, w) for i in range(1, n + 1))


def chunks(c, n=ROW):
    return sum(i % c + 1 for i in range(n))


def heads(c, width=None, bias=0, qk_norm=0, gate=0, kv_heads=None):
    """Queries, keys, values and output of grouped attention; biases of the first three (1) or of all (2)."""
    h, q, kv = c["hidden_size"], c["num_attention_heads"], kv_heads or c["num_key_value_heads"]
    d = width or c.get("head_dim") or h // q
    return h * d * (q * (2 + gate) + 2 * kv) + (bias > 0) * d * (q + 2 * kv) + (bias > 1) * h + qk_norm * 2 * d


def latent(c):
    """Multi-head latent attention with the norms of both ranks, or with queries of no rank."""
    h, n, q, kv = c["hidden_size"], c["num_attention_heads"], c["q_lora_rank"], c["kv_lora_rank"]
    nope, rope, v = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    queries = h * q + q + q * n * (nope + rope) if q else h * n * (nope + rope)
    return queries + h * (kv + rope) + kv + kv * n * (nope + v) + n * v * h


def indexer(c):
    """wq_b, wk with its layer norm, and the weights of heads."""
    n, d = c["index_n_heads"], c["index_head_dim"]
    return c["q_lora_rank"] * n * d + c["hidden_size"] * d + 2 * d + c["hidden_size"] * n


def swiglu(c, width):
    return 3 * c["hidden_size"] * width


def mamba2(h, n_heads, width, states, groups, taps):
    inner = n_heads * width
    convolved = inner + 2 * groups * states
    return h * (inner + convolved + n_heads) + convolved * (taps + 1) + 3 * n_heads + inner + inner * h


def mamba2_of(c):
    return mamba2(c["hidden_size"], c["mamba_n_heads"], c["mamba_d_head"], c["mamba_d_state"], c["mamba_n_groups"], c["mamba_d_conv"])


def nemotron_mamba(c):
    return mamba2(c["hidden_size"], c["mamba_num_heads"], c["mamba_head_dim"], c["ssm_state_size"], c["n_groups"], c["conv_kernel"])


def mamba(h, inner, states, rank, taps, with_norms):
    norms = with_norms * (rank + 2 * states)
    return h * 2 * inner + inner * (taps + 1) + inner * (rank + 2 * states) + rank * inner + inner + inner * states + inner + inner * h + norms


def delta_rule(c):
    h, value_heads = c["hidden_size"], c["linear_num_value_heads"]
    keys, values = c["linear_num_key_heads"] * c["linear_key_head_dim"], value_heads * c["linear_value_head_dim"]
    convolved = 2 * keys + values
    return h * (convolved + values + 2 * value_heads) + convolved * c["linear_conv_kernel_dim"] + 2 * value_heads + c["linear_value_head_dim"] + values * h


def kimi_delta(c):
    """q, k, v with a convolution each, decay and gate of the rank of a head, strengths, the norm of heads and the output."""
    h, n, d = c["hidden_size"], c["linear_attn_config"]["num_heads"], c["linear_attn_config"]["head_dim"]
    taps = c["linear_attn_config"]["short_conv_kernel_size"]
    return 3 * h * n * d + 3 * n * d * taps + 2 * (h * d + d * n * d) + h * n + n + n * d + d + n * d * h


def lightning(c):
    """q, k, v, the gate, the output, and a norm."""
    width = c["num_attention_heads"] * c["head_dim"]
    return 5 * c["hidden_size"] * width + width


def mlp2(c, width):
    """Up and down, without a gate."""
    return 2 * c["hidden_size"] * width


def model(c, layers, tied, norms=2, pairs=None):
    """The given weights of layers, norms of each, the last norm, embedding and head; and the pairs of all layers."""
    h = c["hidden_size"]
    parameters = sum(layers) + norms * h * len(layers) + h + c["vocab_size"] * h * (1 if tied else 2)
    return {"parameters": parameters, "pairs": len(layers) * full() if pairs is None else pairs}


def experts(c, count, width, shared=0, bias=0):
    """Experts, router, and shared experts of a width of their own."""
    h = c["hidden_size"]
    return count * (3 * h * width + bias * (2 * width + h)) + h * count + bias * count + 3 * h * shared


def counts():
    def of(name):
        return json.loads((HERE / (name + ".json")).read_text())

    def qwen3_moe(c):
        return model(c, [heads(c, qk_norm=1) + experts(c, c["num_experts"], c["moe_intermediate_size"])] * c["num_hidden_layers"], False)

    def qwen3(c):
        return model(c, [heads(c, qk_norm=1) + swiglu(c, c["intermediate_size"])] * c["num_hidden_layers"], False)

    def deepseek(c, more=0, pairs=None):
        dense, n = c["first_k_dense_replace"], c["n_routed_experts"]
        mlps = [swiglu(c, c["intermediate_size"])] * dense
        mlps += [experts(c, n, c["moe_intermediate_size"], c["n_shared_experts"] * c["moe_intermediate_size"]) + n] * (c["num_hidden_layers"] - dense)
        return model(c, [latent(c) + more + mlp for mlp in mlps], False, pairs=pairs)

    found = {}
    for name in ("Qwen--Qwen3-30B-A3B", "Qwen--Qwen3-Coder-480B-A35B-Instruct"):
        found[name] = qwen3_moe(of(name))
    found["Qwen--Qwen3-8B"] = qwen3(of("Qwen--Qwen3-8B"))
    found["Qwen--Qwen3-VL-8B-Instruct"] = qwen3(of("Qwen--Qwen3-VL-8B-Instruct")["text_config"])
    found["moonshotai--Kimi-K2.5"] = deepseek(of("moonshotai--Kimi-K2.5")["text_config"])
    for name in ("deepseek-ai--DeepSeek-V3.2", "zai-org--GLM-5.1"):
        found[name] = deepseek(of(name), indexer(of(name)), of(name)["num_hidden_layers"] * window(2048))

    c = of("Qwen--Qwen3.5-35B-A3B")["text_config"]
    moe = experts(c, c["num_experts"], c["moe_intermediate_size"], c["shared_expert_intermediate_size"]) + c["hidden_size"]
    found["Qwen--Qwen3.5-35B-A3B"] = model(c, [moe + (heads(c, qk_norm=1, gate=1) if kind == "full_attention" else delta_rule(c))
                                               for kind in c["layer_types"]], False, pairs=10 * full())
    c = of("ernie-4.5-21b-a3b")
    moe = experts(c, 64, c["moe_intermediate_size"], 2 * c["moe_intermediate_size"]) + 64
    found["ernie-4.5-21b-a3b"] = model(c, [heads(c) + swiglu(c, c["intermediate_size"])] + [heads(c) + moe] * 27, True)
    c = of("gemma-3-27b-nested")["text_config"]
    found["gemma-3-27b-nested"] = model(c, [heads(c, qk_norm=1) + swiglu(c, c["intermediate_size"])] * c["num_hidden_layers"], True, norms=4,
                                        pairs=10 * full() + 52 * window(1024))
    c = of("granite-4.0-h-small")
    moe = experts(c, 72, 768, 1536)
    found["granite-4.0-h-small"] = model(c, [moe + (heads(c) if kind == "attention" else mamba2_of(c)) for kind in c["layer_types"]], True, pairs=4 * full())
    c = of("internvl3-8b")["llm_config"]
    found["internvl3-8b"] = model(c, [heads(c, bias=1) + swiglu(c, c["intermediate_size"])] * 28, False)
    c = of("jamba-v0.1")
    found["jamba-v0.1"] = model(c, [(heads(c) if i % 8 == 4 else mamba(4096, 8192, 16, 256, 4, True)) + (experts(c, 16, 14336) if i % 2 else swiglu(c, 14336))
                                    for i in range(32)], False, pairs=4 * full())
    c = of("meta-llama--Llama-4-Scout-17B-16E-Instruct")["text_config"]
    found["meta-llama--Llama-4-Scout-17B-16E-Instruct"] = model(c, [heads(c) + experts(c, 16, 8192, 8192)] * 48, False,
                                                                pairs=12 * full() + 36 * chunks(8192))
    c = of("minimax-m1")
    found["minimax-m1"] = model(c, [experts(c, 32, 9216) + (heads(c) if attends else lightning(c)) for attends in c["attn_type_list"]], False,
                                pairs=10 * full())
    c = of("mistral-7b-v0.1")
    found["mistral-7b-v0.1"] = model(c, [heads(c) + swiglu(c, 14336)] * 32, False, pairs=32 * window(4096))
    c = of("openai--gpt-oss-120b")
    found["openai--gpt-oss-120b"] = model(c, [heads(c, bias=2) + 64 + experts(c, 128, 2880, bias=1)] * 36, False, pairs=18 * full() + 18 * window(128))
    c = of("smollm3-3b")
    found["smollm3-3b"] = model(c, [heads(c) + swiglu(c, 11008)] * 36, True)
    found.update(models_of_letters(of))
    found.update(other_models(json.loads((HERE / "other_models.json").read_text())))
    return found


def models_of_letters(of):
    """Models whose layers are a mixer or an MLP, and one whose window layers have key heads of their own."""
    found = {}
    c = of("nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16")
    h = c["hidden_size"]
    parts = {"M": nemotron_mamba(c), "*": heads(c), "E": 128 * mlp2(c, 1856) + 128 * h + 128 + mlp2(c, 3712)}
    found["nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"] = model(c, [parts[x] for x in c["hybrid_override_pattern"]], False, norms=1, pairs=6 * full())
    c = json.loads((HERE / "nvidia--Nemotron-H-56B-Base-8K.json").read_text())
    parts = {"M": nemotron_mamba(c), "*": heads(c, width=128), "-": mlp2(c, 32768)}
    found["nvidia--Nemotron-H-56B-Base-8K"] = model(c, [parts[x] for x in c["hybrid_override_pattern"]], False, norms=1, pairs=10 * full())
    c = of("XiaomiMiMo--MiMo-V2-Flash")
    def attention(kv):
        return c["hidden_size"] * (64 * 192 + kv * (192 + 128) + 64 * 128)
    layers = [(attention(8) + 64 if near else attention(4)) + (experts(c, 256, 2048) + 256 if moe else swiglu(c, 16384))
              for near, moe in zip(c["hybrid_layer_pattern"], c["moe_layer_freq"])]
    found["XiaomiMiMo--MiMo-V2-Flash"] = model(c, layers, False, pairs=9 * full() + 39 * window(128))
    return found


def other_models(of):
    found = {}
    c = of["qwen3-next-80b-a3b"]
    moe = experts(c, 512, 512, 512) + c["hidden_size"]
    found["qwen3-next-80b-a3b"] = model(c, [moe + (heads(c, qk_norm=1, gate=1) if i % 4 == 3 else delta_rule(c)) for i in range(48)], False, pairs=12 * full())
    c = of["kimi-linear-48b-a3b"]
    layers = [(latent(c) if i + 1 in c["linear_attn_config"]["full_attn_layers"] else kimi_delta(c)) +
              (experts(c, 256, 1024, 1024) + 256 if i else swiglu(c, 9216)) for i in range(27)]
    found["kimi-linear-48b-a3b"] = model(c, layers, False, pairs=7 * full())
    c = of["ring-mini-linear-2.0"]
    layers = [(heads(c, qk_norm=1) if i % 5 == 4 else lightning(c) + 2 * 128) + (experts(c, 256, 512, 512) + 256 if i else swiglu(c, 5120)) for i in range(20)]
    found["ring-mini-linear-2.0"] = model(c, layers, False, pairs=4 * full())
    c = of["bamba-9b"]
    found["bamba-9b"] = model(c, [(heads(c) if i in (9, 18, 27) else mamba2_of(c)) + swiglu(c, 14336) for i in range(32)], False, pairs=3 * full())
    c = of["mamba2-780m"]
    found["mamba2-780m"] = model(c, [mamba2(1536, 48, 64, 128, 1, 4)] * 48, True, norms=1, pairs=0)
    c = of["mamba-130m"]
    found["mamba-130m"] = model(c, [mamba(768, 1536, 16, 48, 4, False)] * 24, True, norms=1, pairs=0)
    c = of["minimax-m2"]
    found["minimax-m2"] = model(c, [heads(c) + (48 + 8) * 128 + experts(c, 256, 1536) + 256] * 62, False)
    c = of["exaone-4.0-32b"]
    found["exaone-4.0-32b"] = model(c, [heads(c, qk_norm=1) + swiglu(c, 27392)] * 64, False, pairs=16 * full() + 48 * window(4096))
    c = of["gemma-2-27b"]
    found["gemma-2-27b"] = model(c, [heads(c) + swiglu(c, 36864)] * 46, True, norms=4, pairs=23 * full() + 23 * window(4096))
    c = of["phi-3-mini-4k"]
    found["phi-3-mini-4k"] = model(c, [heads(c) + swiglu(c, 8192)] * 32, False, pairs=32 * window(2047))
    c = of["olmo-3-7b"]
    found["olmo-3-7b"] = model(c, [heads(c) + 2 * 4096 + swiglu(c, 11008)] * 32, False, pairs=8 * full() + 24 * window(4096))
    c = of["command-a"]
    found["command-a"] = model(c, [heads(c) + swiglu(c, 36864)] * 64, True, norms=1, pairs=16 * full() + 48 * window(4096))
    c = of["gpt-oss-20b"]
    found["gpt-oss-20b"] = model(c, [heads(c, bias=2) + 64 + experts(c, 32, 2880, bias=1)] * 24, False, pairs=12 * full() + 12 * window(128))
    return found


if __name__ == "__main__":
    print(json.dumps(counts(), indent=1, sort_keys=True))
