"""The papers' figures, tables and experiments, computed with the package.

``python -m bayespoint.papers`` lists them, and with a name makes one. The rest of the package does
not import this folder. Functions that draw need the extra ``plot`` (matplotlib).

=================== ==========================================================================
`experiments`       the tables and figures, with the printed results beside ours
`drawings`          the mechanisms as pictures
`displays`          version spaces, walls, layers and evidences as pictures
`planar`            version spaces in the plane, and their exact Bayes points
`bounds`            bounds on the probability of an error, from the training examples alone
`averaged`          averages and votes of kernel perceptrons
`centers`           the function closest to the vote, and the center of the largest ellipsoid
`correlation`       the correlation length of the billiard
`dynamics`          the papers' motions of the ball
`elongated`         a toy problem whose version space may be long and thin
`learning_curves`   the theory of a perceptron that learns from random examples
`light_trap`        the light trap of Ruján and Marchand
`machine`           the papers' Bayes point machine, by their own billiards, with fit and predict
`onion`             the layers of weight vectors with some training errors
`reweighting`       the center of another density, from weighted draws
`primal`            Rosenblatt's perceptron, and gradient descent on the hinge loss
`soft_boundary`     the ellipsoid of the parameter space, by softness
`data`              data that only the experiments use
=================== ==========================================================================
"""
