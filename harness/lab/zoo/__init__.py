"""`hate zoo`: people on whom verification works worse, or better, than on others.

After Doddington and others, "Sheep, Goats, Lambs and Wolves" (1998), and Yager and Dunstone, "The Biometric Menagerie"
(2010).
"""

from harness.plugins import CommandEntry

ZOO = CommandEntry(
    name="zoo",
    summary="the biometric zoo: goats, lambs, wolves and other people, by their scores",
    where="harness.lab.zoo.command:zoo_command",
)
