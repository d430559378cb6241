"""The paper's tables and figures, and more of them: ``python -m experiments NAME``.

One experiment a file; `base` says what it must give, and `runner` does the rest.
"""
