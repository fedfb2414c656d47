"""The services of the contract, one module a reason."""
