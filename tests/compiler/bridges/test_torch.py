"""Properties of the PyTorch bridge alone: forward derivatives, gradcheck, numbers of a list."""

from __future__ import annotations

import numpy as np
import pytest

import helicoid as hc

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'helicoid[torch]'")


def test_its_own_check_of_first_and_second_gradients() -> None:
    robot, rng = hc.serial_chain(2), np.random.default_rng(0)
    q, v, a = (torch.tensor(x, requires_grad=True) for x in rng.normal(size=(3, 3, 2)))
    shared = torch.tensor(rng.normal(size=2), requires_grad=True)
    g = robot.inverse_dynamics.torch()
    assert torch.autograd.gradcheck(g, (q, v, a), check_forward_ad=True)
    assert torch.autograd.gradcheck(g, (q, v, shared), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(g, (q, v, shared))


def test_forward_derivatives_and_hessians_of_torch_func() -> None:
    robot, rng = hc.serial_chain(2), np.random.default_rng(1)
    q, dq = rng.normal(size=(2, 5, 2))
    g = robot.gravity.torch()
    _, slope = torch.func.jvp(g, (torch.tensor(q),), (torch.tensor(dq),))
    np.testing.assert_allclose(slope, robot.gravity.jvp()(q, dq), rtol=1e-12)
    energy = robot.potential_energy
    hessian = torch.func.hessian(energy.torch())(torch.tensor(q[0]))
    np.testing.assert_allclose(hessian, energy.hessian()(q[0]), rtol=1e-11, atol=1e-12)


def test_gradients_twice_and_of_what_was_overwritten() -> None:
    robot, rng = hc.serial_chain(2), np.random.default_rng(2)
    g = robot.inverse_dynamics.torch()
    values = rng.normal(size=(3, 4, 2))
    xs = [torch.tensor(x, requires_grad=True) for x in values]
    y = g(*xs)
    weights = torch.ones_like(y)
    for _ in range(2):
        found = torch.autograd.grad(y, xs, weights, retain_graph=True)
        for one, ours in zip(found, robot.inverse_dynamics.vjp()(*values, np.ones((4, 2))), strict=True):
            np.testing.assert_allclose(one, ours, rtol=1e-12, atol=1e-12)
    with torch.no_grad():
        xs[0].zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(g(*xs[:2], xs[2]).sum() + y.sum(), xs)


def test_without_gradients_nothing_is_recorded() -> None:
    g, x = hc.serial_chain(2).gravity.torch(), torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    assert g(x).requires_grad and not g(x.detach()).requires_grad
    with torch.no_grad():
        assert not g(x).requires_grad


def test_numbers_of_a_list_are_not_rounded() -> None:
    robot = hc.serial_chain(2)
    np.testing.assert_array_equal(robot.gravity.torch()([0.1, 0.2]), robot.gravity([0.1, 0.2]))


def test_results_are_not_overwritten_by_the_next_call() -> None:
    g = hc.serial_chain(2).gravity.torch()
    first = g([0.1, 0.2])
    before = first.clone()
    g([0.5, 0.6])
    assert torch.equal(first, before)


def test_another_device_is_refused_in_words() -> None:
    with pytest.raises(hc.HelicoidError, match=r"is on meta; functions compute on the CPU: pass q.cpu\(\)"):
        hc.serial_chain(2).gravity.torch()(torch.zeros(2, device="meta"))
