// Dialogs that the page's address opens: #buying opens the one with that id, and Back closes it.

const dialogs = [...document.querySelectorAll("dialog")];

/** Follow the address: begin(id) prepares the dialog that it names, and returns whether it may open. */
export function followAddress(begin) {
  const follow = () => {
    for (const dialog of dialogs) {
      const isNamed = location.hash === `#${dialog.id}`;
      if (!isNamed) dialog.close();
      else if (!dialog.open && begin(dialog.id)) dialog.showModal();
    }
  };
  addEventListener("hashchange", follow);
  follow();
}

for (const dialog of dialogs) {
  dialog.addEventListener("close", () => {
    if (location.hash === `#${dialog.id}`) history.replaceState(history.state, "", location.pathname + location.search);
  });
}
