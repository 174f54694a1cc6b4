"""Writes a tiny Llama with random weights as GGUF: `tiny_llama.py FILE`. Its tokens are bytes, so that it reads every text."""

import sys

import gguf
import numpy

CONTEXT, WIDTH, LAYERS, HEADS, INNER = 8192, 128, 4, 4, 256
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{value:02X}>" for value in range(256)]
# Any answer of such a model is noise. It gets letters and spaces as tokens of their own, so that some of it can be read.
LETTERS = ["\u2581", *"abcdefghijklmnopqrstuvwxyz"]
TOKENS = SPECIAL + BYTES + LETTERS
TYPES = (
    [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    + [gguf.TokenType.BYTE] * len(BYTES)
    + [gguf.TokenType.NORMAL] * len(LETTERS)
)
CHAT = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"


def write(path):
    draws = numpy.random.default_rng(7)
    out = gguf.GGUFWriter(path, "llama")

    def weights(name, *shape):
        out.add_tensor(name, (draws.standard_normal(shape) / shape[-1] ** 0.5).astype(numpy.float32))

    def ones(name):
        out.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(TOKENS))
    out.add_tokenizer_model("llama")
    out.add_token_list(TOKENS)
    out.add_token_scores([0.0] * len(TOKENS))
    out.add_token_types(TYPES)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_chat_template(CHAT)

    weights("token_embd.weight", len(TOKENS), WIDTH)
    weights("output.weight", len(TOKENS), WIDTH)
    ones("output_norm.weight")
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            weights(f"{block}.{part}.weight", WIDTH, WIDTH)
        weights(f"{block}.ffn_gate.weight", INNER, WIDTH)
        weights(f"{block}.ffn_up.weight", INNER, WIDTH)
        weights(f"{block}.ffn_down.weight", WIDTH, INNER)
        ones(f"{block}.attn_norm.weight")
        ones(f"{block}.ffn_norm.weight")
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


write(sys.argv[1])
