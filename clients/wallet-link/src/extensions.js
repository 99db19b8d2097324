// Wallets that are extensions of this browser. They announce themselves by messages to the page's own window.

const MOST = 20, WAIT_MS = 300;

/** The extensions that answer: {id, name}. Whatever they say is a stranger's: show it as text. */
export async function findExtensions() {
  /** @type {Map<string, {id: string, name: string}>} */
  const found = new Map();
  const take = ({ source, data }) => {
    const { id, name } = data?.metadata ?? {};
    if (source !== window || data?.type !== "hedera-extension-response") return;
    if (typeof id !== "string" || !/^[\w-]{1,100}$/.test(id) || found.size >= MOST) return;
    found.set(id, { id, name: typeof name === "string" ? name.slice(0, 40) : id });
  };
  addEventListener("message", take);
  postMessage({ type: "hedera-extension-query" }, location.origin);
  await new Promise((go) => setTimeout(go, WAIT_MS));
  removeEventListener("message", take);
  return [...found.values()];
}

/** Have an extension pair. @param {string} id @param {string} uri */
export const openExtension = (id, uri) =>
  postMessage({ type: `hedera-extension-connect-${id}`, pairingString: uri }, location.origin);
