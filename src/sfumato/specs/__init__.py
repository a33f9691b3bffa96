"""WHAT is asked: a whole question as tables of text, so that it can be a file, a form or a link."""
