// Forms that call instead of leaving the page.

/** Call act with the form's fields; who presses twice is heard once. */
export function onSubmit(form, act) {
  let isBusy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    form.setAttribute("aria-busy", "true");
    try {
      const fields = [...new FormData(form)].map(([name, value]) => [name, value.trim()]);
      await act(Object.fromEntries(fields));
    } finally {
      isBusy = false;
      form.removeAttribute("aria-busy");
    }
  });
}
