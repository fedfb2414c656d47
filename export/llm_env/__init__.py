"""Steps that need newer libraries than the rest: they run in `.venv-llm`, as processes of their own.

`environment.run_step` starts them from the ordinary environment. The other modules import nothing else of Trias, so
that any environment with the libraries of the extra `llm` will do.
"""
