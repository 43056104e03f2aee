"""MATLAB 7.3 files, which are HDF5: matrices, sparse matrices, texts, cells of texts; h5py reads them if it is there.

A dataset holds a matrix transposed; its class stands in the attribute MATLAB_class, texts are numbers of characters, a
cell is a dataset of references, a sparse matrix a group of data, ir and jc. Structs, objects and functions are skipped.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from ..errors import NotAvailable
from .matfile import Array, Content

SIGNATURE = b"\x89HDF\r\n\x1a\n"
NUMBERS = ("double", "single", "logical", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)))


def is_hdf5(data: bytes) -> bool:
    """Whether a file is HDF5, with or without the block of MATLAB in front."""
    return any(data[at : at + 8] == SIGNATURE for at in (0, 512, 1024, 2048))


def read_hdf5(data: bytes) -> dict[str, Content]:
    """Return the variables of a MATLAB 7.3 file.

    Raises
    ------
    NotAvailable
        Without h5py.
    ValueError
        For anything that is not such a file.
    """
    try:
        import h5py
    except ImportError as error:
        raise NotAvailable(
            "MATLAB 7.3 files are HDF5: install h5py (pip install flexctl[hdf5]), or save with '-v7'"
        ) from error
    found: dict[str, Content] = {}
    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            for name, item in file.items():
                content = None if name.startswith("#") else _variable(file, item)
                if content is not None:
                    found[str(name)] = content
    except (OSError, KeyError, RuntimeError, TypeError, IndexError) as error:
        raise ValueError(f"a damaged HDF5 file: {error}") from error
    return found


def _variable(file: Any, item: Any) -> Content | None:
    """Return a variable, None for kinds that are not read."""
    kind = _kind(item)
    if "MATLAB_sparse" in item.attrs:
        return _sparse(item)
    if not hasattr(item, "shape"):  # a group: a struct
        return None
    if item.attrs.get("MATLAB_empty", 0):
        return "" if kind == "char" else np.zeros(tuple(int(n) for n in np.ravel(item[()]))[:2])
    if kind == "char":
        return _text(item[()])
    if kind == "cell":
        return _cells(file, item[()])
    if kind in NUMBERS or (not kind and item.dtype.kind in "fiub"):
        return _numbers(item[()])
    return None


def _kind(item: Any) -> str:
    raw = item.attrs.get("MATLAB_class", b"")
    return raw.decode() if isinstance(raw, bytes) else str(raw)


def _numbers(raw: Any) -> Array:
    value = np.asarray(raw)
    if value.dtype.names == ("real", "imag"):
        value = value["real"] + 1j * value["imag"]
    return np.ascontiguousarray(value.T)


def _text(raw: Any) -> str:
    codes = np.asarray(raw).T
    if codes.ndim == 2 and codes.shape[0] > 1:  # several rows: one text each, blanks at the end left out
        return "\n".join(_text(row[:, None]).rstrip() for row in codes)
    return np.asarray(codes, np.uint16).ravel().tobytes().decode("utf-16-le", "replace")


def _cells(file: Any, references: Any) -> list[str] | None:
    """Return a cell of texts, None for one of anything else."""
    texts = [_variable(file, file[ref]) for ref in np.asarray(references).T.ravel(order="F")]
    return [str(text) for text in texts] if all(isinstance(text, str) for text in texts) else None


def _sparse(item: Any) -> Array:
    rows, starts = int(item.attrs["MATLAB_sparse"]), np.asarray(item["jc"], np.int64)
    found = np.zeros((rows, starts.size - 1))
    if "data" not in item:  # nothing but zeros
        return found
    values, at = _numbers(item["data"][()]), np.asarray(item["ir"], np.int64)
    column = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    if np.iscomplexobj(values):
        found = found.astype(complex)
    found[at, column] = values
    return found
