"""Clocks, throttle state, energy and users of a GPU through NVML, which needs no CUDA context."""

from __future__ import annotations

from typing import Any

THROTTLE_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "software thermal",
    0x0000000000000040: "hardware thermal",
    0x0000000000000080: "power brake",
}
"""Bits of NVML's clocks-event reasons that slow a kernel down; idleness and user settings are left out."""


class Telemetry:
    """Readings of one GPU; empty strings when nvidia-ml-py is missing or the driver has no value."""

    def __init__(self, pci_bus_id: str) -> None:
        self.driver = ""
        self._nvml: Any = None
        try:
            import pynvml
        except ImportError:
            return
        try:
            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode())
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            self._nvml = pynvml
        except pynvml.NVMLError:
            return

    def read(self) -> dict[str, str]:
        """``sm_clock_mhz``, ``memory_clock_mhz`` and ``throttle`` (reasons, or ``none``)."""
        values = {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}
        nvml = self._nvml
        if nvml is None:
            return values
        try:
            values["sm_clock_mhz"] = str(nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_SM))
            values["memory_clock_mhz"] = str(nvml.nvmlDeviceGetClockInfo(self._handle, nvml.NVML_CLOCK_MEM))
            bits = nvml.nvmlDeviceGetCurrentClocksEventReasons(self._handle)
            values["throttle"] = (
                "; ".join(text for bit, text in THROTTLE_REASONS.items() if bits & bit) or "none"
            )
        except nvml.NVMLError:
            return values
        return values

    def energy_joules(self) -> float | None:
        """Energy used by the board since the driver was loaded; None for GPUs without the counter."""
        if self._nvml is None:
            return None
        try:
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3
        except self._nvml.NVMLError:
            return None

    def other_processes(self) -> int:
        """How many processes beside this one compute on the GPU; 0 where the driver has no answer."""
        if self._nvml is None:
            return 0
        try:
            return max(0, len(self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)) - 1)
        except self._nvml.NVMLError:
            return 0
