// The feed of events: its Link leads to the next ones, which are read every few seconds while the page is visible.

import { get } from "./call.js";

const PAUSE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 15_000;
/** The service no longer has what came after that cursor. */
export const GONE = 410;

export class Feed {
  /** show(answer) is called with new events, begin() when all must be read again. */
  constructor({ show, begin }) {
    Object.assign(this, { show, begin, isPaused: false, next: null });
    document.addEventListener("visibilitychange", () => this.ask());
  }

  follow(next) {
    this.next = next;
    this.wait(PAUSE_MS);
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.ask();
  }

  wait(pause) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), pause);
  }

  async ask() {
    if (!this.next || this.isAsking || this.isPaused || document.hidden) return;
    this.isAsking = true;
    const answer = await get(this.next);
    this.isAsking = false;
    if (answer.status === GONE) return this.begin();
    this.next = answer.next ?? this.next;
    if (answer.ok && answer.data.length) this.show(answer);
    this.wait(answer.ok ? PAUSE_MS : PAUSE_AFTER_FAILURE_MS);
  }
}
