"""Reads what /metrics answers."""

from prometheus_client.parser import text_string_to_metric_families

REQUESTS = "marketplace_request_duration_seconds_count"


def read(text):
    """Each sample's value, by its name and its labels in order."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(scraper):
    answer = scraper.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
    return read(answer.text)
