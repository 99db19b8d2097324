"""The owner's console: what the command line decides, decided in a browser with an operator's wallet."""
