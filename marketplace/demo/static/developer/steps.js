// The steps of a trade, each with its calls: they show what one click does, and let a wallet developer take them singly.

import { inWords, post } from "../call.js";
import { sandbox } from "../addresses.js";
import { element, notice } from "../element.js";
import { onSubmit } from "../form.js";
import { isOwn, openTransaction, walletFor } from "../trading/transaction.js";
import { signForDemo, submitSigned } from "../demo-wallet.js";
import { balanceTable, readBalances } from "./balances.js";
import { showTransaction } from "./decoded.js";
import { exchange } from "./exchange.js";

const SAYS = {
  buy: "Nobody has signed it yet. The marketplace signs last: it pays the network fee, and may move what is sold.",
  list: "It lets the marketplace spend what is named here, and nothing else. Nothing is signed yet.",
  withdraw: "Once it is signed and submitted, the marketplace may no longer sell what is named here.",
  offer: "It is a schedule of exactly this sale. The offer is open once it is signed and submitted.",
  accept: "It names the schedule of the sale, and nothing else. Once it is signed and submitted, the network executes the sale.",
  withdrawOffer: "Once it is signed and submitted, the schedule of the sale is deleted.",
};
const bold = (text) => element("strong", {}, text);

/** A step: locked, open or done. */
class Step {
  constructor(root, steps) {
    this.root = root;
    this.steps = steps;
    this.name = root.dataset.step;
    this.form = root.querySelector("form");
    this.outcome = root.querySelector("[data-outcome]");
    this.calls = root.querySelector("[data-calls]");
  }

  /** Open the step, and move the keyboard's focus to it if somebody takes the steps singly. */
  open({ focus = true } = {}) {
    this.set("open");
    if (focus && !this.steps.trade.isBusy) lead(this.root.querySelector(".title"), this.root);
  }

  lock() {
    this.set("locked");
    this.clear();
  }

  clear() {
    this.outcome.replaceChildren();
    for (const made of this.calls.querySelectorAll(".exchange")) made.remove();
  }

  show(...made) {
    this.calls.append(...made.map((one) => exchange(one, made.length > 1 ? { open: false } : {})));
  }

  succeed(...sentence) {
    this.set("done");
    this.outcome.replaceChildren(notice("good", ...sentence));
  }

  wait(...sentence) {
    this.outcome.replaceChildren(notice("wait", ...sentence));
  }

  fail(...sentence) {
    this.set("open");
    this.outcome.replaceChildren(notice("bad", ...sentence));
  }

  set(state) {
    this.root.classList.remove("locked", "open", "done");
    this.root.classList.add(state);
    this.root.querySelector("fieldset").disabled = state === "locked";
  }
}

export class Steps {
  /**
   * @param {HTMLElement} root
   * @param {import("../trading/trade.js").Trade} trade
   */
  constructor(root, trade) {
    this.trade = trade;
    this.all = [...root.querySelectorAll("[data-step]")].map((one) => new Step(one, this));
    this.named = Object.fromEntries(this.all.map((step) => [step.name, step]));
    const { prepare, sign, submit, report } = this.named;
    const [demoWallet, pasted] = ["demo", "paste"].map((way) => sign.root.querySelector(`[data-way=${way}]`));
    if (this.named.add) onSubmit(this.named.add.form, () => this.take("add", () => this.open().add()));
    onSubmit(prepare.form, () => this.prepare());
    onSubmit(demoWallet, () => this.take("sign", () => this.signByWallet()));
    onSubmit(pasted, ({ signed }) => this.paste(signed.replace(/\s/g, "")));
    onSubmit(submit.form, () => this.take("submit", () => this.submit()));
    onSubmit(report.form, () => this.take("report", () => this.transaction.report()));
    this.all[0].open({ focus: false });
    for (const [step, answer] of trade.log) this.observe(step, answer);
  }

  /** Take a step singly. Why it fails stands in the step. */
  async take(name, act) {
    try {
      await act();
    } catch (error) {
      const { outcome } = this.named[name];
      if (!outcome.childNodes.length) this.named[name].fail(inWords(error.message));
      if (name !== "report") await this.trade.load();
      return;
    }
    const isLast = ["submit", "report"].includes(name);
    if (isLast && this.named.report.root.classList.contains("done")) await this.trade.done();
  }

  async prepare() {
    await this.trade.ready; // a dialog that has just opened does not know its order yet
    if (!this.trade.order()) return this.named.prepare.fail(this.trade.whyNot());
    this.transaction = this.open();
    this.signed = "";
    await this.take("prepare", () => this.transaction.prepare());
  }

  open() {
    return openTransaction(this.trade.kind, this.trade.order(), (step, answer) => this.observe(step, answer));
  }

  /** The demo wallet leaves it to the next step to submit it. */
  async signByWallet() {
    const { transaction } = this;
    if (transaction.isReturned || isOwn(transaction)) return transaction.sign(walletFor(transaction));
    await transaction.check();
    this.signed = await signForDemo(transaction);
  }

  async submit() {
    const { transaction, signed } = this;
    if (transaction.isReturned) return transaction.handIn();
    if (!signed) return this.observe("submitting"); // the visitor's own wallet has done it
    transaction.keep();
    try {
      await transaction.take(await submitSigned(transaction, signed));
    } catch (error) {
      if (error.kind !== "RELAY") transaction.forget();
      throw error;
    }
  }

