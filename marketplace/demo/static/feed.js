// The feed of events: its Link leads to the next ones, which are read every three seconds while the page is visible.

import { api, withQuery } from "./addresses.js";
import { get } from "./call.js";

const PAUSE_MS = 3_000;
const PAUSE_AFTER_FAILURE_MS = 10_000;
/** The service no longer has what came after that cursor. */
const GONE = 410;

/** Of all NFTs, or of those that the selection names. */
export class Feed {
  isPaused = false;

  /**
   * @param {string} after the cursor of what the page shows, or the whole address of the next events
   * @param {(events: any[]) => void} show is called with new events
   * @param {() => void} begin is called when the page must be read again
   * @param {Record<string, any>} selection of the API
   */
  constructor(after, show, begin, selection = {}) {
    this.show = show;
    this.begin = begin;
    this.next = after.startsWith("/") ? after : withQuery(api("/events"), { ...selection, after });
    document.addEventListener("visibilitychange", () => this.ask());
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
    if (this.isAsking || this.isPaused || document.hidden) return;
    this.isAsking = true;
    const answer = await get(this.next);
    this.isAsking = false;
    if (answer.status === GONE) {
      this.isPaused = true;
      return this.begin();
    }
    this.next = answer.next ?? this.next;
    if (answer.ok && answer.data.length) this.show(answer.data);
    this.wait(answer.ok ? PAUSE_MS : PAUSE_AFTER_FAILURE_MS);
  }
}
