// A trade in one click: what it is about, how far it is, and how it ended. The server writes the words.

import { isSandbox } from "../addresses.js";
import { inWords, parse } from "../call.js";
import { element, notice } from "../element.js";
import { onSubmit } from "../form.js";
import { part, readPage } from "../fragments.js";
import { sayUnloaded, toast } from "../toast.js";
import { connect, onVisitor, showBalance, visitor } from "../visitor.js";
import { walletAccount } from "../wallet/link.js";
import { complete, openTransaction, waitUntilPrepared } from "./transaction.js";

const STAGES = 4;

/** Why it did not go through. An own wallet may sign for an account that has another key. */
function sayWhy({ message }) {
  if (!walletAccount() || !/(?<!would say )\bINVALID_SIGNATURE\b|\(7\)/.test(message)) return inWords(message);
  const way = isSandbox ? "Open “Connect a wallet” in the menu of accounts: create the account there, or share a new one." : "Share the account that your wallet has the key of, and try again.";
  return `Your wallet's key is not the key of ${walletAccount()}. ${way}`;
}

const idOf = ({ transactionId, metadata }) => transactionId ?? metadata?.transactionId ?? "";

export class Trade {
  /** @type {[string, any][]} */
  log = []; // what was observed of the newest transaction
  isBusy = false;
  waiting = new AbortController(); // for the visitor's wallet
  loads = 0; // an older answer never takes the place of a newer one
  loaded = 0;
  /** @type {Promise<void>} */
  ready = Promise.resolve();

  /** @type {import("../developer/steps.js").Steps | undefined} */
  steps;

  /**
   * @typedef {object} Kind
   * @property {() => string} address of the fragment that is shown in the form
   * @property {import("./transaction.js").Kind} kind
   * @property {() => unknown} [done] is called when it ended well
   */
  /**
   * @param {HTMLElement} root holds the form, and the fold with its steps
   * @param {Kind} kind
   */
  constructor(root, { address, kind, done = () => {} }) {
    this.root = root;
    this.address = address;
    this.kind = kind;
    this.done = done;
    const place = root.querySelector("[data-trade]");
    this.form = place.querySelector("form");
    /** @type {HTMLElement} */
    this.progress = place.querySelector("[data-progress]");
    /** @type {HTMLElement} */
    this.cancel = place.querySelector("[data-cancel]");
    this.outcome = place.querySelector("[data-outcome]");
    /** @type {HTMLElement} */
    this.title = root.querySelector("h1, h2") ?? document.querySelector("h1");
    this.asked = this.title.textContent;
    this.dialog = root instanceof HTMLDialogElement ? root : null;
    onSubmit(this.form, () => (visitor() ? this.run() : connect()));
    onVisitor(() => this.form.hidden || !this.dialog?.open || this.load());
    root.addEventListener("click", ({ target }) => this.press(/** @type {HTMLElement} */ (target)));
    this.dialog?.addEventListener("close", () => this.isBusy && toast("Still in progress. You'll see the result here."));
    this.watchFold(root.querySelector("details.every"));
  }

  /** What the server has written of it: its order, the address of how it ends, and words for the steps. */
  get written() {
    return /** @type {HTMLElement | null} */ (this.form.querySelector("[data-order]"))?.dataset ?? {};
  }

  order() {
    return this.written.order ? parse(this.written.order) : null;
  }

  /** Why there is nothing to order. */
  whyNot() {
    const said = this.form.querySelector(".notice") ?? this.outcome.querySelector(".notice");
    return said?.textContent ?? "It isn't loaded yet. Try again.";
  }

  /** One for each signature. */
  orders() {
    return [this.order()];
  }

  /** The fragment that says how it ended well. */
  ending() {
    return this.written.done;
  }

  /** Show the form again, and no outcome. A trade that goes on is not disturbed. */
  begin() {
    if (this.isBusy) return;
    this.title.textContent = this.asked;
    this.form.hidden = false;
    this.progress.hidden = true;
    this.outcome.replaceChildren();
    this.load();
  }

  /** Read what the trade is about, and show it in the form. */
  load() {
    this.ready = this.read();
    return this.ready;
  }

