"""Settings shared by all tests."""

from hypothesis import settings

# The same examples on every run, so a red test is red for everybody.
settings.register_profile(
    "attnbook", derandomize=True, deadline=None, database=None, max_examples=60
)
settings.load_profile("attnbook")

# Run by hand, with PyTorch, which no test needs.
collect_ignore = ["package/golden/make_smollm2.py", "package/golden/make_storyteller.py"]
