"""Clusters of ipyparallel whose engines are the processes of one job: the side of the notebook, and of the engines."""
