"""Estimators in scikit-learn's manner."""
