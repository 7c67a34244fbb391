"""The papers' figures, tables and experiments, computed with the package.

``python -m bayespoint.papers`` lists them, and with a name makes one. The package does not import
this folder. What draws needs the extra ``plot``, and says so where matplotlib is missing.

=================== ==========================================================================
`experiments`       every table and figure, one module each
`gallery`           the mechanisms as pictures
`planar`            version spaces in the plane, and their exact Bayes points
`elongated`         maximal margin against Bayes point on random toy problems
`learning_curves`   what perceptrons learn from random examples, in theory
`openness`          how often straight flights escape, kernel by kernel
`soft_boundary`     the ellipsoid of the parameter space, by softness
`guide_pictures`    the pictures of the guide's page about displays
=================== ==========================================================================
"""
