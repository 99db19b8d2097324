// The page of the wallet check: its button, its rows, and the report. ../wallet-check.js has what is asked.

import { api, relay, sandbox, wallet as name } from "../addresses.js";
import { get, post, stringify } from "../call.js";
import { codeBlock } from "../code.js";
import { element, fields, notice } from "../element.js";
import { sayUnloaded } from "../toast.js";
import { openLink, walletAccount } from "./link.js";

const state = document.querySelector("[data-state]");
const step = document.querySelector("[data-step]");
const list = document.querySelector("[data-rows]");
const report = /** @type {HTMLElement} */ (document.querySelector("[data-report]"));
const market = { wallet: name, api: ask(api), sandbox: ask(sandbox) };
const SHOWN = { waiting: "", running: "wait", right: "good", wrong: "bad", "not tried": "wait", failed: "bad" };
const WORDS = { waiting: "Waiting", running: "Asking…", right: "Right", wrong: "Wrong", "not tried": "Not tried", failed: "Failed" };

function ask(address) {
  return (path, body) => (body ? post(address(path), body) : get(address(path)));
}

const button = (words, onclick, kind = "") => element("button", { class: `button ${kind}`.trim(), type: "button", onclick }, words);

/** Without a wallet, a button to connect one; else the button that runs the check. */
async function showState() {
  const link = walletAccount() && (await openLink());
  if (!link?.session) {
    const connect = () => import("./connect.js").then(({ open }) => open(), sayUnloaded);
    state.replaceChildren(button("Connect a wallet", connect));
    return;
  }
  const { wallet, accounts } = link.session;
  const [{ accountId, chain }] = accounts;
  state.replaceChildren(
    element("p", {}, element("strong", {}, wallet.name), " signs for ", element("strong", {}, accountId), ` (${chain}).`),
    element("div", { class: "row" }, button("Run the check", () => run(link))),
  );
}

async function run(link) {
  const { runCheck, makeReport, ROWS } = await import("../wallet-check.js");
  const { session } = link;
  const stopping = new AbortController();
  const stop = button("Stop after this step", () => stopping.abort(), "quiet");
  state.replaceChildren(element("div", { class: "row" }, stop));
  report.hidden = true;
  list.replaceChildren(...ROWS.map(showRow));
  const onRow = (result) => {
    const place = ROWS.findIndex(({ id }) => id === result.id);
    list.children[place].replaceWith(showRow(result));
    step.replaceChildren(element("p", { class: "hint" }, `Step ${place + 1} of ${ROWS.length}: ${result.title}`));
  };
  const results = await runCheck({ link, market, user: { tell, ask: askUser }, onRow, signal: stopping.signal });
  await showReport(makeReport(session, results));
  showState();
}

/** What the wallet's user does in the next row. Returns false if it is skipped. */
async function tell(words, kind) {
  if (!words) return true;
  return choose(words, kind, [["Ask my wallet", true], ["Skip this step", false]]);
}

const askUser = (question) => choose(question, "question", [["Yes", true], ["No", false], ["I don't know", null]]);

function choose(words, kind, answers) {
  return new Promise((resolve) => {
    const buttons = answers.map(([answer, value], i) =>
      button(answer, () => {
        step.replaceChildren();
        resolve(value);
      }, i === 0 ? "" : "quiet"));
    step.replaceChildren(element("div", { class: "notice wait", "data-kind": kind }, element("p", {}, words), element("div", { class: "row" }, ...buttons)));
    buttons[0].focus();
  });
}

/** A row: everything that came from the wallet is text. */
function showRow({ id, title, asked, why, result = "waiting", answered = "", milliseconds = 0, exchanges = [] }) {
  const isOver = !["waiting", "running"].includes(result);
  return element("li", { id: `check-${id}`, "data-result": result },
    element("h2", {}, title, " ", element("span", { class: `status ${SHOWN[result]}` }, WORDS[result])),
    isOver && element("p", {}, answered),
    element("details", { class: "exchange", open: ["wrong", "failed"].includes(result) },
      element("summary", {}, element("span", { class: "path" }, "What is asked, and why"), isOver && element("span", { class: "took" }, `${milliseconds} ms`)),
      element("div", { class: "said" },
        element("dl", { class: "fields" }, ...fields([["Asked", asked], ["Why it matters", why]])),
        ...exchanges.map((one) => codeBlock(stringify(one, 2), "the request and its answer")))));
}

async function showReport(made) {
  const { writeText } = await import("../wallet-check.js");
  const { right, wrong, notTried, failed } = made.summary;
  const summary = `${right} right, ${wrong} wrong, ${notTried} not tried${failed ? `, ${failed} failed` : ""}.`;
  const fold = (title, text) => element("details", { class: "exchange" },
    element("summary", {}, element("span", { class: "path" }, title)),
    element("div", { class: "said" }, codeBlock(text, `the report ${title.toLowerCase()}`)));
  report.replaceChildren(
    element("h2", { id: "report-title", tabindex: "-1" }, "Report"),
    notice(wrong + failed ? "bad" : "good", summary),
    element("p", {}, "Copy it into an issue of your wallet. It names the wallet, its accounts, and every request with its answer."),
    fold("As text", writeText(made)),
    fold("As JSON", stringify(made, 2)),
  );
  report.hidden = false;
  step.replaceChildren();
  /** @type {HTMLElement} */ (report.firstElementChild).focus();
}

async function begin() {
  const { ROWS } = await import("../wallet-check.js");
  list.replaceChildren(...ROWS.map(showRow));
  await showState();
  document.addEventListener("wallet", showState);
}

if (relay) begin().catch(sayUnloaded);
