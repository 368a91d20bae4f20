"""Reads clocks, throttle state, energy and processes of a GPU through NVML, which needs no CUDA context."""

from __future__ import annotations

from typing import Any

THROTTLE_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "software thermal",
    0x0000000000000040: "hardware thermal",
    0x0000000000000080: "power brake",
}
"""Maps NVML's bits for throttle reasons to names. Idle clocks and limits that a user has set are left out."""


class Telemetry:
    """Reads clocks, energy and processes of one GPU through NVML. If the package nvidia-ml-py is missing, or
    if NVML fails, the methods return empty strings, None for the energy, and 0 for the number of
    processes."""

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

    def _ask(self, function: str, *arguments: object) -> Any:
        """Call a function of NVML for the GPU. Returns its result, or None if the call fails."""
        if self._nvml is None:
            return None
        try:
            return getattr(self._nvml, function)(self._handle, *arguments)
        except self._nvml.NVMLError:
            return None

    def read(self) -> dict[str, str]:
        """Returns the current values of ``sm_clock_mhz``, ``memory_clock_mhz`` and ``throttle``. ``throttle``
        lists the reasons for lower clocks, or is ``none``."""
        values = {"sm_clock_mhz": "", "memory_clock_mhz": "", "throttle": ""}
        if self._nvml is None:
            return values
        for name, clock in (("sm", self._nvml.NVML_CLOCK_SM), ("memory", self._nvml.NVML_CLOCK_MEM)):
            megahertz = self._ask("nvmlDeviceGetClockInfo", clock)
            values[f"{name}_clock_mhz"] = "" if megahertz is None else str(megahertz)
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is not None:
            reasons = (text for bit, text in THROTTLE_REASONS.items() if bits & bit)
            values["throttle"] = "; ".join(reasons) or "none"
        return values

    def energy_joules(self) -> float | None:
        """Returns the energy in J that the board has used since NVIDIA's driver was loaded. Returns None if
        the GPU has no energy counter."""
        millijoules = self._ask("nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoules is None else int(millijoules) / 1e3

    def other_processes(self) -> int:
        """Returns how many other processes compute on the GPU. Returns 0 if the driver does not report the
        number."""
        return max(0, len(self._ask("nvmlDeviceGetComputeRunningProcesses") or ()) - 1)
