// A service that answers what a test says, and remembers what it was asked.
import { createServer } from "node:http";
import { parse } from "../src/json.js";

/** @param {(request: {method: string, url: string, body: any, headers: any}) => any} answer {status, headers, text, json}, or null for a lost connection */
export async function serve(answer, act) {
  const asked = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const made = { method: request.method, url: request.url, headers: request.headers, body: text ? parse(text) : undefined };
    asked.push(made);
    const { status = 200, headers = {}, json, text: said = JSON.stringify(json), cut } = answer(made, asked.length) ?? { cut: true };
    if (cut && !said) return request.socket.destroy();
    response.writeHead(status, { "Content-Type": "application/json", ...headers, ...(cut ? { "Content-Length": said.length + 9 } : {}) });
    response.write(status === 304 ? "" : said);
    return cut ? setTimeout(() => request.socket.destroy(), 20) : response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await act(`http://127.0.0.1:${server.address().port}`, asked);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
