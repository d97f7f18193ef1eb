"""Run all examples."""

from __future__ import annotations

from examples import bigram, gpt, int8, mlp, rnn

for example in (int8, bigram, mlp, rnn, gpt):
    print(example.run(), flush=True)
