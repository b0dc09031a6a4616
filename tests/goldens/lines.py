"""The command lines whose output is kept, on the bundled tests; `python -m tests.goldens.make` writes what they print.

A golden is what a command printed once, not what is true: it holds that a rebuilding changes nothing that users see.
"""

import shlex

from tests.rooms import of_commands_here

# Runs that other lines read. Masks without their versions, to be quick.
SETUP = """
run vase --no-vary --interface smooth -o smooth.jsonl
run vase --no-vary --interface threshold -o threshold.jsonl
run faces --interface matrix:eigenfaces_l1.npy -o l1.jsonl
run faces --interface matrix:eigenfaces_mahalanobis.npy -o mahalanobis.jsonl
run blank --interface wisard -o blank-wisard.jsonl
run blank --interface witch -o blank-witch.jsonl
run hdigits --interface witch --limit 90 --repeat 3 -o repeated.jsonl
run hdigits --interface warlock --limit 90 --repeat 3 -o again.jsonl
new matrix a.npy --subjects 20 --images 3 --effect day=0.4 --seed 1
new matrix b.npy --subjects 20 --images 3 --effect day=0.4 --separation 2.6 --seed 2
"""

# Each is asked for JSON, and for CSV if the command has it.
LINES = """
list
list --interfaces
describe hdigits
describe vase
describe faces
describe shapes
describe blank
cases hdigits --limit 5
cases faces --limit 5
cases shapes --limit 5 --truth
cases hdigits --part train --limit 3
status smooth.jsonl
run hdigits --interface wisard -o run-wisard.jsonl --force
run hdigits --interface warlock --train-folds 2 --limit 100 -o run-folds.jsonl --force
run shapes --interface relief -o run-relief.jsonl --force
run vase --interface otsu --limit 12 -o run-otsu.jsonl --force
run blank --interface warlock -o run-blank.jsonl --force
run faces --interface matrix:eigenfaces_l1.npy --gallery image=1 --probe image=2 -o run-l1.jsonl --force
sweep hdigits --interface witch --param threshold=0:60:20
sweep hdigits --interface wisard --param threshold=0,2,4 --statistic kappa
sweep shapes --interface relief --param iou=0.5,0.75 --param threshold=0.2:0.8:0.2
sweep vase --no-vary --interface smooth --param iou=0.5:0.9:0.2
sweep faces --interface matrix:eigenfaces_l1.npy --param rank=1,2,5
tune hdigits --interface wisard --param threshold=0:4:1 --goal cost:fp=20,fn=1
tune hdigits --interface witch --param threshold=0:40:20 --on-test
roc hdigits/wisard hdigits/witch
roc hdigits/wisard --bands wilson --at fpr=0.01 --at fnr=0.1
roc hdigits/wisard --stratum none --psu image --bands simultaneous
roc repeated.jsonl
roc hdigits/wisard hdigits/witch --points 5 --binormal
det hdigits/wisard hdigits/witch --at fpr=0.01
pr hdigits/wisard hdigits/witch
pr shapes/blobs shapes/relief
froc shapes/blobs shapes/relief
cmc l1.jsonl mahalanobis.jsonl --ranks 10
cmc faces --interface matrix:eigenfaces_l1.npy --gallery image=1 --probe image>1 --ranks 10
confusion hdigits/wisard hdigits/witch
confusion smooth.jsonl
show hdigits/wisard --outcome FP --sort -score --limit 5
show shapes/blobs --limit 3
show l1.jsonl --limit 3
diff hdigits/wisard hdigits/witch --limit 5
diff hdigits/wisard hdigits/witch --answers --limit 5
diff smooth.jsonl threshold.jsonl --limit 5
rate hdigits/wisard
rate hdigits/wisard hdigits/witch hdigits/warlock --by truth
rate hdigits/wisard --by truth,positive --statistic rate,kappa
rate hdigits/wisard --at fpr=0.05 --statistic tpr,fpr
rate hdigits/wisard --psu none --stratum none
rate hdigits/wisard --sequential
rate blank-wisard.jsonl blank-witch.jsonl
rate shapes/blobs shapes/relief --by light
rate shapes/relief --statistic ap50:circle,ap50:square,froc
rate smooth.jsonl threshold.jsonl
rate l1.jsonl --statistic rate,rank1,rank5 --stratum none --psu subject
rate repeated.jsonl --statistic rate,pass@2,majority@3
compare hdigits/wisard hdigits/witch
compare hdigits/wisard hdigits/witch hdigits/warlock
compare hdigits/wisard hdigits/witch hdigits/warlock --baseline wisard --multiplicity max-t
compare hdigits/wisard hdigits/witch --by truth
compare hdigits/wisard hdigits/witch hdigits/warlock --by truth --by positive
compare hdigits/wisard hdigits/witch --statistic auc
compare hdigits/wisard hdigits/witch --statistic cost:fp=10,fn=1
compare hdigits/wisard hdigits/witch --margin 0.05
compare hdigits/wisard hdigits/witch --unpaired
compare hdigits/wisard hdigits/witch --items
compare hdigits/wisard hdigits/witch --cross-check
compare hdigits/wisard hdigits/witch --folds truth
compare hdigits/wisard hdigits/witch --at fpr=0.05 --statistic tpr
compare hdigits/wisard hdigits/witch --stratum none --psu none
compare hdigits/wisard hdigits/witch --method bootstrap --seed 3
compare hdigits/wisard hdigits/witch --method jackknife --confidence 0.9
compare hdigits/wisard hdigits/witch --sequential
compare shapes/blobs shapes/relief
compare shapes/blobs shapes/relief --statistic froc
compare smooth.jsonl threshold.jsonl
compare smooth.jsonl threshold.jsonl --statistic pixel_fpr
compare l1.jsonl mahalanobis.jsonl
compare l1.jsonl mahalanobis.jsonl --statistic rank5 --stratum none --psu subject
compare repeated.jsonl again.jsonl
compare repeated.jsonl again.jsonl --statistic pass@2
compare blank-wisard.jsonl blank-witch.jsonl --partial
fuse hdigits/wisard hdigits/witch hdigits/warlock -o vote.jsonl --force
fuse hdigits/wisard hdigits/witch --rule logistic --folds 5 -o both.jsonl --force
power --difference 0.02 --discordance 0.1
power --difference 0.02 --rates 0.90 --per-unit 4 --icc 0.2
power --margin 0.01 --discordance 0.05
power --width 0.02 --rates 0.9
power --rule-of-30 0.001
power --from hdigits/wisard hdigits/witch --difference 0.02
power hdigits/wisard hdigits/witch
galleries a.npy --by day --mix
methods a.npy --gallery day=1 --probe day!=1 --stratum subject
permute a.npy b.npy --labels a.labels.csv --differ day --experiments 200
urn hdigits/wisard --group truth --trial image --elements 71
zoo hdigits/wisard --subjects expect,truth
anova hdigits/wisard hdigits/witch --by truth,positive
import {examples}/logs/small/samples_reading.jsonl {examples}/logs/large/samples_reading.jsonl --psu document
import {examples}/weather.csv --success success -o weather.jsonl --force
publish {scripts}/hdigits hdigits/wisard hdigits/witch --to site
fetch hdigits
"""

# Commands that print no data, or data of other machines; each is held elsewhere.
WITHOUT = {
    "test": "prints only what is unexpected: tests/cli/test_regression.py",
    "report": "writes a page: tests/report",
    "convert": "writes a transcript: tests/products/test_forms.py",
    "serve": "prints where it listens: tests/server",
    "submit": "needs a server: tests/server/test_submit_command.py",
    "token": "secrets: tests/server/test_tokens.py",
    "cache": "what this machine downloaded: tests/site/test_fetch.py",
    "check": "prints mistakes: tests/cli/test_check.py",
    "new": "writes files: tests/script, tests/matrices/test_new_matrix.py",
    "completion": "a shell script: tests/cli/test_commands.py",
}


def lines(text: str) -> dict[str, list[str]]:
    """Command lines as words, but for those of rooms that were taken away."""
    return {line: shlex.split(line) for line in of_commands_here(dict.fromkeys(text.strip().splitlines()))}
