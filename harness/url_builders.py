"""Compiles each address of werkzeug's once in a process, because tests make a thousand applications.

All applications have the same rules, and compiling them took half of the time of making one.
"""

from functools import wraps

from werkzeug.routing import Rule

COPIED = ("_parts", "_trace", "_converters")


def share() -> None:
    """Let all rules of the same text and converters share their patterns and URL builders."""
    compile_rule, compiled = Rule.compile, {}
    if hasattr(compile_rule, "__wrapped__"):
        return

    @wraps(compile_rule)
    def compile_or_copy(rule: Rule) -> None:
        text = (rule.rule, rule.subdomain, rule.host, rule.merge_slashes, rule.map.host_matching)
        key = (*text, *rule.map.converters.items())
        if rule.defaults:  # they are compiled, too
            compile_rule(rule)
        elif first := compiled.get(key):
            for name in COPIED:
                setattr(rule, name, getattr(first, name))
            rule.arguments |= first.arguments
            rule._build = first._build.__func__.__get__(rule, None)
            rule._build_unknown = first._build_unknown.__func__.__get__(rule, None)
        else:
            compile_rule(rule)
            compiled[key] = rule

    Rule.compile = compile_or_copy
