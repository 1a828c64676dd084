"""Pack rows with TRL; run in its own environment."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import numpy as np


def work(lengths_file: str, most: str) -> dict[str, Any]:
    """Pack rows of the lengths in a file."""
    import pyarrow as pa
    import trl
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    sizes, length = np.load(lengths_file), int(most)
    offsets = np.concatenate([np.zeros(1, np.int64), sizes.cumsum()]).astype(np.int32)
    ids = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(offsets[-1], np.int32)))
    rows = Dataset(pa.table({"input_ids": ids}))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        packed = trl.pack_dataset(rows, length, "bfd", {"cache_file_name": f"{folder}/packed.arrow"})
        seconds = time.perf_counter() - start
        lengths = packed.data.column("seq_lengths")
        tokens = sum(int(np.asarray(chunk.values).sum()) for chunk in lengths.chunks)
    return {"version": trl.__version__, "seconds": seconds, "packs": len(packed), "tokens": tokens}
