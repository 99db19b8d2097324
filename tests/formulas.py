"""Names that a spreadsheet takes for formulas, and others."""

# Each is a formula, or has one behind a separator of some language: OWASP's "CSV Injection".
FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "\r=1+1", "\n=1+1", " =1+1", "\t1", "\r1", "\n1",
    "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff201", '"=1+1', "'=1+1",
]  # fmt: skip
HIDDEN = [
    "Cat;=1+1",
    "Cat; =1+1",
    'Cat";=1+1',
    'Cat;"=1+1"',
    "Cat\t=1+1",
    "Cat\n=1+1",
    "Cat\r\n=1+1",
]
PLAIN = ["Cat", "Cat - Dog", "Cat, -Dog", "1;2", "a=b", "Käthe\u2019s ☂", "[1]", "it's"]
