// Forms that call instead of leaving the page.

/** Call act with the form's fields. A second press is ignored until act has ended. */
export function onSubmit(form, act) {
  let isBusy = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    form.setAttribute("aria-busy", "true");
    try {
      const fields = [...new FormData(form)].map(([name, value]) => [name, String(value).trim()]);
      await act(Object.fromEntries(fields));
    } finally {
      isBusy = false;
      form.removeAttribute("aria-busy");
    }
  });
}
