// From a prepared transaction to its result on the ledger: the same steps for a listing, a purchase, a withdrawal.

import { api, sandbox, wallet } from "./addresses.js";
import { post } from "./call.js";
import { reason } from "./codes.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { showTransaction } from "./transaction.js";

const bold = (text) => element("strong", {}, text);

/** Each method takes a step, and returns whether it succeeded. The steps' forms call the methods; so does trade.js. */
export class Signing {
  /**
   * order() is the body for `path`, and `says` what the transaction does, in a sentence. roles(body) names accounts, and
   * besides() are rows of what the bytes do not say. Hooks, each of which may be left out: prepared(answer data),
   * refused(answer) when it could not be prepared, submitting(body) before the ledger gets it, submitted(body,
   * receipt), reported(body), which returns false if it failed.
   */
  constructor(steps, { path, order, says, roles = () => ({}), besides = () => [], ...hooks }) {
    Object.assign(this, { steps, path, order, says, roles, besides, hooks });
    const { prepare, sign, submit, report } = steps;
    const [demoWallet, pasted] = ["demo", "paste"].map((way) => sign.root.querySelector(`[data-way=${way}]`));
    onSubmit(prepare.form, async () => (await this.prepare()) && this.look());
    onSubmit(demoWallet, () => this.sign());
    onSubmit(pasted, ({ signed }) => this.paste(signed.replace(/\s/g, "")));
    onSubmit(submit.form, () => this.submit());
    onSubmit(report.form, () => this.report());
  }

  async prepare() {
    const { prepare } = this.steps;
    this.steps.restart(prepare);
    this.shown?.stop();
    this.body = this.order();
    const answer = await post(api(this.path, { wallet }), this.body);
    prepare.show(answer);
    if (!answer.ok) {
      prepare.fail(answer.message);
      await this.hooks.refused?.(answer);
      return false;
    }
    this.byteArray = answer.data.byteArray;
    this.signer = answer.data.metadata.accountToSign;
    this.transactionId = undefined;
    this.hooks.prepared?.(answer.data);
    return prepare.succeed("The transaction is ready for ", bold(this.signer), " to sign.");
  }

  async look() {
    const { look, sign } = this.steps;
    look.open();
    const answer = await post(sandbox("/decode"), { transaction: this.byteArray });
    look.show(answer);
    if (!answer.ok) return look.fail(answer.message);
    this.shown = showTransaction(look.root.querySelector("[data-transaction]"), answer.data, {
      base64: this.byteArray,
      roles: this.roles(this.body),
      besides: this.besides(),
      expired: () => look.outcome.replaceChildren(this.again()),
    });
    sign.root.querySelector("[data-signer]").textContent = `It needs the signature of ${this.signer}. Ways to sign:`;
    sign.open({ focus: false });
    return look.succeed(this.says);
  }

  /** With the demo wallet. */
  async sign() {
    const { sign } = this.steps;
    this.steps.restart(sign);
    const answer = await post(sandbox("/sign"), { accountId: this.signer, transaction: this.byteArray });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    return this.take(answer.data.transaction, `The demo wallet signed for ${this.signer}.`);
  }

  /** What another wallet signed. */
  async paste(transaction) {
    const { sign } = this.steps;
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
    this.steps.submit.open();
    this.steps.report.open({ focus: false }); // the next step for a wallet that submits by itself
    return this.steps.sign.succeed(sentence);
  }

  async submit() {
    const { submit, report } = this.steps;
    this.steps.restart(submit);
    await this.hooks.submitting?.(this.body);
    const answer = await post(sandbox("/transactions"), { transaction: this.signed });
    submit.show(answer);
    report.open({ focus: false });
    if (!answer.ok) return submit.fail(answer.message);
    const { result, transactionId } = answer.data;
    this.transactionId = transactionId;
    const isTaken = result === "SUCCESS";
    if (isTaken) {
      this.shown.stop("The ledger has it");
      submit.succeed("The ledger says ", bold(result), ".");
      report.open();
    } else {
      submit.fail("The ledger refused it: ", bold(result), ". ", reason(result));
      submit.outcome.append(this.again());
    }
    await this.hooks.submitted?.(this.body, answer.data);
    return isTaken;
  }

  async report() {
    const { report } = this.steps;
    report.clear();
    const { accountId, tokenId, serialNo } = this.body;
    const answer = await post(api("/comingsoon"), { accountId, tokenId, serialNo, transactionId: this.transactionId });
    report.show(answer);
    if (!answer.ok) return report.fail(answer.message);
    if (answer.status === 202) return report.wait("The ledger does not show it yet: report again in a few seconds.");
    report.succeed("The ledger shows it.");
    return (await this.hooks.reported?.(this.body)) !== false;
  }

  again() {
    const ask = () => this.steps.prepare.form.requestSubmit();
    return element("button", { class: "button quiet", type: "button", onclick: ask }, "Ask for a new one");
  }
}
