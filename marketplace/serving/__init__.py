"""How the service is served: gunicorn's configuration, the lines printed at the start, systemd's messages."""
