// cg::inclusive_scan and cg::exclusive_scan are declared in cuda_on_cpu.h already.
#pragma once
