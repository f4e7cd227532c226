/* Chapter 2: activation functions. The nonlinear function between two linear layers, without which
 * the two would be one.
 *
 * Each kernel maps n numbers one by one, in float32, and gives PyTorch's answers at infinity and
 * NaN; out may be x. Each has a derivative, which backpropagation needs and which shows where a
 * hidden unit still learns. */
#ifndef ACTIVATION_H
#define ACTIVATION_H

/* The type of every kernel below that takes no beta: what a feed-forward layer is handed in
 * chapter 3. */
typedef void Activation(int n, float out[], const float x[]);

/* max(0, x); the derivative at 0 is 0, as PyTorch has it. Source: torch.nn.functional.relu. */
void relu(int n, float out[n], const float x[n]);
void relu_derivative(int n, float out[n], const float x[n]);

/* x sigmoid(x) = x / (1 + e^-x): Llama's activation. Source: torch.nn.functional.silu. */
void silu(int n, float out[n], const float x[n]);
void silu_derivative(int n, float out[n], const float x[n]);

/* 1 / (1 + e^-x). Source: torch.sigmoid. */
void sigmoid(int n, float out[n], const float x[n]);
void sigmoid_derivative(int n, float out[n], const float x[n]);

/* ---------------------------------------------------------------- optional: no Llama uses these */

/* x Phi(x), Phi the normal distribution function. Source: Hendrycks, Gimpel 2016;
 * torch.nn.functional.gelu. */
void gelu(int n, float out[n], const float x[n]);
void gelu_derivative(int n, float out[n], const float x[n]);

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the approximation of GELU that GPT-2 was trained
 * with. Source: the same paper, section 2; torch.nn.functional.gelu(approximate="tanh"). */
void gelu_tanh(int n, float out[n], const float x[n]);
void gelu_tanh_derivative(int n, float out[n], const float x[n]);

/* x sigmoid(beta x): x/2 at beta = 0, SiLU at beta = 1, ReLU as beta grows. Source: Ramachandran,
 * Zoph, Le 2017. */
void swish(int n, float out[n], const float x[n], float beta);
void swish_derivative(int n, float out[n], const float x[n], float beta);

#endif
