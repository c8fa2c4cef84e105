"""Numeric calls of a function. The first call of `f(q, v)` goes through

    Function.__call__           keywords and options; numbers or CasADi symbols?
    NumericCall.__call__        arguments become arrays, results are allocated; one sample or a batch?
    best_evaluator              once: compiled code, or CasADi's virtual machine
    CompiledEvaluator           compiles and loads the code for one sample, or for batches, when first needed;
                                BackgroundEvaluator, VirtualMachineEvaluator: the alternatives
    Kernel                      the loaded code: of the C extension (build/runtime/binding.c), or by ctypes

and then gives the function a class whose `__call__` is a C function (`Function._enable_direct_calls`). Later
calls with float64 arrays of the right shapes go from Python's interpreter to that C function and to the
kernel, without any of the steps above; all other calls (lists, keywords, symbols) take them as before.
"""
