"""The page of the API's reference, tried."""


def sample(page, call):
    """The sample of a call, such as get/v1/orderbook, with the button to try it."""
    return page.get_by_role("group", name=f"Request Example for {call}", exact=True)


def try_it(page, call):
    """Open a call's form, send what is filled in, and return the form."""
    sample(page, call).get_by_role("button", name="Test Request").click()
    form = page.get_by_role("dialog")
    form.get_by_role("button", name="Send").first.click()
    return form
