"""Settings of this deployment, for wsgi.py. They override the environment.

The names are in docs/settings.md; leave out their prefix:
``{"NAME": "The shop", "WALLETS": "extwallet,hashpack"}``.
"""

SETTINGS: dict[str, str] = {}
