"""Groups of arrays that compiled code hands on as one pointer.

numba hands a NamedTuple on by value: one of twenty arrays is 150 arguments, which are taken apart before every call and
put together after it. That was four fifths of the code of a time loop. A `Group` has the same names in Python and in
compiled code, and is one pointer to a row of words of eight bytes:

    number            its value
    function          where it begins (`pointers.Pointer`)
    array             where its data begin, its lengths, and its strides unless it is contiguous
    another group     a pointer to its row

The row is written where Python calls, and nobody changes it afterwards: what is loaded from it once need not be loaded
again (`invariant.load`), so a loop pays nothing. For the same reason compiled code cannot make a group; a NamedTuple
that it makes is numba's own, by value.
"""

from __future__ import annotations

import hashlib
import operator
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.extending import NativeValue, register_model, typeof_impl, unbox
from numba.np.numpy_support import as_dtype

WORD = ir.IntType(64)
ROW = WORD.as_pointer()


class Group(types.NamedTuple):  # type: ignore[misc]
    """The type of a NamedTuple of 64-bit numbers, booleans, functions, arrays and groups.

    Parameters
    ----------
    fields : tuple of numba types
        Types of its fields.
    kind : type
        The NamedTuple.
    """

    def __init__(self, fields: tuple[Any, ...], kind: type) -> None:
        super().__init__(fields, kind)
        what = hashlib.sha256(f"{kind.__module__} {self.name}".encode()).hexdigest()
        self.name: str = f"{kind.__name__}_{what[:12]}"

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Name in machine code."""
        return self.name, ()

    def place(self, index: int) -> int:
        """Return where a field begins, in words."""
        return sum(_words(field) for field in self.types[:index])


def group(fields: tuple[Any, ...], kind: type) -> Group:
    """Return the type of a NamedTuple that compiled code hands on as a pointer.

    Parameters
    ----------
    fields : tuple of numba types
        Types of its fields, in order.
    kind : type
        The NamedTuple; from now on Python hands it to compiled code as a group.
    """
    for field in fields:
        _words(field)
    typeof_impl.register(kind)(_type_of)
    return Group(tuple(fields), kind)


def _type_of(value: Any, context: Any) -> Group:
    return Group(tuple(typeof_impl(field, context) for field in value), type(value))


def _words(field: Any) -> int:
    if isinstance(field, types.Array):
        return 1 + int(field.ndim) * (1 if field.layout == "C" else 2)
    if isinstance(field, Group | types.FunctionType) or field in (types.float64, types.int64, types.boolean):
        return 1
    raise TypeError(f"a group cannot hold {field}: 64-bit numbers, booleans, functions, arrays and groups")


class Row:
    """The row of a group, for compiled code that hands on where it begins without knowing more of it.

    Parameters
    ----------
    value : NamedTuple
        The group. Its arrays are kept as long as the row is.
    kind : Group
        Its type.

    Attributes
    ----------
    begin : int
        Address of the row.

    Raises
    ------
    TypeError
        If an array is not as the type says.
    """

    def __init__(self, value: Any, kind: Group) -> None:
        words: list[int] = []
        inner: list[Row] = []
        for item, field, dtype in zip(value, kind.types, _dtypes(kind), strict=True):
            if isinstance(field, types.Array):
                if item.dtype != dtype or item.ndim != field.ndim or not (item.flags.carray or field.layout != "C"):
                    raise TypeError(f"{type(value).__name__}: an array of {item.dtype}{item.shape}, not {field}")
                words += [item.ctypes.data, *item.shape, *(() if field.layout == "C" else item.strides)]
            elif isinstance(field, Group):
                inner.append(Row(item, field))
                words.append(inner[-1].begin)
            else:
                words.append(int(np.float64(item).view(np.int64)) if field == types.float64 else int(item))
        row = np.array(words, np.int64)
        self.begin: int = int(row.ctypes.data)
        self.kept = row, value, *inner


_known: dict[int, tuple[Group, tuple[Any, ...]]] = {}
"""By the identity of a group, which is kept with it: its hash is that of all its fields, made anew every time."""


def _dtypes(kind: Group) -> tuple[Any, ...]:
    """Return what the entries of the arrays of a group are."""
    if id(kind) not in _known:
        found = tuple(as_dtype(field.dtype) if isinstance(field, types.Array) else None for field in kind.types)
        _known[id(kind)] = kind, found
    return _known[id(kind)][1]


@register_model(Group)
class _Row(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, group_type: Group) -> None:
        super().__init__(manager, group_type, ROW)


@lower_getattr_generic(Group)
def _attribute(context: Any, builder: Any, typ: Group, row: Any, name: str) -> Any:
    return _load(context, builder, row, typ.place(typ.fields.index(name)), typ[typ.fields.index(name)])


@lower_builtin("static_getitem", Group, types.IntegerLiteral)
@lower_builtin(operator.getitem, Group, types.IntegerLiteral)
def _item(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    typ, index = sig.args[0], sig.args[1].literal_value % len(sig.args[0])
    return _load(context, builder, args[0], typ.place(index), typ[index])


def _load(context: Any, builder: Any, row: Any, place: int, field: Any) -> Any:
    if isinstance(field, types.Array):
        return _array(context, builder, row, place, field)
    if isinstance(field, types.FunctionType):
        function = cgutils.create_struct_proxy(field)(context, builder)
        function.jit_addr = _word(builder, row, place, cgutils.voidptr_t)
        return function._getvalue()
    if field == types.boolean:
        return builder.trunc(_word(builder, row, place, WORD), ir.IntType(1))
    return _word(builder, row, place, context.get_value_type(field))


def _array(context: Any, builder: Any, row: Any, place: int, field: Any) -> Any:
    """Return numba's array: memory that it does not own, entries, their size, data, lengths, strides."""
    whole = context.get_value_type(field)
    size = context.get_abi_sizeof(context.get_data_type(field.dtype))
    data = _word(builder, row, place, whole.elements[4])
    lengths = [_word(builder, row, place + 1 + i, WORD) for i in range(field.ndim)]
    if field.layout == "C":
        strides = [ir.Constant(WORD, size)]
        for length in lengths[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
    else:
        strides = [_word(builder, row, place + 1 + field.ndim + i, WORD) for i in range(field.ndim)]
    number = ir.Constant(WORD, 1) if not lengths else lengths[0]
    for length in lengths[1:]:
        number = builder.mul(number, length)
    empty = [ir.Constant(whole.elements[0], None), ir.Constant(whole.elements[1], None)]
    unknown = [ir.Constant(kind, ir.Undefined) for kind in whole.elements[2:]]
    unknown[1] = ir.Constant(WORD, size)
    array = ir.Constant(whole, empty + unknown)
    for i, value in ((2, number), (4, data)):
        array = builder.insert_value(array, value, i)
    for i in range(field.ndim):
        array = builder.insert_value(array, lengths[i], (5, i))
        array = builder.insert_value(array, strides[i], (6, i))
    return array


def _word(builder: Any, row: Any, place: int, kind: Any) -> Any:
    where = builder.gep(row, [ir.Constant(ir.IntType(32), place)], inbounds=True) if place else row
    word = builder.load(where if kind == WORD else builder.bitcast(where, kind.as_pointer()))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@unbox(Group)
def _unbox(typ: Group, value: Any, c: Any) -> NativeValue:
    """Write the row; on errors the exception is set."""
    builder = c.builder
    row = cgutils.alloca_once(builder, WORD, size=ir.Constant(ir.IntType(32), typ.place(len(typ))))
    wrong = cgutils.alloca_once_value(builder, cgutils.false_bit)
    size = c.pyapi.tuple_size(value)
    fits = builder.icmp_unsigned("==", size, ir.Constant(size.type, len(typ)))
    with builder.if_then(builder.not_(fits), likely=False):
        c.pyapi.err_format("PyExc_ValueError", f"{typ.instance_class.__name__} of %zd fields, not {len(typ)}", size)
        builder.store(cgutils.true_bit, wrong)
    cleanups = []
    for i, field in enumerate(typ):
        number = types.int64 if isinstance(field, types.FunctionType) else field
        native = c.unbox(number, c.pyapi.tuple_getitem(value, i))
        with builder.if_then(native.is_error, likely=False):
            builder.store(cgutils.true_bit, wrong)
        _store(builder, row, typ.place(i), field, native.value)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)

    def cleanup() -> None:
        for done in reversed(cleanups):
            done()

    # LLVM takes the loads for independent of every store and could move them before the stores, but not before this
    safe = builder.asm(ir.FunctionType(ROW, (ROW,)), "", "=r,0,~{memory}", (row,), side_effect=True)
    return NativeValue(safe, cleanup=cleanup if cleanups else None, is_error=builder.load(wrong))


def _store(builder: Any, row: Any, place: int, field: Any, value: Any) -> None:
    if isinstance(field, types.Array):
        words = [builder.extract_value(value, 4)]
        for part in (5, 6)[: 1 if field.layout == "C" else 2]:
            words += [builder.extract_value(value, (part, i)) for i in range(field.ndim)]
    else:
        words = [builder.zext(value, WORD) if field == types.boolean else value]
    for i, word in enumerate(words):
        where = builder.gep(row, [ir.Constant(ir.IntType(32), place + i)], inbounds=True)
        builder.store(word, builder.bitcast(where, word.type.as_pointer()))
