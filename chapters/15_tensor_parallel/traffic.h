/* Chapter 15: messages, bytes and seconds per token on several machines, by formulas. */
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
    double memory;  /* bytes of weights per second */
    double network; /* bytes per second */
    double latency; /* seconds until the first byte of a message arrives */
} Machine;

/* Seconds for a token, and for the all-reduces of a prompt of T tokens. Each rank reads its part of
 * the weights. An all-reduce has two rounds, in each of which a rank sends (ranks - 1) / ranks of a
 * hidden state. */
double token_seconds(const Config *whole, double weight_bytes, int ranks, Machine machine);
double sums_seconds(const Config *whole, int T, int ranks, Machine machine);

/* Pipeline parallelism: each rank has some whole layers, and sends the residual stream to the next
 * rank. */
double pipeline_seconds(const Config *whole, double weight_bytes, int ranks, Machine machine);

#endif
