"""How the service is served: gunicorn's configuration, and the lines printed at the start."""