  /** What another wallet signed. */
  async paste(signed) {
    const { sign } = this.named;
    this.restart(sign);
    const answer = await post(sandbox("/decode"), { transaction: signed });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    const count = answer.data.signedBy.length;
    if (!count) return sign.fail("These bytes carry no signature: paste what the wallet returns after signing.");
    if (this.transaction.isReturned) await this.take("sign", () => this.transaction.take({ signedTransaction: signed }));
    this.signed = signed;
    return this.showSigned(`These bytes carry ${count === 1 ? "one signature" : `${count} signatures`}.`);
  }

  /** Show a call of a step, and what it means. */
  async observe(name, answer) {
    const show = { add: this.added, prepare: this.prepared, sign: this.sign, submitting: this.submitting, submit: this.submitted, report: this.reported };
    const step = this.named[name];
    if (answer) {
      if (name !== "report") this.restart(step);
      else step.clear();
      step.show(answer);
      if (!answer.ok) {
        step.fail(answer.message);
        return name === "submit" && step.outcome.append(this.again());
      }
    }
    return show[name]?.call(this, answer);
  }

  added() {
    this.named.prepare.open();
    this.named.add.succeed("It is stored.");
  }

  async prepared({ data, content }) {
    this.inside?.stop();
    const { look, prepare, sign } = this.named;
    const { accountToSign } = data.metadata;
    prepare.succeed("The transaction is ready for ", bold(accountToSign), " to sign.");
    if (document.querySelector("[data-snippet]")) (await import("./snippets.js")).fillSnippets(data);
    look.open();
    const answer = await post(sandbox("/decode"), { transaction: data.byteArray });
    look.show(answer);
    if (!answer.ok) return look.fail(answer.message);
    const { roles, besides } = this.trade.written;
    this.roles = JSON.parse(roles ?? "{}");
    this.inside = showTransaction(look.root.querySelector("[data-transaction]"), answer.data, {
      base64: data.byteArray,
      roles: this.roles,
      besides: JSON.parse(besides ?? "[]"),
      expired: () => look.outcome.replaceChildren(this.again()),
    });
    this.isReturned = data.metadata.returnTransaction;
    showWay(sign.root.querySelector("[data-way=demo]"), isOwn(data));
    sign.root.querySelector("[data-signer]").textContent = `It needs the signature of ${accountToSign}. Ways to sign:`;
    sign.open({ focus: false });
    this.buyer = content && JSON.parse(content).accountId;
    return look.succeed(SAYS[this.trade.kind]);
  }

  sign({ method }) {
    const isOfOwn = method === "WC";
    this.showSigned(isOfOwn ? "Your wallet signed it." : `The demo wallet signed for ${this.buyer}.`);
    if (isOfOwn && !this.isReturned) this.named.submit.succeed("Your wallet submitted it.");
  }

  showSigned(sentence) {
    const { sign, submit, report } = this.named;
    submit.open();
    report.open({ focus: false }); // the next step for a wallet that submits by itself
    sign.succeed(sentence);
  }

  async submitting() {
    this.before = this.named.settled ? await readBalances(Object.keys(this.roles)) : null;
  }

  async submitted({ data }) {
    const { submit, report, settled } = this.named;
    report.open({ focus: false });
    if (["OK", "PENDING"].includes(data.result)) {
      this.inside?.stop("It is submitted");
      submit.succeed("The marketplace has signed it, too, and submitted it: ", bold(data.result), ".");
      if (data.result === "OK") report.succeed("The ledger shows it.");
      else report.open();
    } else if (data.result === "SUCCESS") {
      this.inside?.stop("The ledger has it");
      report.open();
      submit.succeed("The ledger says ", bold(data.result), ".");
    } else {
      submit.fail("The ledger refused it: ", bold(data.result), ". ", data.message ?? "");
      submit.outcome.append(this.again());
    }
    if (!settled || !this.before) return;
    const after = await readBalances(Object.keys(this.roles));
    settled.open({ focus: false });
    settled.show(...after.calls);
    settled.root.querySelector("[data-balances]").replaceChildren(balanceTable(this.before.tinybars, after.tinybars, this.roles));
    settled.set("done");
  }

  async reported({ status }) {
    const { report, appear } = this.named;
    if (status === 202) return report.wait("The ledger does not show it yet: report again in a few seconds.");
    report.succeed("The ledger shows it.");
    if (appear) await this.showAppeared();
  }

  /** The cards of what was listed, in the order book. */
  async showAppeared() {
    const { showAppeared } = await import("./appeared.js");
    const { appear } = this.named;
    appear.open();
    await showAppeared(appear, (this.transaction ?? { order: this.trade.order() }).order);
  }

  /** Start a step over, and lock the steps after it. */
  restart(step) {
    step.clear();
    for (const later of this.all.slice(this.all.indexOf(step) + 1)) later.lock();
  }

  /** A button that prepares another one. */
  again() {
    return element("button", { class: "button quiet", type: "button", onclick: () => this.prepare() }, "Prepare a new one");
  }
}

/** The first way to sign: with the connected wallet if it is the account's, otherwise with the demo wallet. */
function showWay(form, isOfOwn) {
  const [summary, hint] = form.closest("details").children;
  summary.textContent = isOfOwn ? "With your connected wallet" : "With the demo wallet";
  hint.hidden = isOfOwn;
  form.querySelector("button").textContent = isOfOwn ? "Sign with your wallet" : "Sign with the demo wallet";
}

/** Focus a heading, and scroll its section into view. */
function lead(heading, root) {
  heading.focus({ preventScroll: true });
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  root.scrollIntoView({ behavior, block: "start" });
}
