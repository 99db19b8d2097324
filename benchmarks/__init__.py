"""What is measured, and how: each prints its figures, none is a test."""
