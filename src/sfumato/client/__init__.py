"""For those who hold a secret: the module for browsers and phones, and pages that contain it."""
