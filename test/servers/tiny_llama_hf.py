"""Writes a tiny Llama with random weights in the layout of Hugging Face: `tiny_llama_hf.py FOLDER`. Its tokens are bytes."""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHAT = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
SPECIAL = ["<unk>", "<s>", "</s>"]


def main(folder):
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: at for at, token in enumerate([*SPECIAL, *letters])}
    bytes_alone = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_alone, unk_token="<unk>", bos_token="<s>", eos_token="</s>", chat_template=CHAT
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=8192,
        initializer_range=0.3,
        bos_token_id=1,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)


main(sys.argv[1])
