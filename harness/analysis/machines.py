"""Whether times and memory of several runs can be compared: on which machine each of them ran."""

from collections.abc import Sequence

from harness.measures import Measure, Reads
from harness.model import join_names
from harness.transcript.format import Header

# Names that a sentence lists.
MAX_NAMED = 4
MAY_DIFFER = "a difference in time or memory may be the machines', not the algorithms'."


def machine(header: Header) -> str:
    """Processor and platform of a run; empty if its transcript does not say."""
    cpu = header.cpu.strip() if isinstance(header.cpu, str) else ""
    return f"{cpu} ({header.platform})" if cpu and header.platform else cpu


def machine_lines(names: Sequence[str], headers: Sequence[Header]) -> list[str]:
    """A sentence if runs were made on different machines, or if it is not known on which; none for a single run."""
    if len(names) < 2:
        return []
    by_machine: dict[str, list[str]] = {}
    for name, header in zip(names, headers, strict=True):
        by_machine.setdefault(machine(header), []).append(name)
    unknown = by_machine.pop("", [])
    lines = []
    if len(by_machine) > 1:
        places = [f"{join_names(own, MAX_NAMED)} ran on {where}" for where, own in list(by_machine.items())[:MAX_NAMED]]
        places += ["others elsewhere"] * (len(by_machine) > MAX_NAMED)
        lines.append(f"{', '.join(places)}: {MAY_DIFFER}")
    if unknown:
        lines.append(f"It is not known on which machine {join_names(unknown, MAX_NAMED)} ran: {MAY_DIFFER}")
    return lines


def machine_cautions(measure: Measure, names: Sequence[str], headers: Sequence[Header]) -> list[str]:
    """The same of runs that are compared by this measure, if it is a time or memory."""
    return machine_lines(names, headers) if measure.reads is Reads.RESOURCES else []
