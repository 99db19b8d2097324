// The relays between dApps and wallets, in this process: WalletConnect's (JSON-RPC, irn_*) and that of
// HashConnect 0.x (sub and pub). They pass on what they cannot read, as the real ones do.
import { WebSocket, WebSocketServer } from "ws";

const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
const subscribers = new Map(); // a topic's, each {socket, id}
const waiting = new Map(); // a topic's messages that came before anybody subscribed

export const startRelay = () => new Promise((resolve) => server.once("listening", resolve));

export const stopRelay = () => {
  server.clients.forEach((client) => client.terminate());
  server.close();
};

/** Whatever address a library asks for, it is connected to the relay in this process. */
export class RelaySocket extends WebSocket {
  constructor(address) {
    super(`ws://127.0.0.1:${server.address().port}/${new URL(address).host}`);
  }
}

server.on("connection", (socket, request) => {
  const isFirstHashConnect = request.url.includes("hashconnect");
  const answer = isFirstHashConnect ? relayHashConnect : relayWalletConnect;
  socket.on("message", (data) => answer(socket, JSON.parse(data)));
});

const subscribe = (topic, socket, id, send) => {
  const others = (subscribers.get(topic) ?? []).filter((one) => one.socket !== socket);
  subscribers.set(topic, [...others, { socket, id, send }]);
  (waiting.get(topic) ?? []).forEach((message) => send(message));
  waiting.delete(topic);
};

const publish = (topic, sender, message) => {
  const receivers = (subscribers.get(topic) ?? []).filter(({ socket }) => socket !== sender);
  if (receivers.length === 0) waiting.set(topic, [...(waiting.get(topic) ?? []), message]);
  receivers.forEach(({ send }) => send(message));
};

function relayHashConnect(socket, { action, topic, payload }) {
  if (action === "sub") subscribe(topic, socket, topic, (message) => socket.send(message));
  if (action === "pub") publish(topic, socket, payload);
}

let lastId = 0;

function relayWalletConnect(socket, { id, method, params, result, error }) {
  if (result !== undefined || error !== undefined) return; // the receipt of a subscription
  const reply = (what) => socket.send(JSON.stringify({ id, jsonrpc: "2.0", result: what }));
  const listen = (topic) => {
    const subscription = `${topic}-${(lastId += 1)}`;
    subscribe(topic, socket, subscription, (data) =>
      socket.send(JSON.stringify({
        id: Date.now() * 1000 + (lastId += 1),
        jsonrpc: "2.0",
        method: "irn_subscription",
        params: { id: subscription, data: { ...data, topic, publishedAt: Date.now() } },
      })));
    return subscription;
  };
  if (method === "irn_subscribe") reply(listen(params.topic));
  else if (method === "irn_batchSubscribe") reply(params.topics.map(listen));
  else if (method === "irn_batchFetchMessages") reply({ messages: [], hasMore: false });
  else {
    reply(true);
    if (method === "irn_publish")
      publish(params.topic, socket, { message: params.message, tag: params.tag });
  }
}
