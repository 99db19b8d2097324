"""What the documents' blocks name."""

# What a copy of the clone does without; the folders among it are what may be left there.
LOCAL = (
    ".*",
    "instance",
    "__pycache__",
    "node_modules",
    "screenshots",
    "build",
    "dist",
    "*.egg-info",
)
