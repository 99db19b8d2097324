"""Compiles werkzeug's builder of each address once in a process, because tests make a thousand applications.

All applications have the same rules, and to compile their builders took half of the time of making one.
"""

from functools import wraps

from werkzeug.routing import Rule


def share() -> None:
    """Let all rules of the same text and parts have the same builder: it reads all else of the rule."""
    compile_builder, builders = Rule._compile_builder, {}
    if hasattr(compile_builder, "__wrapped__"):
        return

    @wraps(compile_builder)
    def find_or_compile(rule: Rule, append_unknown: bool = True):
        key = (rule.rule, tuple(rule._trace), append_unknown)
        if rule.defaults:  # they are compiled, too
            return compile_builder(rule, append_unknown)
        if key not in builders:
            builders[key] = compile_builder(rule, append_unknown)
        return builders[key]

    Rule._compile_builder = find_or_compile
