/* The extension that calls compiled kernels from Python: the type Kernel, and direct calls of functions.

   Compiled once for each Python, NumPy, compiler and processor; independent of the kernels. */
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <Python.h>
#include <structmember.h>

#include "binding_arrays.h"
#include "binding_iterate.h"
#include "binding_kernel.h"

enum { RELEASE_OPERATIONS = 50000 }; /* below (about 10 us) releasing the GIL costs more time than it saves */

static PyTypeObject Kernel_Type;
static PyObject *out_string;          /* "out" */
static Py_ssize_t kernel_offset = -1; /* of the slot `_kernel` in a function; the same for all */
static int n_threads = 1;             /* the most that a batch uses */

/* Compute one sample (n < 0) or n samples; every pointer has been checked. -1 and an exception, or 0. */
static int run(Kernel *kernel, const double *const *in, const ptrdiff_t *stride, double *const *out,
               npy_intp n) {
  int status;
  const helicoid_kernel *code = n < 0 ? kernel->scalar : kernel->batch;
  if ((n < 0 ? 1.0 : (double)n) * (double)code->operations < RELEASE_OPERATIONS) {
    status = n < 0 ? run_scalar(code, in, out) : run_batch(code, in, stride, out, n, 1);
  } else {
    int most = n_threads;
    Py_BEGIN_ALLOW_THREADS
    status = n < 0 ? run_scalar(code, in, out) : run_batch(code, in, stride, out, n, most);
    Py_END_ALLOW_THREADS
  }
  if (status < 0) PyErr_NoMemory();
  return status;
}

/* ---- direct calls ---------------------------------------------------------------------------------- */

/* The result, NULL with an exception, or a borrowed NotImplemented if the method in Python has to answer. */
static PyObject *call_kernel(Kernel *kernel, PyObject *args, PyObject *kwargs) {
  PyObject *target = NULL;
  if (PyTuple_GET_SIZE(args) != kernel->n_in) return Py_NotImplemented;
  if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
    target = PyDict_GetItemWithError(kwargs, out_string);
    if (target == NULL) return PyErr_Occurred() ? NULL : Py_NotImplemented;
    if (PyDict_GET_SIZE(kwargs) > 1) return Py_NotImplemented;
    if (target == Py_None) target = NULL;
  }
  const double *data[kernel->n_in + 1];
  ptrdiff_t stride[kernel->n_in + 1];
  double given[kernel->n_in + 1];
  double *out[kernel->n_out];
  Inputs inputs = {data, stride, given, -1};
  if (!read_inputs(kernel, ((PyTupleObject *)args)->ob_item, &inputs)) return Py_NotImplemented;
  if ((inputs.n < 0 ? kernel->scalar : kernel->batch) == NULL) return Py_NotImplemented;
  if (target == NULL) {
    PyObject *results[kernel->n_out];
    double numbers[kernel->n_out];
    if (make_results(kernel, inputs.n, results, numbers, out) < 0) return NULL;
    if (run(kernel, data, stride, out, inputs.n) < 0) {
      for (Py_ssize_t k = 0; k < kernel->n_out; k++) Py_XDECREF(results[k]);
      return NULL;
    }
    return pack_results(kernel, results, numbers);
  }
  PyObject *const *targets = &target;
  if (PyTuple_CheckExact(target)) {
    if (PyTuple_GET_SIZE(target) != kernel->n_out) return Py_NotImplemented;
    targets = ((PyTupleObject *)target)->ob_item;
  } else if (kernel->n_out != 1) {
    return Py_NotImplemented;
  }
  if (!read_targets(kernel, targets, &inputs, inputs.n, out)) return Py_NotImplemented;
  Py_INCREF(target);
  if (run(kernel, data, stride, out, inputs.n) < 0) Py_CLEAR(target);
  return target;
}

