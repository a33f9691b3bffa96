"""Outgrowing one machine: the same batch kernel on Apache Spark and on Dask."""

from sfumato.release.engines.dask import release_dask
from sfumato.release.engines.spark import release_spark

__all__ = ["ENGINES", "release_dask", "release_spark"]

ENGINES = {"dask": release_dask, "spark": release_spark}
"""Engines that release tables larger than one machine."""
