// Reads protobuf messages by a schema, strictly: what the schema does not know, or what comes twice, is an error.

import { MarketError } from "./errors.js";

const VARINT = 0, BYTES = 2; // wire types
const TEXT = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @typedef {"int" | "zigzag" | "bool" | "text" | "bytes"} Scalar */
/** @typedef {{ [number: number]: [name: string, type: Scalar | Schema, repeated?: "repeated"] }} Schema fields by their numbers */

const unreadable = (what) => new MarketError("NOT_AS_ORDERED", `The transaction can't be read: ${what}`);

/** Read a message. @param {Uint8Array} content @param {Schema} schema @returns {any} */
export function read(content, schema) {
  const message = Object.fromEntries(Object.values(schema).filter(([, , repeated]) => repeated).map(([name]) => [name, []]));
  for (const [number, wire, value] of fieldsOf(content)) {
    if (!(number in schema)) throw unreadable(`it has an unknown field ${number}`);
    const [name, type, repeated] = schema[number];
    const isPacked = repeated && type === "int" && wire === BYTES;
    const values = isPacked ? varintsOf(value).map(signed) : [convert(wire, value, type)];
    if (repeated) message[name].push(...values);
    else if (name in message) throw unreadable(`it has ${name} twice`);
    else message[name] = values[0];
  }
  return message;
}

function convert(wire, value, type) {
  const isVarint = ["int", "zigzag", "bool"].includes(type);
  if (wire !== (isVarint ? VARINT : BYTES)) throw unreadable("a field has another type");
  if (type === "int") return signed(value);
  if (type === "zigzag") return signed((value >> 1n) ^ -(value & 1n));
  if (type === "bool") return value !== 0n;
  if (type === "bytes") return value;
  return type === "text" ? readText(value) : read(value, type);
}

const signed = (value) => BigInt.asIntN(64, value);

function readText(value) {
  try {
    return TEXT.decode(value);
  } catch {
    throw unreadable("a text is not UTF-8");
  }
}

/** The fields of a message in their order: [number, wire type, BigInt or bytes]. @returns {Generator<[number, number, any]>} */
function* fieldsOf(content) {
  const place = { at: 0 };
  while (place.at < content.length) {
    const tag = Number(varint(content, place));
    const [number, wire] = [Math.floor(tag / 8), tag % 8];
    if (wire === VARINT) yield [number, wire, varint(content, place)];
    else if (wire === BYTES) {
      const length = Number(varint(content, place));
      if (place.at + length > content.length) throw unreadable("it is cut off");
      yield [number, wire, content.subarray(place.at, (place.at += length))];
    } else throw unreadable("it has a field of another kind");
  }
}

function varintsOf(content) {
  const place = { at: 0 }, values = [];
  while (place.at < content.length) values.push(varint(content, place));
  return values;
}

function varint(content, place) {
  for (let value = 0n, shift = 0n; shift < 70n; shift += 7n) {
    if (place.at >= content.length) break;
    const byte = content[place.at];
    place.at += 1;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return BigInt.asUintN(64, value);
  }
  throw unreadable("it is cut off");
}

/** The fields of a message by their numbers, each once, without a schema. @param {Uint8Array} content */
export function outline(content) {
  /** @type {Map<number, any>} */
  const fields = new Map();
  for (const [number, , value] of fieldsOf(content)) {
    if (fields.has(number)) throw unreadable(`it has the field ${number} twice`);
    fields.set(number, value);
  }
  return fields;
}

/** @param {string} text in base64 */
export function decodeBase64(text) {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    throw unreadable("it is not base64");
  }
}