static PyObject *fast_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  PyObject *kernel = *(PyObject **)((char *)self + kernel_offset);
  if (kernel != NULL && Py_TYPE(kernel) == &Kernel_Type) {
    Py_INCREF(kernel); /* another thread may replace the kernel of the function meanwhile */
    PyObject *result = call_kernel((Kernel *)kernel, args, kwargs);
    Py_DECREF(kernel);
    if (result != Py_NotImplemented) return result;
  }
  PyTypeObject *type = Py_TYPE(self);
  while (type->tp_call == fast_call) type = type->tp_base;
  return type->tp_call(self, args, kwargs);
}

PyDoc_STRVAR(install_fast_call_doc,
             "install_fast_call(subclass)\n\nMake instances of this class, which adds nothing to a class "
             "with a slot `_kernel` and a\nmethod `__call__`, try the kernel in that slot before the method.");

static PyObject *install_fast_call(PyObject *module, PyObject *argument) {
  (void)module;
  if (!PyType_Check(argument) || !PyType_HasFeature((PyTypeObject *)argument, Py_TPFLAGS_HEAPTYPE)) {
    PyErr_SetString(PyExc_TypeError, "install_fast_call takes a class that is written in Python");
    return NULL;
  }
  PyTypeObject *type = (PyTypeObject *)argument;
  PyObject *descriptor = PyObject_GetAttrString(argument, "_kernel");
  if (descriptor == NULL) return NULL;
  Py_ssize_t offset = -1;
  if (Py_TYPE(descriptor) == &PyMemberDescr_Type &&
      ((PyMemberDescrObject *)descriptor)->d_member->type == T_OBJECT_EX)
    offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
  Py_DECREF(descriptor);
  if (offset <= 0 || type->tp_call == NULL || type->tp_base == NULL || type->tp_base->tp_call == NULL ||
      (kernel_offset >= 0 && offset != kernel_offset)) {
    PyErr_Format(PyExc_TypeError, "%s needs __call__, and the slot `_kernel` from the class that all functions share",
                 type->tp_name);
    return NULL;
  }
  kernel_offset = offset;
  type->tp_call = fast_call;
  PyType_Modified(type);
  Py_RETURN_NONE;
}

/* ---- the type Kernel -------------------------------------------------------------------------------- */

/* One sample (n < 0) or n samples on arrays that are given for all inputs and outputs. */
static PyObject *evaluate_arrays(Kernel *self, PyObject *given, PyObject *outputs, npy_intp n) {
  PyObject *values = PySequence_Tuple(given); /* tuples: nobody changes them while others run */
  PyObject *targets = values == NULL ? NULL : PySequence_Tuple(outputs);
  const double *data[self->n_in + 1];
  ptrdiff_t stride[self->n_in + 1];
  double numbers[self->n_in + 1];
  double *out[self->n_out];
  Inputs inputs = {data, stride, numbers, -1};
  int done = 0;
  if (targets == NULL) goto end;
  if ((n < 0 ? self->scalar : self->batch) == NULL)
    PyErr_Format(PyExc_ValueError, "this kernel has no code for %s", n < 0 ? "one sample" : "batches");
  else if (PyTuple_GET_SIZE(values) != self->n_in || PyTuple_GET_SIZE(targets) != self->n_out)
    PyErr_Format(PyExc_ValueError, "this kernel takes %zd inputs and %zd outputs", self->n_in, self->n_out);
  else if (!read_inputs(self, ((PyTupleObject *)values)->ob_item, &inputs) || (inputs.n >= 0 && inputs.n != n) ||
           !read_targets(self, ((PyTupleObject *)targets)->ob_item, &inputs, n, out))
    PyErr_SetString(PyExc_ValueError, "kernels take float64 arrays, C-contiguous and aligned, of the shapes "
                                      "they were made for, and outputs that share no memory");
  else
    done = run(self, data, stride, out, n) == 0;
end:
  Py_XDECREF(values);
  Py_XDECREF(targets);
  if (!done) return NULL;
  Py_RETURN_NONE;
}

static PyObject *kernel_evaluate(Kernel *self, PyObject *args) {
  PyObject *inputs, *outputs;
  if (!PyArg_ParseTuple(args, "OO:evaluate", &inputs, &outputs)) return NULL;
  return evaluate_arrays(self, inputs, outputs, -1);
}

