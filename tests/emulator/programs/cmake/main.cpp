#include <cstdio>
int sum_below(int n);
int main() { printf("%d\n", sum_below(10)); }
