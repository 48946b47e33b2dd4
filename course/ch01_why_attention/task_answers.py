"""Answers to assignment 1."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# local-lines


@BANK.right_for("local-lines")
def lines_by_lstsq(x_query, x, y, bandwidth):
    values = []
    for q in x_query:
        root = np.exp(-((q - x) ** 2) / (4 * bandwidth**2))
        design = np.stack([np.ones_like(x), x - q], axis=1)
        values.append(np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0])
    return values


@BANK.right_for("local-lines")
def lines_by_normal_equations(x_query, x, y, bandwidth):
    d = x - x_query[:, None]
    w = np.exp(-(d**2) / (2 * bandwidth**2))
    s0, s1, s2 = w.sum(1), (w * d).sum(1), (w * d * d).sum(1)
    return (s2 * (w @ y) - s1 * (w * d * y).sum(1)) / (s0 * s2 - s1**2)


@BANK.right_for("local-lines")
def lines_by_polyfit(x_query, x, y, bandwidth):
    result = np.empty(len(x_query))
    for i, q in enumerate(x_query):
        w = np.exp(-((q - x) ** 2) / (4 * bandwidth**2))
        result[i] = np.polyval(np.polyfit(x, y, 1, w=w), q)
    return result


@BANK.right_for("local-lines")
def lines_in_float32(x_query, x, y, bandwidth):
    x_query, x, y = (np.float32(given) for given in (x_query, x, y))
    w = attnbook.softmax(-((x_query[:, None] - x) ** 2) / np.float32(2 * bandwidth**2))
    mx, my = w @ x, w @ y
    return my + (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * (x_query - mx)


@BANK.wrong_for("local-lines", names="average")
def lines_as_average(x_query, x, y, bandwidth):
    w = np.exp(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    return (w @ y) / w.sum(axis=1)


@BANK.wrong_for("local-lines", names="one_line")
def lines_without_weights(x_query, x, y, bandwidth):
    return np.polyval(np.polyfit(x, y, 1), x_query)


@BANK.wrong_for("local-lines", names="no_two")
def lines_by_polyfit_with_weights(x_query, x, y, bandwidth):
    result = []
    for q in x_query:
        w = np.exp(-((q - x) ** 2) / (2 * bandwidth**2))
        result.append(np.polyval(np.polyfit(x, y, 1, w=w), q))
    return np.array(result)


@BANK.wrong_for("local-lines", names="plain_bandwidth")
def lines_with_plain_bandwidth(x_query, x, y, bandwidth):
    d = x - x_query[:, None]
    w = np.exp(-(d**2) / (2 * bandwidth))
    s0, s1, s2 = w.sum(1), (w * d).sum(1), (w * d * d).sum(1)
    return (s2 * (w @ y) - s1 * (w * d * y).sum(1)) / (s0 * s2 - s1**2)


@BANK.wrong_for("local-lines", names="not_squared")
def lines_with_laplace(x_query, x, y, bandwidth):
    d = x - x_query[:, None]
    w = np.exp(-np.abs(d) / bandwidth)
    s0, s1, s2 = w.sum(1), (w * d).sum(1), (w * d * d).sum(1)
    return (s2 * (w @ y) - s1 * (w * d * y).sum(1)) / (s0 * s2 - s1**2)


@BANK.wrong_for("local-lines", names="at_zero")
def lines_intercepts(x_query, x, y, bandwidth):
    result = []
    for q in x_query:
        w = np.exp(-((q - x) ** 2) / (4 * bandwidth**2))
        result.append(np.polyfit(x, y, 1, w=w)[1])
    return np.array(result)


@BANK.wrong_for("local-lines", names="slopes")
def lines_slopes(x_query, x, y, bandwidth):
    result = []
    for q in x_query:
        w = np.exp(-((q - x) ** 2) / (4 * bandwidth**2))
        result.append(np.polyfit(x, y, 1, w=w)[0])
    return np.array(result)


@BANK.wrong_for("local-lines", names="sign_of_slope")
def lines_wrong_step(x_query, x, y, bandwidth):
    w = attnbook.softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    mx, my = w @ x, w @ y
    return my - (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * (x_query - mx)


@BANK.wrong_for("local-lines", symptom="differs line_around")
def lines_weights_not_normalised(x_query, x, y, bandwidth):
    w = np.exp(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    mx, my = w @ x, w @ y
    return my + (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * (x_query - mx)


@BANK.wrong_for("local-lines", symptom="none")
def lines_without_return(x_query, x, y, bandwidth):
    w = attnbook.softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    w @ y


@BANK.right_for("local-lines")
def lines_by_solve(x_query, x, y, bandwidth):
    w = np.exp(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    design = np.vander(x, 2)
    left = np.einsum("qk,ki,kj->qij", w, design, design)
    right = np.einsum("qk,ki,k->qi", w, design, y)
    slope, at_zero = np.linalg.solve(left, right[..., None])[..., 0].T
    return tuple(slope * x_query + at_zero)


@BANK.wrong_for("local-lines", names="step_from_zero")
def lines_without_mean(x_query, x, y, bandwidth):
    w = attnbook.softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2))
    mx, my = w @ x, w @ y
    return my + (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * x_query


@BANK.wrong_for("local-lines", names="over_queries")
def lines_wrong_axis(x_query, x, y, bandwidth):
    w = attnbook.softmax(-((x_query[:, None] - x) ** 2) / (2 * bandwidth**2), axis=0)
    mx, my = w @ x, w @ y
    return my + (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * (x_query - mx)


@BANK.wrong_for("local-lines", symptom="differs line_around")
def lines_flat_beyond_the_ends(x_query, x, y, bandwidth):
    q = np.clip(x_query, x.min(), x.max())
    w = attnbook.softmax(-((q[:, None] - x) ** 2) / (2 * bandwidth**2))
    mx, my = w @ x, w @ y
    return my + (w @ (x * y) - mx * my) / (w @ x**2 - mx**2) * (q - mx)


# loo-errors


@BANK.right_for("loo-errors")
def errors_in_loops(x, y, bandwidths):
    errors = []
    for b in bandwidths:
        total = 0.0
        for i in range(len(x)):
            others = np.delete(np.arange(len(x)), i)
            w = np.exp(-((x[i] - x[others]) ** 2) / (2 * b**2))
            total += (y[i] - w @ y[others] / w.sum()) ** 2
        errors.append(total / len(x))
    return errors


@BANK.right_for("loo-errors")
def errors_by_formula(x, y, bandwidths):
    b = np.asarray(bandwidths)[:, None, None]
    w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2))
    full = (w @ y) / w.sum(axis=-1)
    return np.mean(((full - y) / (1 - 1 / w.sum(axis=-1))) ** 2, axis=-1)


@BANK.wrong_for("loo-errors", names="own_point")
def errors_nothing_left_out(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = attnbook.softmax(-((x[:, None] - x) ** 2) / (2 * b**2))
        out.append(np.mean((w @ y - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="sum_below_one")
def errors_zero_after_softmax(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = attnbook.softmax(-((x[:, None] - x) ** 2) / (2 * b**2))
        np.fill_diagonal(w, 0)
        out.append(np.mean((w @ y - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="roots")
def errors_rmse(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.sqrt(np.mean((w @ y / w.sum(1) - y) ** 2)))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="sums")
def errors_sum(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.sum((w @ y / w.sum(1) - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="absolute")
def errors_absolute(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.mean(np.abs(w @ y / w.sum(1) - y)))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="no_two")
def errors_without_two(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / b**2) * (1 - np.eye(len(x)))
        out.append(np.mean((w @ y / w.sum(1) - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="plain_bandwidth")
def errors_plain_bandwidth(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b)) * (1 - np.eye(len(x)))
        out.append(np.mean((w @ y / w.sum(1) - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", symptom="shape")
def errors_best_only(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.mean((w @ y / w.sum(1) - y) ** 2))
    return bandwidths[np.argmin(out)]


@BANK.wrong_for("loo-errors", symptom="not_finite all_the_others")
def errors_masked_with_nan(x, y, bandwidths):
    out = []
    for b in bandwidths:
        s = -((x[:, None] - x) ** 2) / (2 * b**2)
        np.fill_diagonal(s, np.nan)
        out.append(np.mean((attnbook.softmax(s) @ y - y) ** 2))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="one_less")
def errors_unbiased(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-((x[:, None] - x) ** 2) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.sum((w @ y / w.sum(1) - y) ** 2) / (len(x) - 1))
    return np.array(out)


@BANK.wrong_for("loo-errors", names="distance")
def errors_distance(x, y, bandwidths):
    out = []
    for b in bandwidths:
        w = np.exp(-abs(x[:, None] - x) / (2 * b**2)) * (1 - np.eye(len(x)))
        out.append(np.mean((w @ y / w.sum(1) - y) ** 2))
    return np.array(out)


# sharp-enough


@BANK.right_for("sharp-enough")
def weight_in_loops(query, key, sharpness):
    means = []
    for s in sharpness:
        own = []
        for i in range(len(query)):
            e = np.exp(s * (key @ query[i]))
            own.append(e[i] / e.sum())
        means.append(sum(own) / len(own))
    return means


@BANK.right_for("sharp-enough")
def weight_by_einsum(query, key, sharpness):
    w = attnbook.softmax(np.einsum("s,id,jd->sij", sharpness, query, key))
    return np.einsum("sii->s", w) / len(query)


@BANK.wrong_for("sharp-enough", names="all_weights")
def weight_mean_of_all(query, key, sharpness):
    return np.array([attnbook.softmax(s * query @ key.T).mean() for s in sharpness])


@BANK.wrong_for("sharp-enough", names="largest")
def weight_largest(query, key, sharpness):
    return np.array([attnbook.softmax(s * query @ key.T).max(axis=1).mean() for s in sharpness])


@BANK.wrong_for("sharp-enough", names="wins")
def weight_hits(query, key, sharpness):
    hit = (query @ key.T).argmax(axis=1) == np.arange(len(query))
    return np.array([hit.mean() for _ in sharpness])


@BANK.wrong_for("sharp-enough", names="by_sharpness")
def weight_as_temperature(query, key, sharpness):
    return np.array([np.diag(attnbook.softmax(query @ key.T / s)).mean() for s in sharpness])


@BANK.wrong_for("sharp-enough", names="scaled")
def weight_with_scale(query, key, sharpness):
    own = []
    for s in sharpness:
        own.append(np.diag(attnbook.scaled_dot_product_attention(s * query, key, key)[1]).mean())
    return np.array(own)


@BANK.wrong_for("sharp-enough", names="over_queries")
def weight_wrong_axis(query, key, sharpness):
    return np.array(
        [np.diag(attnbook.softmax(s * query @ key.T, axis=0)).mean() for s in sharpness]
    )


@BANK.wrong_for("sharp-enough", names="sums")
def weight_sum(query, key, sharpness):
    return np.array([np.trace(attnbook.softmax(s * query @ key.T)) for s in sharpness])


@BANK.wrong_for("sharp-enough", names="medians")
def weight_median(query, key, sharpness):
    return np.array([np.median(np.diag(attnbook.softmax(s * query @ key.T))) for s in sharpness])


@BANK.wrong_for("sharp-enough", symptom="shape")
def weight_not_averaged(query, key, sharpness):
    return np.array([np.diag(attnbook.softmax(s * query @ key.T)) for s in sharpness])


@BANK.wrong_for("sharp-enough", names="rounded")
def weight_rounded(query, key, sharpness):
    own = [np.diag(attnbook.softmax(s * query @ key.T)).mean() for s in sharpness]
    return np.round(own, 2)


# wrong in a way that course/bank.py lists


@BANK.wrong_for("local-lines", names="shape lost_axis", of="squeeze")
def lines_squeezed(x_query, x, y, bandwidth):
    d = x - x_query[:, None]
    w = np.exp(-(d**2) / (2 * bandwidth**2))
    s0, s1, s2 = w.sum(1), (w * d).sum(1), (w * d * d).sum(1)
    return np.squeeze((s2 * (w @ y) - s1 * (w * d * y).sum(1)) / (s0 * s2 - s1**2))


@BANK.wrong_for("loo-errors", names="shape lost_axis", of="squeeze")
def errors_squeezed(x, y, bandwidths):
    errors = []
    for b in bandwidths:
        scores = -((x[:, None] - x) ** 2) / (2 * b**2)
        np.fill_diagonal(scores, -np.inf)
        errors.append(np.mean((attnbook.softmax(scores) @ y - y) ** 2))
    return np.squeeze(errors)
