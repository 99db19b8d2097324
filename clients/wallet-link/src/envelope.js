// What goes over the relay: messages that only the two ends can read, and the keys for them.
// Source: https://specs.walletconnect.com/2.0/specs/clients/core/crypto

import { chacha20poly1305 } from "@noble/ciphers/chacha.js";
import { ed25519, x25519 } from "@noble/curves/ed25519.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, randomBytes, utf8ToBytes } from "@noble/hashes/utils.js";

const NONCE_BYTES = 12, KEY_BYTES = 32, DAY_SECONDS = 86_400;
const PLAIN_KEY = 0, WITH_SENDERS_KEY = 1; // types of envelopes
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const ED25519_CODEC = "ed01";

export const randomKey = () => bytesToHex(randomBytes(KEY_BYTES));

/** The topic of a symmetric key; keys are hexadecimal. @param {string} key */
export const topicOf = (key) => bytesToHex(sha256(hexToBytes(key)));

/** @param {string} secret */
export const publicKeyOf = (secret) => bytesToHex(x25519.getPublicKey(hexToBytes(secret)));

/** The symmetric key of a session. @param {string} secret of one end @param {string} publicKey of the other end */
export function agree(secret, publicKey) {
  const shared = x25519.getSharedSecret(hexToBytes(secret), hexToBytes(publicKey));
  return bytesToHex(hkdf(sha256, shared, undefined, undefined, KEY_BYTES));
}

/** @param {string} key @param {unknown} message */
export function seal(key, message) {
  const nonce = randomBytes(NONCE_BYTES);
  const sealed = chacha20poly1305(hexToBytes(key), nonce).encrypt(utf8ToBytes(JSON.stringify(message)));
  return encodeBase64(concatBytes(Uint8Array.of(PLAIN_KEY), nonce, sealed));
}

/** Throws if it is not of the other end. @param {string} key @param {string} content */
export function open(key, content) {
  const bytes = decodeBase64(content);
  const start = bytes[0] === WITH_SENDERS_KEY ? 1 + KEY_BYTES : 1;
  const nonce = bytes.subarray(start, start + NONCE_BYTES);
  const opened = chacha20poly1305(hexToBytes(key), nonce).decrypt(bytes.subarray(start + NONCE_BYTES));
  return JSON.parse(new TextDecoder().decode(opened));
}

/** The token by which the relay knows this page: a JWT that it signs for itself. @param {string} seed @param {string} audience */
export function makeToken(seed, audience) {
  const secret = hexToBytes(seed), now = Math.floor(Date.now() / 1000);
  const iss = didOf(ed25519.getPublicKey(secret));
  const claims = { iss, sub: randomKey(), aud: audience, iat: now, exp: now + DAY_SECONDS };
  const signed = [{ alg: "EdDSA", typ: "JWT" }, claims].map((part) => urlSafe(utf8ToBytes(JSON.stringify(part)))).join(".");
  return `${signed}.${urlSafe(ed25519.sign(utf8ToBytes(signed), secret))}`;
}

function didOf(publicKey) {
  let number = BigInt(`0x${ED25519_CODEC}${bytesToHex(publicKey)}`), text = "";
  for (; number; number /= 58n) text = BASE58[Number(number % 58n)] + text;
  return `did:key:z${text}`;
}

/** @param {Uint8Array} bytes */
export const encodeBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

/** @param {string} text */
export const decodeBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

const urlSafe = (bytes) => encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
