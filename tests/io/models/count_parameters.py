#!/usr/bin/env python3
"""Counts the parameters of the language models whose config.json files are here, weight by weight, norms and biases among
them, as the modules of transformers and of the models' own repositories have them. Shares no code with slimpack.

    python3 tests/io/models/count_parameters.py > tests/io/models/exact_parameters.json
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def heads(c, width=None, bias=0, qk_norm=0, gate=0):
    """Queries, keys, values and output of grouped attention; biases of the first three (1) or of all (2)."""
    h, q, kv = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
    d = width or c.get("head_dim") or h // q
    return h * d * (q * (2 + gate) + 2 * kv) + (bias > 0) * d * (q + 2 * kv) + (bias > 1) * h + qk_norm * 2 * d


def latent(c):
    """Multi-head latent attention with the norms of both ranks."""
    h, n, q, kv = c["hidden_size"], c["num_attention_heads"], c["q_lora_rank"], c["kv_lora_rank"]
    nope, rope, v = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    return h * q + q + q * n * (nope + rope) + h * (kv + rope) + kv + kv * n * (nope + v) + n * v * h


def indexer(c):
    """wq_b, wk with its layer norm, and the weights of heads."""
    n, d = c["index_n_heads"], c["index_head_dim"]
    return c["q_lora_rank"] * n * d + c["hidden_size"] * d + 2 * d + c["hidden_size"] * n


def swiglu(c, width):
    return 3 * c["hidden_size"] * width


def mamba2(c):
    h, inner = c["hidden_size"], c["mamba_expand"] * c["hidden_size"]
    convolved = inner + 2 * c["mamba_n_groups"] * c["mamba_d_state"]
    return h * (inner + convolved + c["mamba_n_heads"]) + convolved * (c["mamba_d_conv"] + 1) + 3 * c["mamba_n_heads"] + inner + inner * h


def mamba(c):
    h, inner, states, rank = c["hidden_size"], c["mamba_expand"] * c["hidden_size"], c["mamba_d_state"], -(-c["hidden_size"] // 16)
    norms = rank + 2 * states
    return h * 2 * inner + inner * (c["mamba_d_conv"] + 1) + inner * (rank + 2 * states) + rank * inner + inner + inner * states + inner + inner * h + norms


def delta_rule(c):
    h, value_heads = c["hidden_size"], c["linear_num_value_heads"]
    keys, values = c["linear_num_key_heads"] * c["linear_key_head_dim"], value_heads * c["linear_value_head_dim"]
    convolved = 2 * keys + values
    return h * (convolved + values + 2 * value_heads) + convolved * c["linear_conv_kernel_dim"] + 2 * value_heads + c["linear_value_head_dim"] + values * h


def model(c, layers, tied, norms=2):
    """The given weights of layers, norms of each, the last norm, embedding and head."""
    h = c["hidden_size"]
    return sum(layers) + norms * h * len(layers) + h + c["vocab_size"] * h * (1 if tied else 2)


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

    def deepseek(c, more=0):
        dense, n = c["first_k_dense_replace"], c["n_routed_experts"]
        mlps = [swiglu(c, c["intermediate_size"])] * dense
        mlps += [experts(c, n, c["moe_intermediate_size"], c["n_shared_experts"] * c["moe_intermediate_size"]) + n] * (c["num_hidden_layers"] - dense)
        return model(c, [latent(c) + more + mlp for mlp in mlps], False)

    found = {}
    for name in ("Qwen--Qwen3-30B-A3B", "Qwen--Qwen3-Coder-480B-A35B-Instruct"):
        found[name] = qwen3_moe(of(name))
    found["Qwen--Qwen3-8B"] = qwen3(of("Qwen--Qwen3-8B"))
    found["Qwen--Qwen3-VL-8B-Instruct"] = qwen3(of("Qwen--Qwen3-VL-8B-Instruct")["text_config"])
    found["moonshotai--Kimi-K2.5"] = deepseek(of("moonshotai--Kimi-K2.5")["text_config"])
    for name in ("deepseek-ai--DeepSeek-V3.2", "zai-org--GLM-5.1"):
        found[name] = deepseek(of(name), indexer(of(name)))

    c = of("Qwen--Qwen3.5-35B-A3B")["text_config"]
    moe = experts(c, c["num_experts"], c["moe_intermediate_size"], c["shared_expert_intermediate_size"]) + c["hidden_size"]
    found["Qwen--Qwen3.5-35B-A3B"] = model(c, [moe + (heads(c, qk_norm=1, gate=1) if kind == "full_attention" else delta_rule(c))
                                               for kind in c["layer_types"]], False)
    c = of("ernie-4.5-21b-a3b")
    moe = experts(c, 64, c["moe_intermediate_size"], 2 * c["moe_intermediate_size"]) + 64
    found["ernie-4.5-21b-a3b"] = model(c, [heads(c) + swiglu(c, c["intermediate_size"])] + [heads(c) + moe] * 27, True)
    c = of("gemma-3-27b-nested")["text_config"]
    found["gemma-3-27b-nested"] = model(c, [heads(c, qk_norm=1) + swiglu(c, c["intermediate_size"])] * c["num_hidden_layers"], True, norms=4)
    c = of("granite-4.0-h-small")
    moe = experts(c, 72, 768, 1536)
    found["granite-4.0-h-small"] = model(c, [moe + (heads(c) if kind == "attention" else mamba2(c)) for kind in c["layer_types"]], True)
    c = of("internvl3-8b")["llm_config"]
    found["internvl3-8b"] = model(c, [heads(c, bias=1) + swiglu(c, c["intermediate_size"])] * 28, False)
    c = of("jamba-v0.1")
    found["jamba-v0.1"] = model(c, [(heads(c) if i % 8 == 4 else mamba(c)) + (experts(c, 16, 14336) if i % 2 else swiglu(c, 14336)) for i in range(32)], False)
    c = of("meta-llama--Llama-4-Scout-17B-16E-Instruct")["text_config"]
    found["meta-llama--Llama-4-Scout-17B-16E-Instruct"] = model(c, [heads(c) + experts(c, 16, 8192, 8192)] * 48, False)
    c = of("minimax-m1")
    lightning = 5 * c["hidden_size"] * 64 * 128 + 64 * 128
    found["minimax-m1"] = model(c, [experts(c, 32, 9216) + (heads(c) if full else lightning) for full in c["attn_type_list"]], False)
    c = of("mistral-7b-v0.1")
    found["mistral-7b-v0.1"] = model(c, [heads(c) + swiglu(c, 14336)] * 32, False)
    c = of("openai--gpt-oss-120b")
    found["openai--gpt-oss-120b"] = model(c, [heads(c, bias=2) + 64 + experts(c, 128, 2880, bias=1)] * 36, False)
    c = of("smollm3-3b")
    found["smollm3-3b"] = model(c, [heads(c) + swiglu(c, 11008)] * 36, True)
    return found


if __name__ == "__main__":
    print(json.dumps(counts(), indent=1, sort_keys=True))
