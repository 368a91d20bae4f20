"""Clocks and throttle state of a GPU through NVML, which needs no CUDA context."""

from __future__ import annotations

from typing import Any

THROTTLE_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "software thermal",
    0x0000000000000040: "hardware thermal",
    0x0000000000000080: "power brake",
}
"""Bits of NVML's clocks-event reasons that slow a kernel down; idleness and user settings do not count."""


class Telemetry:
    """Readings of one GPU; empty strings when nvidia-ml-py is missing or the driver does not tell."""

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
