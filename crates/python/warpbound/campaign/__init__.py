"""Campaigns: bounds, audits and runs over many files, launches and machines, on the workers of a Dask cluster.

`python -m warpbound.campaign --help` describes the command.
"""
