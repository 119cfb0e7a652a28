# SPDX-License-Identifier: MIT
"""What calls cost on a CUDA device, beside PyTorch, and the bars. gpu.py runs this program."""

import functools
import time

import numpy as np

import tally
from gpu import Capsules


def microseconds(wait, *calls):
    """The time of each call, the least of ten means. The calls take turns, so that what else the
    machine does meets them all."""
    means = [[] for _ in calls]
    for turn in range(11):
        for call, of_call in zip(calls, means):
            wait()
            begin = time.perf_counter()
            for _ in range(200):
                call()
            if turn:
                of_call.append((time.perf_counter() - begin) / 200 * 1e6)
    return [min(of_call) for of_call in means]


def milliseconds(call, wait):
    """The time of a call and of what it enqueues, the mean of ten."""
    call()
    wait()
    begin = time.perf_counter()
    for _ in range(10):
        call()
    wait()
    return (time.perf_counter() - begin) / 10 * 1e3


def report(what, figure, unit, least=None, most=None, more=""):
    """Prints a figure, its bar and whether it is met."""
    bar = ""
    if least is not None or most is not None:
        is_met = figure >= least if least is not None else figure <= most
        bar = f"bar: at {f'least {least}' if least is not None else f'most {most}'}, {'met' if is_met else 'MISSED'}"
    print(f"{what:52} {figure:8.2f} {unit:6} {bar:28} {more}", flush=True)


def calls(torch):
    """What calls cost beside the C call that they make."""
    from tally._dlpack import table_of

    x, wait = torch.ones((1000, 32), device="cuda"), torch.cuda.synchronize
    plan = tally.Plan("sum", x, axis=1)
    mask, host = x > 0, np.ones((1000, 32), "f4")
    lib, bound = tally._library.lib, plan._bound
    assert tally.sum(x, axis=1).tolist() == [32] * 1000
    c_call, of_plan, ours, theirs, masked, running, by_capsules = microseconds(
        wait,
        lambda: lib.tally_python_run(bound),
        plan,
        functools.partial(tally.sum, x, axis=1),
        functools.partial(torch_rows, x),
        functools.partial(tally.sum, x, axis=1, where=mask),
        functools.partial(tally.cumulative_sum, x, axis=1),
        lambda: tally.sum(Capsules(x), axis=1),
    )
    report("the C call of a bound plan", c_call, "us")
    report("plan(), beyond the C call", of_plan - c_call, "us", most=2)
    has_exchange = bool(table_of(torch.Tensor))
    report("tally.sum(x, axis=1), beyond the C call", ours - c_call, "us", most=6 if has_exchange else 15)
    report("tally.sum(x, axis=1)", ours, "us", more=f"torch.sum(x, dim=1) {theirs:.2f} us")
    report("tally.sum(x, axis=1, where=mask)", masked, "us")
    report("tally.cumulative_sum(x, axis=1)", running, "us")
    report("tally.sum by DLPack alone", by_capsules, "us")
    with tally.Context("host"):
        report("tally.sum(NumPy array, axis=1) by host", *microseconds(wait, lambda: tally.sum(host, axis=1)), "us")


def torch_rows(x):
    return x.sum(dim=1)


def speed():
    """Prints the figures, with their bars."""
    import torch

    if not torch.cuda.is_available():
        print("no speeds: PyTorch sees no CUDA device")
        return

    print(f"\n{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, tally {tally.__version__}")
    calls(torch)
    wait = torch.cuda.synchronize
    for shape, dtype, axis, bar in (
        ((1 << 23, 32), torch.float32, 1, 4),
        ((1 << 30,), torch.int8, 0, 15),
        ((1 << 26, 4), torch.bfloat16, 1, 5),
    ):
        y = torch.ones(shape, device="cuda", dtype=dtype)
        total = tally.sum(y, axis=axis)
        assert bool((total == y.shape[axis]).all())
        ours = milliseconds(lambda: tally.sum(y, axis=axis), wait)
        theirs = milliseconds(lambda: torch.sum(y, dim=axis), wait)
        what = f"{dtype} {'x'.join(map(str, shape))} along axis {axis}"
        report(what, theirs / ours, "times", least=bar, more=f"tally {ours:.3f} ms, torch {theirs:.3f} ms")
        del y, total


if __name__ == "__main__":
    speed()
