// Who uses a wallet on one's desk. A line of input is the address of a pairing, or what the user does with the next request:
// "refuse", "wait" before approving it, or "close" the wallet and come back. After "invalid" it answers that, always.
// "refuse-pairing" refuses the next one; "end" ends all sessions.
import { createInterface } from "node:readline";

const CLOSED_SECONDS = 3;
const pause = (seconds) => new Promise((go) => setTimeout(go, seconds * 1000));

export class User {
  #step = "approve";

  constructor({ waitSeconds = 30 }) {
    this.waitSeconds = waitSeconds;
  }

  /** Whether they let the next page connect. */
  admits() {
    const isRefused = this.#step === "refuse-pairing";
    if (isRefused) this.#step = "approve";
    return !isRefused;
  }

  /** What they do with a request, once they have decided. */
  async decide() {
    const step = this.#step;
    if (step !== "invalid") this.#step = "approve";
    if (step === "wait") await pause(this.waitSeconds);
    return step;
  }

  /** Read what they do until the input ends. @param {{pair: (uri: string) => unknown, end?: () => unknown, relayer: any}} wallet */
  async follow({ pair, end, relayer }) {
    for await (const line of createInterface({ input: process.stdin })) {
      if (line.startsWith("wc:")) await pair(line);
      else if (line === "end") await end();
      else this.#step = line;
      if (line === "close") {
        await relayer.transportClose();
        pause(CLOSED_SECONDS).then(() => relayer.restartTransport());
      }
    }
  }
}
