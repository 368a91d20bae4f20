// cg::reduce is declared in cuda_on_cpu.h already.
#pragma once
