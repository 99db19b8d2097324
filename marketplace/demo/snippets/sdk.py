"""pip install hiero-sdk-python; python sign.py"""

import base64

from hiero_sdk_python import PrivateKey
from hiero_sdk_python.transaction.transaction import Transaction

byte_array = "BYTE_ARRAY"

transaction = Transaction.from_bytes(base64.b64decode(byte_array))
key = PrivateKey.generate_ed25519()  # yours: PrivateKey.from_string_ed25519(...)
transaction.sign(key)

print(base64.b64encode(transaction.to_bytes()).decode())  # paste it above
