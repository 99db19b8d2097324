/** For tests of what uses Hedera: controls a running hiero-sandbox. Needs Node.js 18 or a browser. */

export class Sandbox {
  constructor(url = "http://127.0.0.1:5551") {
    this.url = url;
    this.mirror = `${url}/api/v1`;
  }

  /** The accounts that the ledger begins with: accountId, privateKey, keyType, evmAddress. */
  accounts = async () => (await this.#ask("/accounts")).accounts;

  /** Give an account HBAR of 0.0.2. */
  give = (accountId, amount) => this.#ask("/faucet", { accountId, amount });

  /** Begin again, with the known accounts alone. Drops all snapshots. */
  reset = () => this.#ask("/reset", {});

  /** Copy the ledger and its clock; returns the snapshot's number. */
  snapshot = async () => (await this.#ask("/snapshot", {})).snapshot;

  /** Put the ledger and its clock back. Ends lag and faults. */
  restore = (snapshot) => this.#ask("/restore", { snapshot });

  /** Give back a snapshot's memory. */
  drop = (snapshot) => this.#ask("/drop", { snapshot });

  /** The ledger's time as a timestamp: "1795823136.512345678". */
  clock = async () => (await this.#ask("/clock")).now;

  /** Move the ledger's clock forward to a timestamp. */
  setClock = (now) => this.#ask("/clock", { now });

  /** Move the ledger's clock forward. */
  moveClock = (seconds) => this.#ask("/clock", { seconds });

  /** Let the mirror node lag by this many seconds. Moving the clock counts. */
  setLag = (seconds) => this.#ask("/lag", { seconds });

  /** Let receipts be UNKNOWN for this many seconds. Moving the clock counts. */
  setDelay = (seconds) => this.#ask("/delay", { seconds });

  /**
   * Let the next requests fail: NODE_BUSY, NODE_UNAVAILABLE, MIRROR_429 or MIRROR_503.
   * With a result code, such as TOKEN_IS_PAUSED, the next transactions fail at consensus.
   */
  fail = (fault, requests = 1) => this.#ask("/fault", { fault, requests });

  async #ask(path, body) {
    const headers = { "Content-Type": "application/json" };
    const sent = body && { method: "POST", headers, body: JSON.stringify(body) };
    const answer = await fetch(this.url + path, sent);
    const content = await answer.json();
    if (!answer.ok) throw new Error(content.message);
    return content;
  }
}
