"""The layouts of token files, by the names of the option ``layout``."""

from __future__ import annotations

from typing import Literal

from tokenizer_core.token_files.layouts.flat import Ds, Llmc, Memmap, NanoGpt
from tokenizer_core.token_files.layouts.layout import Layout
from tokenizer_core.token_files.layouts.megatron import Megatron
from tokenizer_core.token_files.layouts.samples import LitData, Mds
from tokenizer_core.token_files.layouts.tables import Arrow, Parquet

LayoutName = Literal["megatron", "ds", "memmap", "llmc", "nanogpt", "mds", "litdata", "parquet", "arrow"]

LAYOUTS: dict[LayoutName, Layout] = {
    "megatron": Megatron(),
    "ds": Ds(),
    "memmap": Memmap(),
    "llmc": Llmc(),
    "nanogpt": NanoGpt(),
    "mds": Mds(),
    "litdata": LitData(),
    "parquet": Parquet(),
    "arrow": Arrow(),
}
