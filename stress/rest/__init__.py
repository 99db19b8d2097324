"""The mirror node's REST specs, replayed on the sandbox: a suite of stress.peers."""