static PyObject *kernel_evaluate_batch(Kernel *self, PyObject *args) {
  PyObject *inputs, *outputs;
  Py_ssize_t n;
  if (!PyArg_ParseTuple(args, "OOn:evaluate_batch", &inputs, &outputs, &n)) return NULL;
  if (n < 0) return PyErr_Format(PyExc_ValueError, "n_samples is negative");
  return evaluate_arrays(self, inputs, outputs, n);
}

/* Rows and samples, the first two axes of an array whose others have this shape; -1 for other arrays. */
static int read_rows(PyObject *value, const Shape *shape, int flags, npy_intp *rows, npy_intp *samples) {
  if (!is_plain(value, flags) || PyArray_NDIM((PyArrayObject *)value) != 2 + shape->n_axes ||
      !has_dims((PyArrayObject *)value, 2, shape))
    return -1;
  *rows = PyArray_DIM((PyArrayObject *)value, 0);
  *samples = PyArray_DIM((PyArrayObject *)value, 1);
  return 0;
}

/* Fill an Iteration from arrays; 0, or -1 when they are not what the kernel needs. */
static int read_iteration(const Kernel *self, PyObject *states, PyObject *inputs, Iteration *it,
                          double **state, const double **input, ptrdiff_t *row_stride, ptrdiff_t *sample_stride) {
  npy_intp rows = 0, samples = 0, n_rows, n_samples;
  if (PyTuple_GET_SIZE(states) != self->n_out || PyTuple_GET_SIZE(inputs) != self->n_in - self->n_out) return -1;
  for (Py_ssize_t i = 0; i < self->n_in; i++) {
    int is_state = i < self->n_out;
    PyObject *value = is_state ? PyTuple_GET_ITEM(states, i) : PyTuple_GET_ITEM(inputs, i - self->n_out);
    const Shape *shape = &self->in[i];
    if (read_rows(value, shape, is_state ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, &n_rows, &n_samples) < 0)
      return -1;
    if (i == 0) rows = n_rows, samples = n_samples;
    double *data = PyArray_DATA((PyArrayObject *)value);
    if (is_state) {
      if (n_rows != rows || n_samples != samples || self->out[i].size != shape->size) return -1;
      state[i] = data;
    } else if ((n_rows != 1 && n_rows < it->last) || (n_samples != 1 && n_samples != samples)) {
      return -1;
    }
    input[i] = data;
    row_stride[i] = n_rows == 1 ? 0 : n_samples * shape->size;
    sample_stride[i] = n_samples == 1 ? 0 : shape->size;
    for (Py_ssize_t j = 0; j < i && j < self->n_out; j++)
      if (overlap(state[j], rows * samples * self->in[j].size, data, n_rows * n_samples * shape->size)) return -1;
  }
  it->samples = samples;
  return it->first < 0 || it->last < it->first || it->last >= rows || it->repeats < 1 ? -1 : 0;
}

/* Whether a signal has arrived whose handler raises, such as Ctrl-C. */
static int is_interrupted(void) {
  PyGILState_STATE state = PyGILState_Ensure();
  int raised = PyErr_CheckSignals();
  PyGILState_Release(state);
  return raised;
}

PyDoc_STRVAR(kernel_iterate_doc,
             "iterate(states, inputs, first, last, repeats)\n\nFill rows first + 1 to last of the states, each by "
             "`repeats` calls from the row before it.\nStates are arrays (rows, samples, ...), the further inputs "
             "(rows or 1, samples or 1, ...).");

