"""Models: Transformer and recurrent encoder–decoders, the language model, the masked one."""
