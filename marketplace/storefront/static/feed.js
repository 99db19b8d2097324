// The feed of events, which is read every three seconds while the page is visible. The API's client is loaded for it then.

const PAUSE_MS = 3_000;
/** The service no longer has what came after that cursor. */
const GONE = 410;

/** Of all NFTs, of those that the selection names, or of the one NFT whose tokenId and serialNo it has. */
export class Feed {
  isPaused = false;
  /** @type {AbortController | null} */
  following = null;

  /**
   * @param {string} after the cursor of what the page shows, or the whole address of the next events
   * @param {(events: any[]) => void} show is called with new events
   * @param {() => void} begin is called when the page must be read again
   * @param {Record<string, any>} selection of the API
   */
  constructor(after, show, begin, selection = {}) {
    this.show = show;
    this.begin = begin;
    const asked = after.startsWith("/") ? new URL(after, document.baseURI).searchParams : new URLSearchParams({ after });
    this.selection = { ...Object.fromEntries([...asked.keys()].map((name) => [name, asked.getAll(name)])), ...selection };
    this.cursor = asked.get("after");
    document.addEventListener("visibilitychange", () => this.follow());
    setTimeout(() => this.follow(), PAUSE_MS);
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.follow();
  }

  /** Begin where it has ended; end it while nobody looks. */
  async follow() {
    if (this.isPaused || document.hidden) return this.following?.abort();
    if (this.following && !this.following.signal.aborted) return;
    const { signal } = (this.following = new AbortController());
    const operation = this.selection.serialNo === undefined ? "list_events" : "list_nft_events";
    try {
      const { market } = await import("./call.js");
      const events = market.events(this.cursor, { signal, every: PAUSE_MS, operation, select: this.selection });
      for await (const fresh of events.batches()) {
        this.cursor = events.cursor;
        this.show(fresh);
      }
    } catch (error) {
      if (error.status !== GONE) return;
      this.isPaused = true;
      this.begin();
    }
  }
}