  async read() {
    const load = (this.loads += 1);
    try {
      const fresh = part("trade", await readPage(this.address()));
      if (load < this.loaded || this.isBusy || this.form.hidden) return;
      this.loaded = load;
      if (this.outcome.querySelector("[data-again]")) this.outcome.replaceChildren();
      const old = part("trade", this.form);
      if (old?.isEqualNode(fresh)) return;
      const isFocused = old?.contains(document.activeElement);
      const typed = [...new FormData(this.form)];
      this.form.replaceChildren(document.adoptNode(fresh));
      for (const [name, value] of typed) Object.assign(this.form.elements.namedItem(name) ?? {}, { value });
      if (isFocused) this.title.focus();
    } catch (error) {
      if (load < this.loads) return;
      const again = element("button", { class: "button quiet", type: "button", "data-again": true, onclick: () => this.load() }, "Try again");
      this.outcome.replaceChildren(notice("bad", error.message), again);
    }
  }

  async run() {
    const order = this.order();
    if (!order || this.isBusy) return;
    const ending = this.ending();
    await this.work(async (say, signal) => {
      let transaction;
      for (const one of this.orders()) {
        transaction = openTransaction(this.kind, one, (step, answer) => this.observe(step, answer), say);
        await complete(transaction, signal);
      }
      await this.end(`${ending}&${new URLSearchParams({ transaction: idOf(transaction) })}`);
    });
  }

  /** The buyer's account has to be associated with a token first: the wallet signs that, too. */
  async associate(token) {
    await this.work(async (say, signal) => {
      const { associate } = await import("./association.js");
      say("Sign it in your wallet…", true);
      await associate(token, signal);
      say("Confirming…", true);
      await waitUntilPrepared(this.kind, this.order(), signal);
      await this.load();
      this.outcome.replaceChildren(notice("good", "Your account is associated with the collection. Go on."));
    });
  }

  /**
   * Show how far it is or, if it did not go through, why.
   * @param {(say: (words: string, isWaiting?: boolean) => void, signal: AbortSignal) => Promise<void>} act
   */
  async work(act) {
    this.outcome.replaceChildren();
    this.progress.hidden = false;
    this.isBusy = true;
    this.log = [];
    let stage = 0;
    const { signal } = (this.waiting = new AbortController());
    const say = (words, isWaiting = false) => {
      this.cancel.hidden = !isWaiting;
      this.progress.querySelector("progress").value = stage = (stage % STAGES) + 1;
      this.progress.querySelector("p").textContent = words;
    };
    try {
      await act(say, signal);
    } catch (error) {
      await this.fail(error);
    } finally {
      this.isBusy = false;
      this.progress.hidden = true;
      showBalance();
    }
  }

  /** How it ended well. */
  async end(address) {
    await this.done();
    const shown = await readPage(address).then((page) => part("done", page), () => null);
    const title = shown?.dataset.title ?? "Done";
    this.title.textContent = title;
    this.form.hidden = true;
    if (shown) this.outcome.replaceChildren(document.adoptNode(shown));
    if (this.dialog && !this.dialog.open) toast(title);
    else this.title.focus();
  }

  /** Say why it did not go through, and show what has changed. */
  async fail(error) {
    this.isBusy = false;
    await this.load();
    const isSaid = this.form.querySelector("[role=alert]");
    this.outcome.replaceChildren(isSaid && error.status === 409 ? "" : notice("bad", sayWhy(error)), this.wayOut(error));
    if (this.dialog && !this.dialog.open) toast(sayWhy(error));
  }

  /** What the visitor's wallet can do about it. */
  wayOut({ reason, message }) {
    if (reason !== "BUYER_NOT_ASSOCIATED" || !message.startsWith(walletAccount())) return "";
    const { nfts, ...one } = this.order();
    const token = (nfts ?? [one]).map(({ tokenId }) => tokenId).find((id) => message.includes(id));
    return element("button", { class: "button quiet", type: "button", onclick: () => this.associate(token) }, "Associate it, for about $0.05");
  }

  press(target) {
    if (target.closest("[data-close]")) this.dialog?.close();
    if (target.closest("[data-cancel]")) this.waiting.abort();
    const share = target.closest("[data-share]");
    if (share) import("../copying.js").then(({ copy }) => copy(share), sayUnloaded);
  }

  async observe(step, answer) {
    this.log.push([step, answer]);
    await this.steps?.observe(step, answer);
  }

  /** The steps are loaded when their fold is open. */
  watchFold(fold) {
    const open = async () => {
      if (!fold.open || this.steps) return;
      try {
        const { Steps } = await import("../developer/steps.js");
        this.steps ??= new Steps(fold, this);
      } catch {
        fold.append(notice("bad", "The steps can't be loaded. Reload the page to try again."));
      }
    };
    fold?.addEventListener("toggle", open);
    if (fold?.open) open();
  }
}
