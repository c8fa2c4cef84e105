/* A Kernel from libraries: its shapes, the code in each library, and its end. */
#ifndef HELICOID_BINDING_KERNEL_H
#define HELICOID_BINDING_KERNEL_H

#include <dlfcn.h>

#include "binding_arrays.h"

static int read_shape(PyObject *item, Shape *shape) {
  PyObject *sizes = PySequence_Fast(item, "a shape is a tuple of sizes");
  if (sizes == NULL) return -1;
  Py_ssize_t n_axes = PySequence_Fast_GET_SIZE(sizes);
  shape->n_axes = (int)n_axes;
  shape->size = 1;
  if (n_axes > MAX_AXES) PyErr_Format(PyExc_ValueError, "a shape has at most %d axes", MAX_AXES);
  for (Py_ssize_t k = 0; k < n_axes && !PyErr_Occurred(); k++) {
    shape->dims[k] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(sizes, k));
    if (shape->dims[k] < 0 && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a size is negative");
    if (shape->dims[k] > 0 && shape->size > PY_SSIZE_T_MAX / 8 / shape->dims[k])
      PyErr_SetString(PyExc_ValueError, "a shape is too large");
    else
      shape->size *= shape->dims[k];
  }
  Py_DECREF(sizes);
  return PyErr_Occurred() ? -1 : 0;
}

static Shape *read_shapes(PyObject *items, Py_ssize_t *count) {
  PyObject *sequence = PySequence_Fast(items, "shapes are a sequence of tuples");
  if (sequence == NULL) return NULL;
  *count = PySequence_Fast_GET_SIZE(sequence);
  Shape *shapes = PyMem_Calloc((size_t)*count + 1, sizeof(Shape));
  if (shapes == NULL) PyErr_NoMemory();
  if (*count > MAX_ARRAYS) PyErr_Format(PyExc_ValueError, "more than %d inputs or outputs", MAX_ARRAYS);
  for (Py_ssize_t k = 0; k < *count && !PyErr_Occurred(); k++)
    read_shape(PySequence_Fast_GET_ITEM(sequence, k), &shapes[k]);
  Py_DECREF(sequence);
  if (PyErr_Occurred()) {
    PyMem_Free(shapes);
    return NULL;
  }
  return shapes;
}

static int sizes_match(int64_t n, const int64_t *sizes, Py_ssize_t count, const Shape *shapes) {
  if (n != count) return 0;
  for (Py_ssize_t k = 0; k < count; k++)
    if (sizes[k] != shapes[k].size) return 0;
  return 1;
}

/* Load one library and take from it what no library before it had. */
static int open_library(Kernel *self, PyObject *path) {
  PyObject *bytes = NULL;
  if (!PyUnicode_FSConverter(path, &bytes)) return -1;
  void *library = dlopen(PyBytes_AS_STRING(bytes), RTLD_NOW | RTLD_LOCAL);
  Py_DECREF(bytes);
  if (library == NULL) {
    PyErr_Format(PyExc_OSError, "%S: cannot be loaded: %s", path, dlerror());
    return -1;
  }
  self->libraries[self->n_libraries++] = library;
  const helicoid_kernel *(*entry)(void);
  *(void **)&entry = dlsym(library, "helicoid_kernel_entry");
  const helicoid_kernel *code = entry == NULL ? NULL : entry();
  if (code == NULL || code->abi != HELICOID_KERNEL_ABI) {
    PyErr_Format(PyExc_ValueError, "%S: is no kernel of interface %d", path, HELICOID_KERNEL_ABI);
    return -1;
  }
  if (!sizes_match(code->n_in, code->in_size, self->n_in, self->in) ||
      !sizes_match(code->n_out, code->out_size, self->n_out, self->out) || code->lanes < 1 ||
      code->operations < 0 || code->scalar_work < 0 || code->batch_work < 0) {
    PyErr_Format(PyExc_ValueError, "%S: the kernel has other inputs or outputs than were asked for", path);
    return -1;
  }
  if (self->scalar == NULL && code->scalar != NULL) self->scalar = code;
  if (self->batch == NULL && code->batch != NULL) self->batch = code;
  return 0;
}

static int read_result_type(Kernel *self, PyObject *value) {
  if (value == Py_None && self->n_out == 1) return 0;
  if (!PyType_Check(value) || self->n_out < 2 ||
      !PyType_IsSubtype((PyTypeObject *)value, &PyTuple_Type)) {
    PyErr_SetString(PyExc_TypeError, "result_type is a named tuple, or None for one output");
    return -1;
  }
  Py_INCREF(value);
  self->result_type = (PyTypeObject *)value;
  return 0;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"paths", "input_shapes", "output_shapes", "result_type", NULL};
  PyObject *paths, *in, *out, *result_type = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:Kernel", names, &paths, &in, &out, &result_type))
    return NULL;
  Kernel *self = (Kernel *)type->tp_alloc(type, 0);
  if (self == NULL) return NULL;
  PyObject *sequence = NULL;
  if ((self->in = read_shapes(in, &self->n_in)) == NULL) goto failed;
  if ((self->out = read_shapes(out, &self->n_out)) == NULL) goto failed;
  if (read_result_type(self, result_type) < 0) goto failed;
  if ((sequence = PySequence_Fast(paths, "paths are a sequence of files")) == NULL) goto failed;
  Py_ssize_t n_paths = PySequence_Fast_GET_SIZE(sequence);
  self->spares = PyMem_Calloc(N_SPARES * (size_t)self->n_out, sizeof(PyObject *));
  self->libraries = PyMem_Calloc((size_t)n_paths + 1, sizeof(void *));
  if (self->spares == NULL || self->libraries == NULL) {
    PyErr_NoMemory();
    goto failed;
  }
  for (Py_ssize_t k = 0; k < n_paths; k++)
    if (open_library(self, PySequence_Fast_GET_ITEM(sequence, k)) < 0) goto failed;
  Py_DECREF(sequence);
  return (PyObject *)self;
failed:
  Py_XDECREF(sequence);
  Py_DECREF(self);
  return NULL;
}

static void kernel_dealloc(Kernel *self) {
  for (Py_ssize_t k = 0; k < self->n_libraries; k++) dlclose(self->libraries[k]);
  for (Py_ssize_t k = 0; self->spares != NULL && k < N_SPARES * self->n_out; k++) Py_XDECREF(self->spares[k]);
  PyMem_Free(self->spares);
  PyMem_Free(self->libraries);
  PyMem_Free(self->in);
  PyMem_Free(self->out);
  Py_XDECREF(self->result_type);
  Py_TYPE(self)->tp_free((PyObject *)self);
}

#endif
