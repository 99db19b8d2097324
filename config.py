"""Settings that this deployment fixes in a file, for wsgi.py: they beat the environment.

Names are those of docs/settings.md, without their prefix:
``{"NAME": "The shop", "WALLETS": "extwallet,hashpack"}``.
"""

SETTINGS: dict[str, str] = {}
