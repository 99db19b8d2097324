// The same reads in Fastify: a hook that checks the token, JSON schemas in and out, the same SQL.

import { createHash, timingSafeEqual } from "node:crypto";
import Database from "better-sqlite3";
import Fastify from "fastify";

const MEDIA_URL = process.env.BENCH_MEDIA_URL;
const db = new Database(process.env.BENCH_DATABASE);
const findToken = db.prepare("SELECT * FROM access_token WHERE hash = :hash");
const findNft = db.prepare("SELECT * FROM nft WHERE token = :token AND serial_no = :serialNo");
const listOrderbook = db.prepare(`
  SELECT * FROM nft
  WHERE is_listed = 1
  ORDER BY listed_order DESC, token, serial_no
  LIMIT :limit + 0 OFFSET :offset
`);

const nft = {
  type: "object",
  properties: {
    token: { type: "string" },
    serialNo: { type: "integer" },
    name: { type: "string" },
    fileType: { type: "string" },
    isForSale: { type: "boolean" },
    stringifiedAttributes: { type: "string", nullable: true },
    imageUrl: { type: "string" },
    originalImageUrl: { type: "string", nullable: true },
    listingPrice: { type: "integer" },
    lastListedDate: { type: "string", nullable: true },
    owner: { type: "object", properties: { accountId: { type: "string" } } },
  },
};

const toNft = (row) => ({
  token: row.token,
  serialNo: row.serial_no,
  name: row.name,
  fileType: row.file_type,
  isForSale: row.is_for_sale === 1,
  stringifiedAttributes: row.attributes,
  imageUrl: `${MEDIA_URL}/${row.image ?? "placeholder.webp"}`,
  originalImageUrl: row.original_image_url,
  listingPrice: row.listing_price,
  lastListedDate: row.last_listed_at && `${row.last_listed_at.slice(0, 23)}Z`,
  owner: { accountId: row.owner },
});

const refuse = (statusCode, message) => Object.assign(new Error(message), { statusCode });

async function requireRead(request) {
  const match = /^Bearer +([\w.~+/=-]+) *$/i.exec(request.headers.authorization ?? "");
  if (!match) throw refuse(401, "A bearer token is needed");
  const hash = createHash("sha256").update(match[1]).digest("hex");
  const row = findToken.get({ hash });
  if (
    !row ||
    !timingSafeEqual(Buffer.from(row.hash), Buffer.from(hash)) ||
    row.revoked_at ||
    (row.expires_at && row.expires_at <= new Date().toISOString())
  ) {
    throw refuse(401, "This token is not valid");
  }
  if (!row.scopes.split(" ").includes("read")) throw refuse(403, "This token may not read");
}

const fastify = Fastify();

fastify.get(
  "/v1/orderbook",
  {
    onRequest: requireRead,
    schema: {
      querystring: {
        type: "object",
        properties: {
          limit: { type: "integer", minimum: 1, maximum: 20, default: 20 },
          offset: { type: "integer", minimum: 0, default: 0 },
        },
      },
      response: { 200: { type: "array", items: nft } },
    },
  },
  async (request, reply) => {
    const { limit, offset } = request.query;
    const rows = listOrderbook.all({ limit: limit + 1, offset });
    if (rows.length > limit) {
      reply.header("Link", `</v1/orderbook?limit=${limit}&offset=${offset + limit}>; rel="next"`);
    }
    return rows.slice(0, limit).map(toNft);
  },
);

fastify.get(
  "/v1/nft/:token/:serialNo",
  {
    onRequest: requireRead,
    schema: {
      params: {
        type: "object",
        properties: {
          token: { type: "string", pattern: "^[0-9]+\\.[0-9]+\\.[0-9]+$" },
          serialNo: { type: "integer", minimum: 1 },
        },
      },
      response: { 200: nft },
    },
  },
  async (request) => {
    const { token, serialNo } = request.params;
    const row = findNft.get({ token, serialNo });
    if (!row) throw refuse(404, `${token} #${serialNo} is not stored`);
    return toNft(row);
  },
);

await fastify.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
