/* NumPy arrays in and out of kernels: which can be read and written as they are, and new results. */
#ifndef HELICOID_BINDING_ARRAYS_H
#define HELICOID_BINDING_ARRAYS_H
#include <Python.h>
#include <numpy/arrayobject.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "kernel.h"

enum {
  MAX_AXES = 31,     /* NumPy 1 has arrays of up to 32 axes, and a batch needs one more */
  MAX_ARRAYS = 1024, /* inputs or outputs: bounds what a call puts on the stack */
  N_SPARES = 2,      /* in `y = f(x)` the next result is made before the last is dropped */
  FRESH_BYTES = 32 << 20, /* from which glibc takes every array fresh from the system */
  SPARE_SIZE = 1024, /* doubles; to make a larger array takes little beside filling it */
};

typedef struct {
  int n_axes;
  npy_intp size;
  npy_intp dims[MAX_AXES];
} Shape;

typedef struct {
  PyObject_HEAD
  void **libraries;
  Py_ssize_t n_libraries;
  const helicoid_kernel *scalar, *batch; /* NULL where no library has it */
  Py_ssize_t n_in, n_out;
  Shape *in, *out;
  PyTypeObject *result_type; /* a named tuple; NULL when there is one output */
  PyObject **spares;         /* N_SPARES for each output, or NULL; see `new_result` */
} Kernel;

static inline int is_plain(PyObject *value, int flags) {
  if (!PyArray_CheckExact(value)) return 0;
  PyArrayObject *array = (PyArrayObject *)value;
  return PyArray_TYPE(array) == NPY_DOUBLE && PyArray_CHKFLAGS(array, flags) && PyArray_ISNOTSWAPPED(array);
}

static inline int has_dims(PyArrayObject *array, int first, const Shape *shape) {
  const npy_intp *dims = PyArray_DIMS(array) + first;
  if (PyArray_NDIM(array) != first + shape->n_axes) return 0;
  for (int k = 0; k < shape->n_axes; k++)
    if (dims[k] != shape->dims[k]) return 0;
  return 1;
}

typedef struct {
  const double **data;
  ptrdiff_t *stride;
  double *numbers; /* for inputs that are given as floats */
  npy_intp n;      /* samples, -1 when no input is a batch */
} Inputs;

/* Whether every value is one that kernels read as it is; fills `inputs`. */
static int read_inputs(const Kernel *kernel, PyObject *const *values, Inputs *inputs) {
  inputs->n = -1;
  for (Py_ssize_t i = 0; i < kernel->n_in; i++) {
    const Shape *shape = &kernel->in[i];
    PyObject *value = values[i];
    inputs->stride[i] = 0;
    if (is_plain(value, NPY_ARRAY_CARRAY_RO)) {
      PyArrayObject *array = (PyArrayObject *)value;
      inputs->data[i] = PyArray_DATA(array);
      if (has_dims(array, 0, shape)) continue;
      if (!has_dims(array, 1, shape)) return 0;
      if (inputs->n >= 0 && inputs->n != PyArray_DIM(array, 0)) return 0;
      inputs->n = PyArray_DIM(array, 0);
      inputs->stride[i] = shape->size;
    } else if (shape->n_axes == 0 && PyFloat_Check(value)) {
      inputs->numbers[i] = PyFloat_AS_DOUBLE(value);
      inputs->data[i] = &inputs->numbers[i];
    } else {
      return 0;
    }
  }
  return 1;
}

static inline int overlap(const double *a, npy_intp a_size, const double *b, npy_intp b_size) {
  return a_size > 0 && b_size > 0 && a < b + b_size && b < a + a_size;
}

/* Whether every target is an array that kernels may write to; fills `out`. */
static int read_targets(const Kernel *kernel, PyObject *const *targets, const Inputs *inputs, npy_intp n,
                        double **out) {
  npy_intp count = n < 0 ? 1 : n;
  for (Py_ssize_t k = 0; k < kernel->n_out; k++) {
    const Shape *shape = &kernel->out[k];
    if (!is_plain(targets[k], NPY_ARRAY_CARRAY)) return 0;
    PyArrayObject *array = (PyArrayObject *)targets[k];
    if (!has_dims(array, n >= 0, shape) || (n >= 0 && PyArray_DIM(array, 0) != n)) return 0;
    out[k] = PyArray_DATA(array);
    npy_intp size = count * shape->size;
    for (Py_ssize_t i = 0; i < kernel->n_in; i++)
      if (overlap(out[k], size, inputs->data[i], inputs->stride[i] ? count * kernel->in[i].size
                                                                   : kernel->in[i].size))
        return 0;
    for (Py_ssize_t i = 0; i < k; i++)
      if (overlap(out[k], size, out[i], count * kernel->out[i].size)) return 0;
  }
  return 1;
}

