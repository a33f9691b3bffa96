"""KNOWN answers: mechanisms with a name, each with its promise and its proof."""
