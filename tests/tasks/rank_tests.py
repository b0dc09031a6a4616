"""Small identification tests, written into a workshop."""

from pathlib import Path

from tests.workshop import Workshop

GALLERY = "id,input,expect,session\ng1,p1_1,ann,1\ng2,p2_1,bob,1\ng3,p3_1,cat,1\ng4,p1_2,ann,2\n"
PROBES = "id,input,expect,positive,session\nq1,p1_3,ann,true,3\nq2,p2_3,bob,true,3\nq3,p3_3,cat,true,3\n"
STRANGER = "q4,p9_3,dan,false,3\n"
THRESHOLD = '[params.threshold]\ntype = "float"\ndefault = 0.5\ndecision = true\n'
# Scores by gallery image: ann is found at once, bob comes second, cat ties with bob.
SCORES = {
    "q1": {"g1": 0.2, "g2": 0.3, "g3": 0.1, "g4": 0.9},
    "q2": {"g1": 0.4, "g2": 0.6, "g3": 0.8, "g4": 0.1},
    "q3": {"g1": 0.1, "g2": 0.7, "g3": 0.7, "g4": 0.2},
    "q4": {"g1": 0.1, "g2": 0.4, "g3": 0.55, "g4": 0.2},
}


def identification(
    shop: Workshop, *, keys: str = "", sections: str = "", gallery: str = GALLERY, probes: str = PROBES
) -> Path:
    """The toy test as an identification test."""
    shop.write("toy/gallery.csv", gallery)
    return shop.script(task="rank", keys=keys, sections=f'{sections}\n[gallery]\ntable = "gallery.csv"\n', rows=probes)


def open_set(shop: Workshop) -> Path:
    """The same with a stranger and a threshold."""
    return identification(shop, sections=THRESHOLD, probes=PROBES + STRANGER)
