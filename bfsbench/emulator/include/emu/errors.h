// The errors of CUDA's runtime API. Each entry holds the error's name, number and message.
#pragma once

#define EMU_ERRORS(X)                                                                             \
    X(cudaSuccess, 0, "no error")                                                                 \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                               \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                              \
    X(cudaErrorInitializationError, 3, "initialization error")                                    \
    X(cudaErrorCudartUnloading, 4, "driver shutting down")                                        \
    X(cudaErrorProfilerDisabled, 5, "profiler disabled while using external profiling tool")      \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                         \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                   \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                        \
    X(cudaErrorInvalidHostPointer, 16, "invalid host pointer")                                    \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                                \
    X(cudaErrorInvalidTexture, 18, "invalid texture reference")                                   \
    X(cudaErrorInvalidChannelDescriptor, 20, "invalid channel descriptor")                        \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                   \
    X(cudaErrorInvalidFilterSetting, 26, "linear filtering not supported for non-float type")     \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorMissingConfiguration, 52, "__global__ function call is not configured")            \
    X(cudaErrorLaunchPendingCountExceeded, 69, "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount") \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                              \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                               \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                      \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                         \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device") \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                             \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")       \
    X(cudaErrorNotReady, 600, "device not ready")                                                 \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                   \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")              \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                     \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                   \
    X(cudaErrorPeerAccessNotEnabled, 705, "peer access has not been enabled")                     \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                       \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped") \
    X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region") \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                      \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                  \
    X(cudaErrorCooperativeLaunchTooLarge, 720, "too many blocks in cooperative launch")           \
    X(cudaErrorNotPermitted, 800, "operation not permitted")                                      \
    X(cudaErrorNotSupported, 801, "operation not supported")                                      \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing") \
    X(cudaErrorGraphExecUpdateFailure, 910, "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update")\
    X(cudaErrorUnknown, 999, "unknown error")

#define EMU_NUMBER(name, number, message) name = number,
enum cudaError : int {
    EMU_ERRORS(EMU_NUMBER)
    // Errors that the emulator never returns. Programs name them in tables of errors.
    cudaErrorProfilerNotInitialized = 6, cudaErrorProfilerAlreadyStarted = 7,
    cudaErrorProfilerAlreadyStopped = 8, cudaErrorInvalidTextureBinding = 19, cudaErrorAddressOfConstant = 22,
    cudaErrorTextureFetchFailed = 23, cudaErrorTextureNotBound = 24, cudaErrorSynchronizationError = 25,
    cudaErrorInvalidNormSetting = 27, cudaErrorMixedDeviceExecution = 28, cudaErrorNotYetImplemented = 31,
    cudaErrorMemoryValueTooLarge = 32, cudaErrorStubLibrary = 34, cudaErrorCallRequiresNewerDriver = 36,
    cudaErrorInvalidSurface = 37, cudaErrorDuplicateVariableName = 43, cudaErrorDuplicateTextureName = 44,
    cudaErrorDuplicateSurfaceName = 45, cudaErrorDevicesUnavailable = 46,
    cudaErrorIncompatibleDriverContext = 49, cudaErrorPriorLaunchFailure = 53,
    cudaErrorLaunchMaxDepthExceeded = 65, cudaErrorLaunchFileScopedTex = 66,
    cudaErrorLaunchFileScopedSurf = 67, cudaErrorSyncDepthExceeded = 68, cudaErrorDeviceNotLicensed = 102,
    cudaErrorSoftwareValidityNotEstablished = 103, cudaErrorStartupFailure = 127,
    cudaErrorDeviceUninitialized = 201, cudaErrorMapBufferObjectFailed = 205,
    cudaErrorUnmapBufferObjectFailed = 206, cudaErrorArrayIsMapped = 207, cudaErrorAlreadyMapped = 208,
    cudaErrorAlreadyAcquired = 210, cudaErrorNotMapped = 211, cudaErrorNotMappedAsArray = 212,
    cudaErrorNotMappedAsPointer = 213, cudaErrorECCUncorrectable = 214, cudaErrorUnsupportedLimit = 215,
    cudaErrorDeviceAlreadyInUse = 216, cudaErrorPeerAccessUnsupported = 217, cudaErrorInvalidPtx = 218,
    cudaErrorInvalidGraphicsContext = 219, cudaErrorNvlinkUncorrectable = 220,
    cudaErrorJitCompilerNotFound = 221, cudaErrorUnsupportedPtxVersion = 222,
    cudaErrorJitCompilationDisabled = 223, cudaErrorUnsupportedExecAffinity = 224,
    cudaErrorUnsupportedDevSideSync = 225, cudaErrorContained = 226, cudaErrorInvalidSource = 300,
    cudaErrorFileNotFound = 301, cudaErrorSharedObjectSymbolNotFound = 302,
    cudaErrorSharedObjectInitFailed = 303, cudaErrorOperatingSystem = 304, 
    cudaErrorLossyQuery = 402, cudaErrorSymbolNotFound = 500, cudaErrorLaunchIncompatibleTexturing = 703,
    cudaErrorSetOnActiveProcess = 708, cudaErrorContextIsDestroyed = 709, cudaErrorTooManyPeers = 711,
    cudaErrorHardwareStackError = 714, cudaErrorIllegalInstruction = 715, cudaErrorInvalidAddressSpace = 717,
    cudaErrorInvalidPc = 718, cudaErrorTensorMemoryLeak = 721, cudaErrorSystemNotReady = 802,
    cudaErrorSystemDriverMismatch = 803, cudaErrorCompatNotSupportedOnDevice = 804,
    cudaErrorMpsConnectionFailed = 805, cudaErrorMpsRpcFailure = 806, cudaErrorMpsServerNotReady = 807,
    cudaErrorMpsMaxClientsReached = 808, cudaErrorMpsMaxConnectionsReached = 809,
    cudaErrorMpsClientTerminated = 810, cudaErrorCdpNotSupported = 811, cudaErrorCdpVersionMismatch = 812,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureMerge = 902, cudaErrorStreamCaptureUnmatched = 903,
    cudaErrorStreamCaptureUnjoined = 904, cudaErrorStreamCaptureIsolation = 905,
    cudaErrorStreamCaptureImplicit = 906, cudaErrorCapturedEvent = 907,
    cudaErrorStreamCaptureWrongThread = 908, cudaErrorTimeout = 909, 
    cudaErrorExternalDevice = 911, cudaErrorInvalidClusterSize = 912, cudaErrorFunctionNotLoaded = 913,
    cudaErrorInvalidResourceType = 914, cudaErrorInvalidResourceConfiguration = 915,
    cudaErrorApiFailureBase = 10000,
};
#undef EMU_NUMBER
using cudaError_t = cudaError;

using cudaStream_t = struct emu_stream*;
