"""A flat record of arrays, labels and texts as .mat, .npz or .json, bit for bit.

.mat    MATLAB file: matrices by name, labels as cell arrays of text; sparse matrices are read as well; 5 to 7.3, the
        last one with h5py
.npz    NumPy archive, without pickled objects
.json   one object; numbers with all their digits
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import DefinitionError, NotAvailable, did_you_mean, require
from ..model import FloatArray
from ..support.files import check_kind, reason_of, write_atomically
from .hdf5 import is_hdf5, read_hdf5
from .market import read_group
from .matfile import OtherVersion, read_mat

Value = FloatArray | list[str] | str | float
Record = dict[str, Value]


def suffix_of(path: Path) -> str:
    """Return ".mat", ".npz" or ".json", or raise `DefinitionError` that names them."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        hint = did_you_mean(suffix, _FORMATS)
        raise DefinitionError(f'"{path.name}": unknown file type "{suffix}"{hint}; use one of {", ".join(_FORMATS)}')
    return suffix


def write_record(path: str | Path, record: Mapping[str, Value]) -> Path:
    """Write the record in the format of the suffix; on failure nothing is left behind."""
    target = Path(path)
    content = record_bytes(suffix_of(target), record)
    return write_atomically(target, lambda stream: stream.write(content))


def record_bytes(suffix: str, record: Mapping[str, Value]) -> bytes:
    """Return the content of a file of the format of a suffix."""
    buffer = io.BytesIO()
    _FORMATS[suffix][0](buffer, record)
    return buffer.getvalue()


def read_record(path: str | Path) -> Record:
    """Read a record, or any .mat, .npz or .json file of matrices, or a group of .mtx files by one of them."""
    try:
        raw = read_raw(path)
        return {key: _real(value, key) if isinstance(value, np.ndarray) else value for key, value in raw.items()}
    except DefinitionError as error:
        named = str(error).startswith(str(path))
        raise DefinitionError(str(error) if named else f"{path}: {error}") from error


def read_raw(path: str | Path) -> dict[str, Any]:
    """Read the same with complex matrices as they are."""
    source = Path(path)
    if source.suffix.lower() == ".mtx":
        require(source.is_file(), f"cannot read {source}: there is no such file")
        return read_group(source)
    decode = _FORMATS[suffix_of(source)][1]
    device = source.is_char_device() or source.is_block_device()
    require(not device, f"{source}: a device, which has no end, and no file")
    try:
        data = source.read_bytes()
    except OSError as error:
        raise DefinitionError(f"cannot read {source}: {error.strerror or error}") from error
    try:
        check_kind(data, source.suffix.lower())
        return dict(decode(io.BytesIO(data)))
    except DefinitionError as error:
        raise DefinitionError(f"{source}: {error}") from error
    except NotAvailable as error:
        raise NotAvailable(f"{source}: {error}") from error
    except Exception as error:  # whatever a decoder raises on bytes that are not its own
        newer = isinstance(error, OtherVersion)
        hint = "MATLAB 4 files are not read, save with '-v7'" if newer else f"damaged, or not a {source.suffix} file"
        raise DefinitionError(f"{source}: {hint} ({reason_of(error)})") from error


def _write_mat(stream: IO[bytes], record: Mapping[str, Value]) -> None:
    from scipy.io import savemat

    def cells(labels: list[str]) -> np.ndarray[Any, Any]:
        column = np.empty((len(labels), 1), dtype=object)
        column[:, 0] = labels
        return column

    variables = {k: cells(v) if isinstance(v, list) else v for k, v in record.items()}
    made = io.BytesIO()
    savemat(made, variables, long_field_names=True, do_compression=True, oned_as="column")
    stream.write(undated(made.getvalue()))


def undated(content: bytes) -> bytes:
    """Return a .mat file whose head does not say when it was made: the same numbers give the same bytes."""
    return b"MATLAB 5.0 MAT-file, written by flexctl".ljust(116) + content[116:]


def _read_mat(stream: IO[bytes]) -> dict[str, Any]:
    data = stream.read()
    return dict(read_hdf5(data) if is_hdf5(data) else read_mat(data))


def _real(value: np.ndarray[Any, Any], key: str) -> FloatArray:
    require(
        value.dtype.kind != "c" or not np.any(value.imag),
        f"{key} is complex; plants are real. Of a stiffness with a loss factor give the real part as K and a damping D "
        "beside it; a measured response is one with omega, which fx.load_plant and identify.read_frf take",
    )
    return np.ascontiguousarray(value.real, dtype=float)


def _write_npz(stream: IO[bytes], record: Mapping[str, Value]) -> None:
    arrays: dict[str, Any] = {k: np.array(v, dtype=str) if isinstance(v, list) else v for k, v in record.items()}
    np.savez_compressed(stream, **arrays)


def _read_npz(stream: IO[bytes]) -> dict[str, Any]:
    with np.load(stream, allow_pickle=False) as data:
        return {key: _from_npz(data[key]) for key in data.files}


def _from_npz(value: np.ndarray[Any, Any]) -> Any:
    if value.dtype.kind == "U":
        return str(value) if value.ndim == 0 else [str(v) for v in value]
    require(value.dtype.kind in "fiubc", f"an array of type {value.dtype} is not a matrix of numbers")
    return value


def _write_json(stream: IO[bytes], record: Mapping[str, Value]) -> None:
    lines = []
    for key, value in record.items():
        plain = value.tolist() if isinstance(value, np.ndarray) else value
        try:
            lines.append(f"{json.dumps(key)}: {json.dumps(plain, allow_nan=False)}")
        except ValueError as error:
            raise DefinitionError(f"{key} has entries that are not finite and cannot be written as JSON") from error
    stream.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


def _read_json(stream: IO[bytes]) -> Record:
    content = json.loads(stream.read().decode())
    require(isinstance(content, dict), "the file does not hold one JSON object")
    if isinstance(content.get("columns"), dict):  # a table (`support.tabular`): what it is and its units are mappings
        told = {key: json.dumps(content.get(key, {})) for key in ("about", "units")}
        content = {**content["columns"], **told}
    return {str(k): v if isinstance(v, str) else _from_json(str(k), v) for k, v in content.items()}


def _from_json(key: str, value: Any) -> Value:
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return value
    try:
        return np.asarray(value, dtype=float)
    except (ValueError, TypeError) as error:
        raise DefinitionError(f'"{key}" is not a matrix of numbers: {error}') from error


_Codec = tuple[Callable[[IO[bytes], Mapping[str, Value]], None], Callable[[IO[bytes]], Mapping[str, Any]]]
_FORMATS: dict[str, _Codec] = {
    ".mat": (_write_mat, _read_mat),
    ".npz": (_write_npz, _read_npz),
    ".json": (_write_json, _read_json),
}
