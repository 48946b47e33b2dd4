"""What the Makefile runs: `python -m tools` lists the tools, `python -m tools NAME …` runs one."""

# Seconds that anything may be waited for, in tests and tools alike: a condition is waited for, and
# this only ends what will never come. A machine that does much else at once is slow, not wrong.
PATIENCE = 600
