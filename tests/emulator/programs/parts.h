#pragma once
#include <cuda_runtime.h>
__device__ int from_other_part(int x);
void launch_other(int *x);
int devices_of_host_part();
