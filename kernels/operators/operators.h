/* The kernels for sm_90a as functions of C, for natten_sim.ops. Built with -DNATTEN_SIM_OPS=ON.
 *
 * Tensors stay where they are: every function takes addresses on the GPU, strides in elements and the stream to
 * launch on. Memory besides the outputs is the caller's `workspace`, aligned to 256 bytes. A plan has everything
 * that does not depend on addresses; it may be launched on several streams at once.
 *
 * Functions that return an int give 0, or 1 after an error; those that return a plan give null after an error.
 * natten_sim_ops_error() then has the sentence. All are thread-safe.
 */
#ifndef NATTEN_SIM_OPERATORS_H
#define NATTEN_SIM_OPERATORS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the last error of this thread. */
const char* natten_sim_ops_error(void);
/* 1 after an error whose cause is the machine: no GPU, no driver, another architecture. */
int natten_sim_ops_error_is_hardware(void);
/* SMs of the GPU. Refuses all but sm_90. */
int natten_sim_ops_open(int device, int32_t* sms);

typedef struct {
  int64_t batch, head, token;
} natten_sim_strides;

/* Attention. Elements of a head are contiguous; strides and addresses are multiples of 8 elements. */
typedef struct {
  int64_t batch, heads, heads_kv, q_tokens, kv_tokens, head_dim;
  int32_t fp16; /* else bf16 */
  int32_t rank; /* axes of a neighborhood; 0: a sequence */
  double scale; /* 0: 1 / sqrt(head_dim) */
  natten_sim_strides q, k, v, o;
  int64_t left, right;      /* a sequence's window around its diagonal; -1: no limit */
  const int64_t* intervals; /* or null: begin and end of the keys of each query, instead of left and right */
  const int64_t* axes;      /* of each axis: length, window, stride, dilation, causal */
  int64_t extra_tokens;     /* keys that every query of a neighborhood sees besides */
  natten_sim_strides extra_k, extra_v;
} natten_sim_attention;

typedef struct {
  const void *q, *k, *v, *extra_k, *extra_v;
  void* o;
  float* lse; /* (batch, heads, q_tokens), natural logarithm */
} natten_sim_forward_tensors;

void* natten_sim_ops_forward_plan(int device, const natten_sim_attention* problem);
int64_t natten_sim_ops_forward_workspace(const void* plan);
/* Extents of the tiles that the plan has, 0 beyond its axes, and pairs of tiles that a head visits. */
void natten_sim_ops_forward_tiles(const void* plan, int64_t q_tile[4], int64_t kv_tile[4], int64_t* visits);
int natten_sim_ops_forward(const void* plan, const natten_sim_forward_tensors* tensors, void* workspace,
                           void* stream);
void natten_sim_ops_forward_free(void* plan);

/* Backward. Of a neighborhood, all tensors are in the order of tiles: queries and what belongs to them in that of
 * q_order, keys and values in that of kv_order, followed by the extra ones. -1 in an order is a place without a
 * token: its LSE is -inf, its rows anything finite. */
typedef struct {
  int32_t q_tile, kv_tile;   /* tokens */
  int32_t q_tiles, kv_tiles; /* of the mask; q_tiles of all query heads of a group where chains are grouped */
  int32_t grouped;           /* chains run over the query heads of a KV head */
  int64_t q_places, kv_places; /* of a neighborhood, its extra keys included */
} natten_sim_backward_tiles;

/* What the problem looks like to a scheduler; prepares everything else. */
void* natten_sim_ops_backward_problem(int device, const natten_sim_attention* problem);
int natten_sim_ops_backward_tiles(const void* problem, natten_sim_backward_tiles* tiles);
/* 0 skipped, 1 partial, 2 full; (q_tiles, kv_tiles). */
int natten_sim_ops_backward_mask(const void* problem, uint8_t* mask);
/* Tokens by place; null of a sequence. */
const int64_t* natten_sim_ops_backward_q_order(const void* problem);
const int64_t* natten_sim_ops_backward_kv_order(const void* problem);
void natten_sim_ops_backward_problem_free(void* problem);

/* A schedule table: see docs/schedule-tables.md. Chains in launch order; offsets have one more element than what they
 * divide. `worker` is null where chains are drawn. dq_offsets is null for additions as they come. */
typedef struct {
  int32_t workers, chains;
  const int32_t *head, *kv_tile, *worker;
  const int64_t* q_offsets;  /* (chains + 1) */
  const int32_t* q_order;    /* (q_offsets[chains]) */
  const int64_t* dq_offsets; /* (heads * q_tiles + 1) */
  const int32_t* kv_order;
} natten_sim_schedule;

typedef struct {
  const void *q, *k, *v, *o, *d_o;
  const float* lse;
  void *dq, *dk, *dv;
} natten_sim_backward_tensors;

void* natten_sim_ops_backward_plan(const void* problem, const natten_sim_schedule* schedule);
int64_t natten_sim_ops_backward_workspace(const void* plan);
int natten_sim_ops_backward(const void* plan, const natten_sim_backward_tensors* tensors, void* workspace,
                            void* stream);
void natten_sim_ops_backward_free(void* plan);

/* Types: 0 fp32, 1 fp16, 2 bf16. */

/* destination[index[i]] += values[i], rows of `width` elements. */
typedef struct {
  int64_t updates, rows, width;
  int32_t type, reserved;
  const char* path; /* of `natten-sim list scatter paths` */
} natten_sim_scatter;
int64_t natten_sim_ops_scatter_workspace(const natten_sim_scatter* problem); /* -1 after an error */
int natten_sim_ops_scatter(int device, const natten_sim_scatter* problem, const void* values,
                           const int64_t* index, void* destination, void* workspace, void* stream);

/* Multi-scale deformable attention; see kernels/msda/msda.hpp for the layouts. */
typedef struct {
  int64_t batch, queries, heads, head_channels, points, levels;
  const int64_t* sizes; /* height and width of each level */
  int32_t type, parameters;
  const char* path;
} natten_sim_msda;
typedef struct {
  const void *values, *locations, *weights;
  void* output;
  const void* output_gradient; /* null: forward */
  void *value_gradient, *location_gradient, *weight_gradient;
} natten_sim_msda_tensors;
int64_t natten_sim_ops_msda_workspace(const natten_sim_msda* problem, int backward); /* -1 after an error */
int natten_sim_ops_msda(int device, const natten_sim_msda* problem, const natten_sim_msda_tensors* tensors,
                        void* workspace, void* stream);

#ifdef __cplusplus
}
#endif
#endif
