__global__ void sum_of_list(int n, int *sum) {
    int *list = new int[n];
    for (int i = 0; i < n; i++) list[i] = i;
    for (int i = 0; i < n; i++) *sum += list[i];
    delete[] list;
}
int sum_below(int n) {
    int *sum, result = 0;
    cudaMalloc(&sum, sizeof(int));
    cudaMemset(sum, 0, sizeof(int));
    sum_of_list<<<1, 1>>>(n, sum);
    cudaMemcpy(&result, sum, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(sum);
    return result;
}
