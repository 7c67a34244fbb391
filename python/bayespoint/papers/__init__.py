"""The papers' figures, tables and experiments, computed with the package.

``python -m bayespoint.papers`` lists the commands. The package does not import this folder.

=================== ==========================================================================
`experiments`       every table and figure, reproduced by one command each
`gallery`           the mechanisms as pictures
`planar`            version spaces in the plane, and their exact Bayes points
`elongated`         maximal margin against Bayes point on random toy problems
`learning_curves`   what perceptrons learn from random examples, in theory
`openness`          how often straight flights escape, kernel by kernel
`soft_boundary`     the ellipsoid of the parameter space, by softness
=================== ==========================================================================
"""
