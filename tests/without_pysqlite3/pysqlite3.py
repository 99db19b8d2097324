"""Hides the package of this name from programs that have this folder in PYTHONPATH.

They run with the SQLite of the standard library then, as on machines for which there is no pysqlite3.
"""

raise ImportError("pysqlite3 is hidden")
