// From a prepared transaction to its result on the ledger: the same steps for a listing, a purchase, a withdrawal.

import { api, sandbox, wallet } from "./addresses.js";
import { post } from "./call.js";
import { reason } from "./codes.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { showTransaction } from "./transaction.js";

const bold = (text) => element("strong", {}, text);

/** @typedef {{ tokenId: string, serialNo: number | bigint, expectedPrice?: number }} Nft */
/** @typedef {{ accountId: string, tokenId?: string, serialNo?: number | bigint, serialNos?: (number | bigint)[], nfts?: Nft[], listingPrice?: any, expectedPrice?: number }} Order of one NFT, of several of a token, or of several of any */

/**
 * Each of prepare(), look(), sign(), submit() and report() takes a step, and returns whether it succeeded. The steps'
 * forms call them; so does trade.js. A subclass says what is signed, and extends the steps that do more in its case.
 */
export class Signing {
  path = ""; // of the API, which prepares the transaction
  says = ""; // what the transaction does, in a sentence
  /** @type {Order | null} */
  body = null; // of the call that has prepared it
  /** @type {import("./call.js").Answer | null} */
  prepared = null; // the answer of that call
  /** @type {string | null} */
  result = null; // the ledger's

  /** @param {import("./step.js").Steps} steps */
  constructor(steps) {
    this.steps = steps;
    const { prepare, sign, submit, report } = steps.named;
    const [demoWallet, pasted] = ["demo", "paste"].map((way) => sign.root.querySelector(`[data-way=${way}]`));
    onSubmit(prepare.form, async () => (await this.prepare()) && this.look());
    onSubmit(demoWallet, () => this.sign());
    onSubmit(pasted, ({ signed }) => this.paste(signed.replace(/\s/g, "")));
    onSubmit(submit.form, () => this.submit());
    onSubmit(report.form, () => this.report());
  }

  /**
   * The body of the call that prepares the transaction.
   * @returns {Order}
   */
  order() {
    throw new Error("a subclass says what is asked for");
  }

  /** The words for the accounts that take part, by their ids. */
  roles() {
    return {};
  }

  /** Rows of what the transaction's bytes do not say. */
  besides() {
    return [];
  }

  async prepare() {
    const { prepare } = this.steps.named;
    this.steps.restart(prepare);
    this.inside?.stop();
    this.body = this.order();
    const answer = await post(api(this.path, { wallet }), this.body);
    this.prepared = answer;
    prepare.show(answer);
    if (!answer.ok) return prepare.fail(answer.message);
    this.byteArray = answer.data.byteArray;
    this.signer = answer.data.metadata.accountToSign;
    this.transactionId = undefined;
    return prepare.succeed("The transaction is ready for ", bold(this.signer), " to sign.");
  }

  async look() {
    const { look, sign } = this.steps.named;
    look.open();
    const answer = await post(sandbox("/decode"), { transaction: this.byteArray });
    look.show(answer);
    if (!answer.ok) return look.fail(answer.message);
    this.inside = showTransaction(look.root.querySelector("[data-transaction]"), answer.data, {
      base64: this.byteArray,
      roles: this.roles(),
      besides: this.besides(),
      expired: () => look.outcome.replaceChildren(this.again()),
    });
    sign.root.querySelector("[data-signer]").textContent = `It needs the signature of ${this.signer}. Ways to sign:`;
    sign.open({ focus: false });
    return look.succeed(this.says);
  }

  /** With the demo wallet. */
  async sign() {
    const { sign } = this.steps.named;
    this.steps.restart(sign);
    const answer = await post(sandbox("/sign"), { accountId: this.signer, transaction: this.byteArray });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    return this.take(answer.data.transaction, `The demo wallet signed for ${this.signer}.`);
  }

  /** What another wallet signed. */
  async paste(transaction) {
    const { sign } = this.steps.named;
    this.steps.restart(sign);
    const answer = await post(sandbox("/decode"), { transaction });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    const count = answer.data.signedBy.length;
    if (!count) return sign.fail("These bytes carry no signature: paste what the wallet returns after signing.");
    return this.take(transaction, `These bytes carry ${count === 1 ? "one signature" : `${count} signatures`}.`);
  }

  take(transaction, sentence) {
    this.signed = transaction;
    this.transactionId = undefined;
    const { sign, submit, report } = this.steps.named;
    submit.open();
    report.open({ focus: false }); // the next step for a wallet that submits by itself
    return sign.succeed(sentence);
  }

  async submit() {
    const { submit, report } = this.steps.named;
    this.steps.restart(submit);
    this.result = null;
    const answer = await post(sandbox("/transactions"), { transaction: this.signed });
    submit.show(answer);
    report.open({ focus: false });
    if (!answer.ok) return submit.fail(answer.message);
    this.result = answer.data.result;
    this.transactionId = answer.data.transactionId;
    if (this.result !== "SUCCESS") {
      submit.fail("The ledger refused it: ", bold(this.result), ". ", reason(this.result));
      submit.outcome.append(this.again());
      return false;
    }
    this.inside?.stop("The ledger has it");
    report.open();
    return submit.succeed("The ledger says ", bold(this.result), ".");
  }

  async report() {
    const { report } = this.steps.named;
    report.clear();
    const { accountId, tokenId, serialNo, serialNos } = this.body;
    const nfts = this.body.nfts?.map((nft) => ({ tokenId: nft.tokenId, serialNo: nft.serialNo }));
    const { transactionId } = this;
    const answer = await post(api("/comingsoon"), { accountId, tokenId, serialNo, serialNos, nfts, transactionId });
    report.show(answer);
    if (!answer.ok) return report.fail(answer.message);
    if (answer.status === 202) return report.wait("The ledger does not show it yet: report again in a few seconds.");
    return report.succeed("The ledger shows it.");
  }

  /** A button that prepares another one. */
  again() {
    const ask = () => this.steps.named.prepare.form.requestSubmit();
    return element("button", { class: "button quiet", type: "button", onclick: ask }, "Ask for a new one");
  }
}
