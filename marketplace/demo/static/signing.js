// From what the API prepared to what the ledger made of it: the same steps for a listing, a purchase, a withdrawal.

import { api, sandbox, wallet } from "./addresses.js";
import { post } from "./call.js";
import { reason } from "./codes.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { showTransaction } from "./transaction.js";

const bold = (text) => element("strong", {}, text);

/**
 * Let the steps prepare a transaction, and follow it.
 *
 * order(fields) is the body for `path`, and `says` what the transaction does, in a sentence. `roles(body)` names
 * accounts, and `besides()` are rows of what the bytes do not say. Hooks, each of which may be left out: prepared(answer data), refused(answer) when it could not be
 * prepared, submitting(body) before the ledger gets it, submitted(body, receipt), reported(body).
 */
export function offerSigning(steps, { path, order, says, roles = () => ({}), besides = () => [], ...hooks }) {
  const { prepare, look, sign, submit, report } = steps;
  const now = {}; // what the steps hand on: the body, the bytes, the signed bytes, the transaction's id
  const keys = ({ accountId, tokenId, serialNo }) => ({ accountId, tokenId, serialNo });
  const again = () => {
    const button = element("button", { class: "button quiet", type: "button" }, "Ask for a new one");
    button.addEventListener("click", () => prepare.form.requestSubmit());
    return button;
  };

  onSubmit(prepare.form, async (fields) => {
    steps.restart(prepare);
    now.shown?.stop();
    const body = order(fields);
    const answer = await post(api(path, { wallet }), body);
    prepare.show(answer);
    if (!answer.ok) {
      prepare.fail(answer.message);
      return hooks.refused?.(answer);
    }
    const { accountToSign } = answer.data.metadata;
    Object.assign(now, { body, accountToSign, byteArray: answer.data.byteArray, transactionId: undefined });
    hooks.prepared?.(answer.data);
    prepare.succeed("The transaction is ready for ", bold(accountToSign), " to sign.");
    return lookInside();
  });

  async function lookInside() {
    look.open();
    const answer = await post(sandbox("/decode"), { transaction: now.byteArray });
    look.show(answer);
    if (!answer.ok) return look.fail(answer.message);
    now.shown = showTransaction(look.root.querySelector("[data-transaction]"), answer.data, {
      base64: now.byteArray,
      roles: roles(now.body),
      besides: besides(),
      expired: () => look.outcome.replaceChildren(again()),
    });
    look.succeed(says);
    sign.root.querySelector("[data-signer]").textContent = `The key of ${now.accountToSign} makes it true. Ways to sign:`;
    return sign.open({ focus: false });
  }

  const [demoWallet, pasted] = ["demo", "paste"].map((way) => sign.root.querySelector(`[data-way=${way}]`));

  onSubmit(demoWallet, async () => {
    steps.restart(sign);
    const answer = await post(sandbox("/sign"), { accountId: now.accountToSign, transaction: now.byteArray });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    return takeSigned(answer.data.transaction, `The demo wallet signed for ${now.accountToSign}.`);
  });

  onSubmit(pasted, async ({ signed }) => {
    steps.restart(sign);
    const transaction = signed.replace(/\s/g, "");
    const answer = await post(sandbox("/decode"), { transaction });
    sign.show(answer);
    if (!answer.ok) return sign.fail(answer.message);
    const count = answer.data.signedBy.length;
    if (!count) return sign.fail("These bytes carry no signature: paste what the wallet returns after signing.");
    return takeSigned(transaction, `These bytes carry ${count === 1 ? "one signature" : `${count} signatures`}.`);
  });

  function takeSigned(transaction, sentence) {
    now.signed = transaction;
    now.transactionId = undefined;
    sign.succeed(sentence);
    submit.open();
    report.open({ focus: false }); // a wallet that submits by itself goes on there
  }

  onSubmit(submit.form, async () => {
    steps.restart(submit);
    await hooks.submitting?.(now.body);
    const answer = await post(sandbox("/transactions"), { transaction: now.signed });
    submit.show(answer);
    report.open({ focus: false });
    if (!answer.ok) return submit.fail(answer.message);
    const { result, transactionId } = answer.data;
    now.transactionId = transactionId;
    if (result === "SUCCESS") {
      now.shown.stop("The ledger has it");
      submit.succeed("The ledger says ", bold(result), ".");
      report.open();
    } else {
      submit.fail("The ledger refused it: ", bold(result), ". ", reason(result));
      submit.outcome.append(again());
    }
    return hooks.submitted?.(now.body, answer.data);
  });

  onSubmit(report.form, async () => {
    report.clear();
    const { transactionId } = now;
    const answer = await post(api("/comingsoon"), { ...keys(now.body), transactionId });
    report.show(answer);
    if (!answer.ok) return report.fail(answer.message);
    if (answer.status === 202) return report.wait("The ledger does not show it yet: report again in a few seconds.");
    report.succeed("The ledger shows it.");
    return hooks.reported?.(now.body, report);
  });
}
