"""An order of a program's values in which fewer of them are needed at the same time.

A processor has 16 or 32 registers; what is computed long before its last use occupies memory meanwhile. Two
orders are tried: the given one, and depth first from the outputs, the deepest output and the deepest argument
first. Each is then improved once: a tree of operations (values that are used once, and their
root) that ends as many lifetimes as it begins is computed as soon as possible. The best order is taken. The
time grows as n log n, because of a heap.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from helicoid.compiler.code.program import Program, reordered


def shortened(program: Program) -> Program:
    """The same program with its values in an order that shortens their lifetimes.

    >>> import casadi as ca
    >>> x = ca.SX.sym("x", 40)
    >>> one, other = ca.exp(x), ca.sqrt(x)
    >>> program = Program.from_casadi(ca.Function("f", [x], [one * other, one + other]))
    >>> lives(program), lives(shortened(program))
    (50.0, 1.25)
    """
    given = list(range(len(program.values)))
    orders = given, _eager(program, given), _eager(program, _depth_first(program))
    best = min(orders, key=lambda order: _total_age(program, order))
    return program if best is given else reordered(program, best)


def lives(program: Program) -> float:
    """Mean number of live values, over the operations."""
    return _total_age(program, range(len(program.values))) / max(1, program.n_operations)


def _total_age(program: Program, order: Sequence[int]) -> int:
    """The sum over all computed values of the positions from their operation to their last use."""
    values, is_computed = program.values, program.is_computed
    begin, end = [0] * len(values), [0] * len(values)
    for position, number in enumerate(order):
        begin[number] = end[number] = position
        for argument in values[number].arguments:
            end[argument] = position
    return sum([end[number] - begin[number] for number in order if is_computed[number]])


def _depth_first(program: Program) -> list[int]:
    values = program.values
    depth: list[int] = []
    for value in values:
        depth.append(1 + max([depth[argument] for argument in value.arguments], default=0))
    is_computed = program.is_computed
    order = [n for n in range(len(values)) if not is_computed[n]]
    seen = set(order)
    results = [number for output in program.outputs for number in output]
    stack = sorted(results, key=depth.__getitem__)  # of equally deep ones the last goes first
    while stack:
        number = stack[-1]
        missing = [argument for argument in values[number].arguments if argument not in seen]
        if missing and number not in seen:
            stack.extend(sorted(missing, key=depth.__getitem__))
            continue
        stack.pop()
        if number not in seen:
            seen.add(number)
            order.append(number)
    return order


@dataclass(slots=True)
class _ExpressionTree:
    """Values that are computed together, and their state while an order is built."""

    members: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)  # roots of other trees
    users: list[int] = field(default_factory=list)
    missing: int = 0  # how many of `reads` are not yet computed
    waiting: int = 0  # how many of `users` are not yet computed


def _trees(program: Program, order: Sequence[int]) -> dict[int, _ExpressionTree]:
    """By their roots, in an order in which each comes after what it reads."""
    count = [0] * len(program.values)
    user = [0] * len(program.values)
    values = program.values
    for number in order:
        arguments = values[number].arguments
        for argument in arguments if len(arguments) < 2 else {*arguments}:
            count[argument] += 1
            user[argument] = number
    for output in program.outputs:
        for number in output:
            count[number] = 0  # an output is the root of its tree
    root = list(range(len(program.values)))
    for number in reversed(order):
        if count[number] == 1 and values[number].operation not in ("sin", "cos"):
            root[number] = root[user[number]]
    trees: dict[int, _ExpressionTree] = {}
    is_computed = program.is_computed
    for number in order:
        if is_computed[number]:
            head = root[number]
            if head not in trees:
                trees[head] = _ExpressionTree()
            trees[head].members.append(number)
    for head, tree in trees.items():
        read = dict.fromkeys([a for member in tree.members for a in values[member].arguments])
        tree.reads = [a for a in read if is_computed[a] and root[a] != head]
        tree.missing = len(tree.reads)
        for argument in tree.reads:
            trees[argument].users.append(head)
            trees[argument].waiting += 1
    return {number: trees[number] for number in order if number in trees}


def _eager(program: Program, order: Sequence[int]) -> list[int]:
    """The order of trees, except that trees which do not add live values come as soon as possible."""
    trees = _trees(program, order)
    place = {head: k for k, head in enumerate(trees)}
    is_computed = program.is_computed
    result = [number for number in order if not is_computed[number]]
    done: set[int] = set()
    eager: list[tuple[int, int, int]] = []

    def consider(head: int) -> None:
        tree = trees[head]
        if head not in done and tree.missing == 0:
            growth = bool(tree.users) - sum([trees[argument].waiting == 1 for argument in tree.reads])
            if growth <= 0:
                heapq.heappush(eager, (growth, place[head], head))

    for first in trees:
        heapq.heappush(eager, (0, place[first], first))
        while eager:
            head = heapq.heappop(eager)[2]
            if head in done:
                continue
            done.add(head)
            result.extend(trees[head].members)
            for user in trees[head].users:
                trees[user].missing -= 1
            affected = list(trees[head].users)
            for argument in trees[head].reads:
                trees[argument].waiting -= 1
                if trees[argument].waiting == 1:  # its last user ends its lifetime
                    affected.extend(trees[argument].users)
            for head in affected:
                consider(head)
    return result
