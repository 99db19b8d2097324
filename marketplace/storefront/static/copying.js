// Ids that are copied by pressing them, and a page that is shared.

const SAID_MS = 2_000;

const page = () => location.href.replace(location.hash, "");

/** Copy what the pressed button has, or share the page. */
export async function copy(target) {
  const button = target.closest("button");
  if (!button) return;
  if ("share" in button.dataset && navigator.share) return navigator.share({ title: document.title, url: page() }).catch(() => {});
  const text = button.dataset.copy ?? page();
  const words = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copy" in button.dataset ? "Copied" : "Link copied";
  } catch {
    getSelection().selectAllChildren(button); // no clipboard outside https and this computer
    return;
  }
  setTimeout(() => (button.textContent = words), SAID_MS);
}
