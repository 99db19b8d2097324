"""How many random cases a test tries: more with Hypothesis' profile of ``make test-all``."""

import hypothesis

# 1 with the profile "patient", 3 with "thorough": conftest.py has both.
SEEDS = range(hypothesis.settings().max_examples // 20)
