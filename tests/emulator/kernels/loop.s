	.type	kernel, @function
kernel:
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # first
	je	.L3
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # forward
.L2:
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # target
	call	*__tsan_read4@GOTPCREL(%rip)
	je	.L4
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # branch
.L4:
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # source
	jne	.L2
.L3:
	call	*__sanitizer_cov_trace_pc@GOTPCREL(%rip) # last
	ret
	.size	kernel, .-kernel