/* An array for one sample of output k. To make one takes NumPy longer than a small kernel runs, so the
   last results are kept: one that nobody else refers to any more, and that is as NumPy made it, is as
   good as new. Without a GIL the count of references says too little. */
static PyObject *new_result(const Kernel *kernel, Py_ssize_t k) {
  const Shape *shape = &kernel->out[k];
#ifndef Py_GIL_DISABLED
  PyObject **spares = kernel->spares + N_SPARES * k;
  for (int j = 0; j < N_SPARES; j++) {
    PyObject *spare = spares[j];
    if (spare != NULL && Py_REFCNT(spare) == 1 && is_plain(spare, NPY_ARRAY_CARRAY | NPY_ARRAY_OWNDATA) &&
        has_dims((PyArrayObject *)spare, 0, shape)) {
      Py_INCREF(spare);
      return spare;
    }
  }
#endif
  PyObject *result = PyArray_SimpleNew(shape->n_axes, (npy_intp *)shape->dims, NPY_DOUBLE);
#ifndef Py_GIL_DISABLED
  if (result != NULL && shape->size <= SPARE_SIZE) {
    PyObject *oldest = spares[N_SPARES - 1];
    memmove(spares + 1, spares, (N_SPARES - 1) * sizeof(PyObject *));
    Py_INCREF(result);
    spares[0] = result;
    Py_XDECREF(oldest);
  }
#endif
  return result;
}

/* The C library gets large arrays from the system, without pages: to ask for all of them at once takes half as
   long as to stumble over each. Where that cannot be asked, they come one by one. */
static void provide_pages(PyArrayObject *array) {
#ifdef MADV_POPULATE_WRITE
  const uintptr_t page = 4096, begin = ((uintptr_t)PyArray_DATA(array) + page - 1) & ~(page - 1);
  const uintptr_t end = ((uintptr_t)PyArray_DATA(array) + (uintptr_t)PyArray_NBYTES(array)) & ~(page - 1);
  if (PyArray_NBYTES(array) < FRESH_BYTES) return;
  Py_BEGIN_ALLOW_THREADS
  (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
  Py_END_ALLOW_THREADS
#else
  (void)array;
#endif
}

static PyObject *new_batch(const Shape *shape, npy_intp n) {
  npy_intp dims[MAX_AXES + 1];
  dims[0] = n;
  memcpy(dims + 1, shape->dims, (size_t)shape->n_axes * sizeof(npy_intp));
  PyObject *result = PyArray_SimpleNew(1 + shape->n_axes, dims, NPY_DOUBLE);
  if (result != NULL) provide_pages((PyArrayObject *)result);
  return result;
}

/* New arrays for the results, NULL in place of a scalar of one sample: that goes to `numbers`. */
static int make_results(const Kernel *kernel, npy_intp n, PyObject **results, double *numbers, double **out) {
  for (Py_ssize_t k = 0; k < kernel->n_out; k++) {
    const Shape *shape = &kernel->out[k];
    results[k] = NULL;
    out[k] = &numbers[k];
    if (n < 0 && shape->n_axes == 0) continue;
    results[k] = n < 0 ? new_result(kernel, k) : new_batch(shape, n);
    if (results[k] == NULL) {
      while (k-- > 0) Py_XDECREF(results[k]);
      return -1;
    }
    out[k] = PyArray_DATA((PyArrayObject *)results[k]);
  }
  return 0;
}

/* The results as a caller gets them; takes their references. */
static PyObject *pack_results(const Kernel *kernel, PyObject **results, const double *numbers) {
  PyObject *pack = NULL;
  int failed = 0;
  for (Py_ssize_t k = 0; k < kernel->n_out; k++)
    if (results[k] == NULL && (results[k] = PyFloat_FromDouble(numbers[k])) == NULL) failed = 1;
  if (!failed && kernel->result_type == NULL) return results[0];
  if (!failed) pack = kernel->result_type->tp_alloc(kernel->result_type, kernel->n_out);
  for (Py_ssize_t k = 0; k < kernel->n_out; k++) {
    if (pack)
      PyTuple_SET_ITEM(pack, k, results[k]);
    else
      Py_XDECREF(results[k]);
  }
  return pack;
}
#endif
