/* Chapter 15: what a token costs on several machines, on paper. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "09_decoder/config.h"

/* The traffic of all ranks for one token: the all-reduces, each rank's best logit, and the token
 * that rank 0 chose. */
typedef struct {
    double messages, bytes;
} Traffic;
Traffic traffic_of_token(const Config *whole, int ranks);

/* A machine and the network between two of them. */
typedef struct {
    double memory;  /* bytes a second that it reads of its weights */
    double network; /* bytes a second */
    double latency; /* seconds until the first byte of a message is there */
} Machine;

/* Seconds for a token, and for the sums of a prompt of T. Each rank reads its share of the weights;
 * a sum is two steps, in each of which a rank sends (ranks - 1) / ranks of a stream's row. */
double token_seconds(const Config *whole, double weight_bytes, int ranks, Machine machine);
double sums_seconds(const Config *whole, int T, int ranks, Machine machine);

/* Pipeline parallelism: each rank has some of the layers whole, and hands the stream on to the
 * next. */
double pipeline_seconds(const Config *whole, double weight_bytes, int ranks, Machine machine);

#endif
