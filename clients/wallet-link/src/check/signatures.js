// Whether a SignatureMap has a valid signature, and of which kind of key.

import { ed25519 } from "@noble/curves/ed25519.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { decodeBase64 } from "../envelope.js";
import { readFields } from "../transaction.js";

const PAIR = 1, PREFIX = 1; // fields of SignatureMap and SignaturePair
const KINDS = {
  3: { kind: "ED25519", length: 32, isValid: (signature, content, key) => ed25519.verify(signature, content, key) },
  6: { kind: "ECDSA", length: 33, isValid: (signature, content, key) => secp256k1.verify(signature, keccak_256(content), key, { prehash: false, lowS: false }) },
};

/**
 * The signature of a map, checked. Throws a sentence if it is not one valid signature of a key.
 * @param {string} signatureMap in base64
 * @param {Uint8Array} content that was to be signed
 * @returns {"ED25519" | "ECDSA"}
 */
export function checkSignature(signatureMap, content) {
  const pairs = readFields(decodeBase64(signatureMap)).filter(([field]) => field === PAIR);
  if (pairs.length !== 1) throw new Error(`The map has ${pairs.length} signatures, not one`);
  const fields = readFields(pairs[0][1]);
  const key = fields.find(([field]) => field === PREFIX)?.[1];
  const [field, signature] = fields.find(([number]) => number in KINDS) ?? [0, new Uint8Array()];
  const { kind, length, isValid } = KINDS[field] ?? {};
  if (!kind) throw new Error("The signature is of no key that Hedera has");
  if (key?.length !== length) throw new Error(`pubKeyPrefix has ${key?.length ?? 0} bytes: it must be the whole public key, ${length}`);
  if (!isValid(signature, content, key)) throw new Error("The signature is not of these bytes");
  return kind;
}
