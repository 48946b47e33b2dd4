"""What the Makefile runs: `python -m tools` lists the tools, `python -m tools NAME …` runs one."""
