"""What tests, stress and benchmarks share. Start here:

apps.copy_app(folder)       the service with its sandbox, in this process; completing(app)() reads metadata
ledger.Ledger(app)          what people do on the sandbox's ledger: mint, approve, hand_over, submit
wallets, cast               transactions as wallets build them; Alice sells, Bob buys, Charlie must be refused
mirror.Mirror(app)          the sandbox's mirror node, whose answers a test alters, delays or counts
network.serve, serve_raw    a WSGI application, or bare sockets, on a port of this machine
engines.running_on(engine)  SQLite or PostgreSQL; database_url(folder) is dropped afterwards
serving                     gunicorn with our configuration, and other programs, in processes of their own
postgresql, shared_folder   PostgreSQL servers; a folder whose servers end with the last process that uses it
tables                      the documents' tables that the code, or a stored run, already holds: make docs
topics, images              a mirror node of topics alone; images, and those made to harm their decoder
forks, mounts, url_builders a fork of the test; a mount namespace; what makes a thousand applications quick
"""
