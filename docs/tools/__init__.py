"""What the site is made with, beside Sphinx."""
