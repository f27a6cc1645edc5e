"""Tail probabilities of counts; pure."""

from math import exp, lgamma, log


def is_improbable(found: int, of: int, share: float, strength: float, chance: float) -> bool:
    """Return whether at least `found` rows of `of` are less probable than `chance`.

    `share` is usual. The share of a load varies around it as a beta distribution: as if `strength`
    rows were known. So the count is beta-binomial: rows of one load change together.
    """
    if not found or found <= share * of:
        return False
    alpha, beta = max(share * strength, 1e-9), max((1 - share) * strength, 1e-9)
    term = exp(
        _log_beta(found + alpha, of - found + beta)
        - _log_beta(alpha, beta)
        + _log_choose(of, found)
    )
    total = 0.0
    for count in range(found, of + 1):
        total += term
        if total >= chance:
            return False
        ratio = (of - count) / (count + 1) * (count + alpha) / max(of - count - 1 + beta, 1e-9)
        if ratio < 1 and total + term * (of - count) < chance and beta >= 1:
            return True
        term *= ratio
    return True


def at_most(count: int, mean: float, shape: float) -> float:
    """Return the probability of at most `count` rows if `mean` is usual.

    The mean itself varies as a gamma distribution of this `shape`, so the count is negative binomial.
    """
    if mean <= 0:
        return 1.0
    term = exp(shape * log(shape / (shape + mean)))
    total = term
    for k in range(1, count + 1):
        term *= (k - 1 + shape) / k * mean / (mean + shape)
        total += term
    return min(total, 1.0)


def at_least(count: int, mean: float, shape: float) -> float:
    """Return the probability of at least `count` rows, as `at_most`."""
    if count <= 0:
        return 1.0
    if mean <= 0:
        return 0.0
    p = mean / (mean + shape)
    term = exp(
        lgamma(count + shape)
        - lgamma(shape)
        - lgamma(count + 1)
        + count * log(p)
        + shape * log(1 - p)
    )
    if count <= mean:
        return 1.0
    total, k = 0.0, count
    while term > total * 1e-12:
        total += term
        term *= (k + shape) / (k + 1) * p
        k += 1
    return min(total, 1.0)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
