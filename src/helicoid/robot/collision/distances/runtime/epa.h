/* Penetration depth of overlapping cores by the expanding polytope algorithm (van den Bergen 2001). */
#ifndef HC_EPA_H
#define HC_EPA_H
#include "gjk.h"

enum { EPA_VERTICES = 96, EPA_FACES = 256 };
#define EPA_GAP 1e-9 /* m */

typedef struct { int v[3]; vec n; double d; int alive; } face;
typedef struct { vertex at[EPA_VERTICES]; face of[EPA_FACES]; int vertices, faces; } polytope;

static int add_face(polytope *p, int i, int j, int k) {
  if (p->faces == EPA_FACES) return 0;
  vec a = p->at[i].w, n = cross(sub(p->at[j].w, a), sub(p->at[k].w, a));
  double size = norm(n);
  if (size < 1e-26) return 0;
  face *f = &p->of[p->faces++];
  f->v[0] = i; f->v[1] = j; f->v[2] = k;
  f->n = scale(1 / size, n);
  f->d = dot(f->n, a);
  f->alive = 1;
  return 1;
}

/* A tetrahedron around the origin from a simplex that touches it. Returns 0 if the difference is flat. */
static int tetrahedron(const shape *A, const shape *B, const double *T, simplex *s) {
  static const double axes[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
  for (int k = 0; s->n == 1 && k < 6; k++) {
    s->at[1] = difference(A, B, T, load(axes[k]));
    if (norm(sub(s->at[1].w, s->at[0].w)) > 1e-9) s->n = 2;
  }
  if (s->n == 2) {
    vec d = sub(s->at[1].w, s->at[0].w), e = across(d), f = cross(d, e);
    f = scale(1 / norm(f), f);
    for (int k = 0; s->n == 2 && k < 6; k++) {
      double angle = k * 1.0471975511965976;
      s->at[2] = difference(A, B, T, add(scale(cos(angle), e), scale(sin(angle), f)));
      if (norm(cross(sub(s->at[2].w, s->at[0].w), d)) > 1e-9 * norm(d)) s->n = 3;
    }
  }
  if (s->n == 3) {
    vec n = cross(sub(s->at[1].w, s->at[0].w), sub(s->at[2].w, s->at[0].w));
    n = scale(1 / norm(n), n);
    for (int k = 0; s->n == 3 && k < 2; k++) {
      s->at[3] = difference(A, B, T, k ? scale(-1, n) : n);
      if (fabs(dot(sub(s->at[3].w, s->at[0].w), n)) > 1e-10) s->n = 4;
    }
  }
  return s->n == 4;
}

/* Depth and the unit vector along which A is to move by it; points of A and B. Returns 0 if it fails. */
static int epa(const shape *A, const shape *B, const double *T, simplex *s, double *depth, vec *n, vec *pa, vec *pb) {
  if (!tetrahedron(A, B, T, s)) return 0;
  polytope *p = malloc(sizeof(polytope));
  if (!p) return 0;
  p->vertices = 4; p->faces = 0;
  for (int k = 0; k < 4; k++) p->at[k] = s->at[k];
  vec a = p->at[0].w;
  double volume = dot(cross(sub(p->at[1].w, a), sub(p->at[2].w, a)), sub(p->at[3].w, a));
  if (volume > 0) { vertex t = p->at[1]; p->at[1] = p->at[2]; p->at[2] = t; }
  static const int start[4][3] = {{0, 1, 2}, {0, 3, 1}, {0, 2, 3}, {1, 3, 2}};
  int good = 1, best = -1;
  for (int f = 0; f < 4; f++) good &= add_face(p, start[f][0], start[f][1], start[f][2]);
  while (good) {
    best = -1;
    for (int f = 0; f < p->faces; f++)
      if (p->of[f].alive && (best < 0 || p->of[f].d < p->of[best].d)) best = f;
    if (best < 0) { good = 0; break; }
    face nearest = p->of[best];
    vertex next = difference(A, B, T, nearest.n);
    if (dot(nearest.n, next.w) - nearest.d <= EPA_GAP || p->vertices == EPA_VERTICES) break;
    int at = p->vertices++, edges[3 * EPA_FACES][2], n_edges = 0, full = 0;
    p->at[at] = next;
    for (int f = 0; f < p->faces; f++) {
      face *seen = &p->of[f];
      if (!seen->alive || dot(seen->n, next.w) <= seen->d + 1e-14) continue;
      seen->alive = 0;
      for (int e = 0; e < 3; e++) {
        int i = seen->v[e], j = seen->v[(e + 1) % 3], known = 0;
        for (int k = 0; k < n_edges; k++)
          if (edges[k][0] == j && edges[k][1] == i) {
            edges[k][0] = edges[n_edges - 1][0]; edges[k][1] = edges[--n_edges][1];
            known = 1;
            break;
          }
        if (!known) { edges[n_edges][0] = i; edges[n_edges++][1] = j; }
      }
    }
    for (int f = 0; f < p->faces; f++) /* slots of faces that are gone are used again */
      if (!p->of[f].alive) { p->of[f--] = p->of[--p->faces]; }
    for (int k = 0; k < n_edges; k++) full |= !add_face(p, edges[k][0], edges[k][1], at);
    if (full) { /* the last face was good to EPA_GAP or the tables are full: the lower bound stays valid */
      p->of[0] = nearest; p->faces = 1; best = 0;
      break;
    }
  }
  if (good && best >= 0) {
    face f = p->of[best];
    vec q[3], w = scale(f.d, f.n);
    for (int k = 0; k < 3; k++) q[k] = p->at[f.v[k]].w;
    vec ab = sub(q[1], q[0]), ac = sub(q[2], q[0]), m = cross(ab, ac), r = sub(w, q[0]);
    double area = dot(m, m), v = dot(cross(r, ac), m) / area, u = dot(cross(ab, r), m) / area;
    *pa = *pb = make(0, 0, 0);
    double weight[3] = {1 - v - u, v, u};
    for (int k = 0; k < 3; k++) {
      *pa = along(*pa, weight[k], p->at[f.v[k]].a);
      *pb = along(*pb, weight[k], p->at[f.v[k]].b);
    }
    *depth = f.d;
    *n = scale(-1, f.n);
  } else good = 0;
  free(p);
  return good;
}
#endif
