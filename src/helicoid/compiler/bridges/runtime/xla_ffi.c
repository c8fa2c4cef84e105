/* A custom call of XLA that runs batch code of kernels. One handler serves all functions: the attribute `kernel`
   is a number that Python made of what the function computes, and under which it has added the kernel here. An
   executable that XLA kept on disk finds the same kernel in another process, or says that it is not there. */
#include <stdlib.h>
#include <string.h>

#include "binding_run.h"
#include "xla/ffi/api/c_api.h"

enum { MAX_AXES = 32 };

#define EXPORTED __attribute__((visibility("default")))

typedef struct Entry {
  int64_t number;
  const helicoid_kernel *code;
  struct Entry *next;
} Entry;

static Entry *entries; /* only ever grows, so that readers need no lock */
static int threads = 1;

EXPORTED void helicoid_set_threads(int n) { __atomic_store_n(&threads, n, __ATOMIC_RELAXED); }

/* Called by one thread at a time; 0, or -1 when there is no memory. */
EXPORTED int helicoid_add_kernel(int64_t number, const helicoid_kernel *code) {
  Entry *entry = malloc(sizeof *entry);
  if (entry == NULL) return -1;
  *entry = (Entry){number, code, entries};
  __atomic_store_n(&entries, entry, __ATOMIC_RELEASE);
  return 0;
}

static const helicoid_kernel *find(int64_t number) {
  const Entry *entry = __atomic_load_n(&entries, __ATOMIC_ACQUIRE);
  while (entry != NULL && entry->number != number) entry = entry->next;
  return entry == NULL ? NULL : entry->code;
}

static XLA_FFI_Error *failed(const XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const char *message) {
  XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
                                    .message = message, .errc = code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

static int64_t product(const int64_t *dims, int64_t n) {
  int64_t result = 1;
  for (int64_t k = 0; k < n; k++) result *= dims[k];
  return result;
}

/* A number among the attributes, or -1. */
static int64_t attribute(const XLA_FFI_CallFrame *frame, const char *name) {
  for (int64_t k = 0; k < frame->attrs.size; k++) {
    const XLA_FFI_ByteSpan *span = frame->attrs.names[k];
    const XLA_FFI_Scalar *scalar = frame->attrs.attrs[k];
    if (span->len == strlen(name) && memcmp(span->ptr, name, span->len) == 0 &&
        frame->attrs.types[k] == XLA_FFI_AttrType_SCALAR && scalar->dtype == XLA_FFI_DataType_S64)
      return *(const int64_t *)scalar->value;
  }
  return -1;
}

/* A sample for each index of the axes in front of an input, which is the same along those where it has size 1. */
static void repeat(const XLA_FFI_Buffer *given, const int64_t *dims, int64_t axes, int64_t size, double *to) {
  int64_t index[MAX_AXES] = {0};
  for (int64_t left = product(dims, axes); left > 0; left--) {
    int64_t from = 0;
    for (int64_t k = 0; k < axes; k++) from = from * given->dims[k] + (given->dims[k] == 1 ? 0 : index[k]);
    memcpy(to, (const double *)given->data + from * size, (size_t)size * sizeof(double));
    to += size;
    for (int64_t k = axes; k > 0 && ++index[k - 1] == dims[k - 1]; k--) index[k - 1] = 0;
  }
}

/* Compute, with memory for inputs that have to be repeated; what is wrong, or NULL. */
static const char *run(const helicoid_kernel *code, const XLA_FFI_CallFrame *frame, double **copies) {
  const double *in[code->n_in + 1];
  ptrdiff_t stride[code->n_in + 1];
  double *out[code->n_out + 1];
  const XLA_FFI_Buffer *first = frame->rets.rets[0];
  const int64_t axes = first->rank - attribute(frame, "rank");
  if (axes < 0 || axes > MAX_AXES) return "helicoid: a function takes 32 axes of samples at most";
  const int64_t n = product(first->dims, axes);
  for (int64_t k = 0; k < code->n_out; k++) {
    const XLA_FFI_Buffer *result = frame->rets.rets[k];
    if (result->dtype != XLA_FFI_DataType_F64 || product(result->dims, result->rank) != n * code->out_size[k])
      return "helicoid: a result has another type or shape than the function gives";
    out[k] = result->data;
  }
  for (int64_t i = 0; i < code->n_in; i++) {
    const XLA_FFI_Buffer *given = frame->args.args[i];
    const int64_t samples = given->rank < axes ? -1 : product(given->dims, axes);
    if (given->dtype != XLA_FFI_DataType_F64 ||
        product(given->dims, given->rank) != samples * code->in_size[i])
      return "helicoid: an argument has another type or shape than the function takes";
    in[i] = given->data;
    stride[i] = samples == 1 ? 0 : code->in_size[i];
    if (samples != 1 && samples != n) {
      copies[i] = malloc((size_t)(n * code->in_size[i] + 1) * sizeof(double));
      if (copies[i] == NULL) return "helicoid: there is no memory to repeat an argument";
      repeat(given, first->dims, axes, code->in_size[i], copies[i]);
      in[i] = copies[i];
    }
  }
  if (run_batch(code, in, stride, out, n, __atomic_load_n(&threads, __ATOMIC_RELAXED)) < 0)
    return "helicoid: there is no memory for scratch";
  return NULL;
}

EXPORTED XLA_FFI_Error *helicoid_call(XLA_FFI_CallFrame *frame) {
  if (frame->extension_start != NULL && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
    metadata->api_version = (XLA_FFI_Api_Version){.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
                                                  .major_version = XLA_FFI_API_MAJOR,
                                                  .minor_version = XLA_FFI_API_MINOR};
    metadata->traits = 0;
#ifdef XLA_FFI_UNKNOWN_TYPE_ID
    metadata->state_type_id.type_id = 0;
#endif
    return NULL;
  }
  const helicoid_kernel *code = find(attribute(frame, "kernel"));
  if (code == NULL)
    return failed(frame, XLA_FFI_Error_Code_NOT_FOUND,
                  "helicoid: this executable was made in another process; call function.jax() here too, "
                  "and what it returns once, before it is run");
  if (code->n_in != frame->args.size || code->n_out != frame->rets.size)
    return failed(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "helicoid: wrong number of arguments");
  double *copies[code->n_in + 1];
  memset(copies, 0, sizeof copies);
  const char *wrong = run(code, frame, copies);
  for (int64_t i = 0; i < code->n_in; i++) free(copies[i]);
  return wrong == NULL ? NULL : failed(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, wrong);
}
