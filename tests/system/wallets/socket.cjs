// What stands for the packages ws and isomorphic-ws: the libraries' own addresses lead to the relay here.
class Redirected {
  constructor(...parameters) {
    return new globalThis.WebSocket(...parameters);
  }
}
module.exports = Object.assign(Redirected, { default: Redirected, WebSocket: Redirected, __esModule: true });