static PyObject *kernel_iterate(Kernel *self, PyObject *args) {
  PyObject *states, *inputs;
  Iteration it = {0};
  if (!PyArg_ParseTuple(args, "O!O!nnn:iterate", &PyTuple_Type, &states, &PyTuple_Type, &inputs, &it.first,
                        &it.last, &it.repeats))
    return NULL;
  double *state[self->n_out];
  const double *input[self->n_in + 1];
  ptrdiff_t row_stride[self->n_in + 1], sample_stride[self->n_in + 1];
  if (self->n_out > self->n_in ||
      read_iteration(self, states, inputs, &it, state, input, row_stride, sample_stride) < 0)
    return PyErr_Format(PyExc_ValueError, "iterate takes a state for each output, (rows, samples, ...), and the "
                                          "further inputs, (rows or 1, samples or 1, ...): float64, "
                                          "C-contiguous, no two in the same memory; and rows that exist");
  it.code = it.samples == 1 ? self->scalar : self->batch;
  if (it.code == NULL)
    return PyErr_Format(PyExc_ValueError, "this kernel has no code for %s", it.samples == 1 ? "one sample" : "batches");
  it.state = state, it.input = input, it.row_stride = row_stride, it.sample_stride = sample_stride;
  int status, most = n_threads;
  double calls = (double)it.samples * (double)(it.last - it.first) * (double)it.repeats;
  if (it.samples == 0 || it.first == it.last) Py_RETURN_NONE;
  if (calls * (double)it.code->operations < RELEASE_OPERATIONS) {
    status = run_iteration(&it, 1);
  } else {
    it.interrupted = is_interrupted;
    Py_BEGIN_ALLOW_THREADS
    status = run_iteration(&it, most);
    Py_END_ALLOW_THREADS
  }
  if (status < 0) return PyErr_NoMemory();
  if (it.stop) return NULL; /* with what the handler raised */
  Py_RETURN_NONE;
}

static PyObject *kernel_has_scalar(Kernel *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(self->scalar != NULL);
}

static PyObject *kernel_has_batch(Kernel *self, void *unused) {
  (void)unused;
  return PyBool_FromLong(self->batch != NULL);
}

static PyMethodDef kernel_methods[] = {
    {"evaluate", (PyCFunction)kernel_evaluate, METH_VARARGS, "evaluate(inputs, outputs): one sample."},
    {"evaluate_batch", (PyCFunction)kernel_evaluate_batch, METH_VARARGS,
     "evaluate_batch(inputs, outputs, n_samples): samples along the first axis."},
    {"iterate", (PyCFunction)kernel_iterate, METH_VARARGS, kernel_iterate_doc},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef kernel_properties[] = {
    {"has_scalar", (getter)kernel_has_scalar, NULL, "Whether it can compute one sample.", NULL},
    {"has_batch", (getter)kernel_has_batch, NULL, "Whether it can compute batches.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject Kernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "helicoid_binding.Kernel",
    .tp_doc = "Kernel(paths, input_shapes, output_shapes, result_type=None): compiled code, an Evaluator.",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = kernel_new,
    .tp_dealloc = (destructor)kernel_dealloc,
    .tp_methods = kernel_methods,
    .tp_getset = kernel_properties,
};

/* ---- the module ------------------------------------------------------------------------------------- */

static PyObject *set_num_threads(PyObject *module, PyObject *argument) {
  (void)module;
  long n = PyLong_AsLong(argument);
  if (n == -1 && PyErr_Occurred()) return NULL;
  if (n < 1 || n > 4096) return PyErr_Format(PyExc_ValueError, "1 to 4096 threads; got %ld", n);
  n_threads = (int)n;
  Py_RETURN_NONE;
}

static PyMethodDef module_functions[] = {
    {"install_fast_call", install_fast_call, METH_O, install_fast_call_doc},
    {"set_num_threads", set_num_threads, METH_O, "set_num_threads(n): the most that one batch uses."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, .m_name = "helicoid_binding",
                                               .m_size = -1, .m_methods = module_functions};

PyMODINIT_FUNC PyInit_helicoid_binding(void) {
  import_array();
  if (PyType_Ready(&Kernel_Type) < 0) return NULL;
  if ((out_string = PyUnicode_InternFromString("out")) == NULL) return NULL;
  PyObject *module = PyModule_Create(&module_definition);
  if (module == NULL) return NULL;
  Py_INCREF(&Kernel_Type);
  if (PyModule_AddObject(module, "Kernel", (PyObject *)&Kernel_Type) < 0) {
    Py_DECREF(&Kernel_Type);
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
