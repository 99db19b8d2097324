// The dialog that connects a wallet: a QR code and an address for it, the browser's extensions, and what went over the relay.

import { checkPage, isSandbox, network, relay } from "../addresses.js";
import { codeBlock } from "../code.js";
import { element, notice } from "../element.js";
import { switchTo } from "../visitor.js";
import { exchanges, openLink } from "./link.js";

const SVG = "http://www.w3.org/2000/svg";
const dialog = /** @type {HTMLDialogElement} */ (document.getElementById("wallet"));
const shown = dialog.querySelector("[data-wallet]");
const outcome = dialog.querySelector("[data-outcome]");
const log = dialog.querySelector("[data-exchanges]");
/** @type {AbortController | undefined} */
let waiting;

/** Open the dialog, and pair if no wallet is connected. */
export async function open() {
  document.getElementById("accounts").hidePopover();
  if (!dialog.open) dialog.showModal();
  showExchanges();
  const link = await openLink();
  if (link.session) showSession(link);
  else await pair(link);
}

/** Show what is there of these. @param {...(Element | false)} parts */
const show = (...parts) => shown.replaceChildren(.../** @type {Element[]} */ (parts.filter(Boolean)));

async function pair(link) {
  waiting?.abort();
  const { signal } = (waiting = new AbortController());
  outcome.replaceChildren();
  shown.replaceChildren(notice("wait", "Connecting to the relay…"));
  try {
    const { accounts } = await link.connect((uri) => showPairing(uri), { signal });
    switchTo(accounts[0].accountId);
    showSession(link);
  } catch (error) {
    if (signal.aborted) return;
    const again = element("button", { class: "button quiet", type: "button", onclick: () => pair(link) }, "Try again");
    shown.replaceChildren();
    outcome.replaceChildren(notice("bad", error.message), again);
  }
}

/** Ways to a wallet: all of them take the same address. */
async function showPairing(uri) {
  const { qrCode, findExtensions, openExtension } = await import("../wallet-link.js");
  const { size, path } = qrCode(uri);
  const code = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": "QR code of the pairing" }))
    code.setAttribute(name, value);
  code.append(Object.assign(document.createElementNS(SVG, "path"), {}));
  code.firstElementChild.setAttribute("d", path);
  const extensions = element("div", { class: "row" });
  const ways = [...dialog.querySelectorAll("template")].flatMap(({ content }) => [...content.querySelectorAll("a")]);
  const links = ways.map((way) => element("a", { class: "button quiet", href: `${way.getAttribute("href")}wc?uri=${encodeURIComponent(uri)}` }, way.textContent));
  show(
    isSandbox
      ? element("p", {}, "Scan this with the wallet, or paste the address there. The wallet's relay must be ", element("code", {}, relay), ".")
      : element("p", {}, `Scan this with a Hedera wallet on your phone, or open it there. It asks for an account on ${network}.`),
    code,
    links.length > 0 && element("p", { class: "row apps" }, ...links),
    !isSandbox && element("p", { class: "row" }, element("a", { class: "button quiet", href: uri }, "Open a wallet on this device")),
    codeBlock(uri, "the pairing's address"),
    extensions,
    notice("wait", "Waiting for the wallet…"),
  );
  for (const { id, name } of await findExtensions())
    extensions.append(element("button", { class: "button quiet", type: "button", onclick: () => openExtension(id, uri) }, name));
}

function showSession(link) {
  const { wallet, accounts } = link.session;
  const [{ accountId, chain }] = accounts;
  const end = async () => {
    await link.disconnect();
    dialog.close();
  };
  outcome.replaceChildren();
  const others = [...new Set(accounts.map((one) => one.accountId))].filter((id) => id !== accountId);
  const use = (id) => {
    link.choose(id);
    switchTo(id);
    showSession(link);
  };
  show(
    notice("good", element("strong", {}, wallet.name), " signs for ", element("strong", {}, accountId), ` (${isSandbox ? chain : network}).`),
    others.length > 0 && element("p", { class: "row" }, ...others.map((id) => element("button", { class: "button quiet", type: "button", onclick: () => use(id) }, `Use ${id}`))),
    isSandbox && element("p", { class: "hint" }, "Have the wallet submit to the sandbox's node, whose address the start has printed."),
    isSandbox && ofDemo(accountId) && notice("bad", "The demo wallet has this account's key. Share a new account, such as 0.0.3003: the first key that signs for it becomes its key."),
    element("div", { "data-creation": true }),
    element("div", { class: "row" },
      element("button", { class: "button", type: "button", onclick: () => dialog.close() }, location.pathname === checkPage ? "Go on" : "Start trading"),
      checkPage && location.pathname !== checkPage && element("a", { class: "button quiet", href: checkPage }, "Check this wallet"),
      element("button", { class: "button quiet", type: "button", onclick: end }, "Disconnect")),
  );
  if (isSandbox) offerCreation(link);
}

/** Whether the demo wallet's menu has an account. */
const ofDemo = (id) => [...document.querySelectorAll("#accounts button[value]")].some((one) => /** @type {HTMLButtonElement} */ (one).value === id);

/** An account without a key can't make an offer: its first signature gives it one. */
async function offerCreation(link) {
  const { accountId } = link.account;
  const { firstTransaction, hasKey } = await import("./account.js");
  const place = shown.querySelector("[data-creation]");
  if (await hasKey(accountId)) return;
  const create = async () => {
    place.replaceChildren(notice("wait", "Sign it in your wallet…"));
    try {
      await link.signAndExecute(await firstTransaction(accountId));
      place.replaceChildren(notice("good", "Your account has your wallet's key."));
    } catch (error) {
      place.replaceChildren(notice("bad", error.message), button);
    }
  };
  const button = element("button", { class: "button quiet", type: "button", onclick: create }, "Create my account");
  place.replaceChildren(element("p", {}, "It has no key yet: the first key that signs for it becomes its key. Before you make an offer, create it with a signature."), button);
}

/** Requests and answers, the newest first: they came from a wallet, and are shown as text. */
function showExchanges() {
  if (!log) return;
  const unfolded = new Set([...log.querySelectorAll("details[open]")].map((one) => /** @type {HTMLElement} */ (one).dataset.id));
  const made = exchanges.map(({ id, method, params, milliseconds, result, error }) =>
    element("details", { class: "exchange", "data-id": id, open: unfolded.has(String(id)) },
      element("summary", {},
        element("code", { class: "path" }, method),
        element("span", { class: `status ${error ? "bad" : milliseconds === undefined ? "wait" : "good"}` }, error ? "Refused" : milliseconds === undefined ? "Waiting" : "Answered"),
        milliseconds !== undefined && element("span", { class: "took" }, `${milliseconds} ms`)),
      element("div", { class: "said" },
        element("p", { class: "label" }, "Parameters"), codeBlock(JSON.stringify(params, null, 2), `the parameters of ${method}`),
        milliseconds !== undefined && element("p", { class: "label" }, "Answer"),
        milliseconds !== undefined && codeBlock(JSON.stringify(error ?? result ?? null, null, 2), `the answer of ${method}`))),
  );
  log.replaceChildren(...made.reverse());
}

document.addEventListener("exchange", showExchanges);
dialog.addEventListener("close", () => waiting?.abort());
