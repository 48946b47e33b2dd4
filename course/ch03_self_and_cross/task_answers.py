"""Answers to assignment 3."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# find-patch


@BANK.right_for("find-patch")
def patch_in_loops(patches, wanted, sharpness):
    rows = []
    for w in wanted:
        scores = np.array([-sharpness * np.sum((w - p) ** 2) for p in patches])
        e = np.exp(scores - scores.max())
        rows.append(e / e.sum())
    return np.array(rows)


@BANK.right_for("find-patch")
def patch_by_dot_products(patches, wanted, sharpness):
    return attnbook.softmax(sharpness * (2 * wanted @ patches.T - (patches**2).sum(axis=1)))


@BANK.wrong_for("find-patch", names="dot_products")
def patch_by_dot_product(patches, wanted, sharpness):
    return attnbook.softmax(sharpness * wanted @ patches.T)


@BANK.wrong_for("find-patch", names="scaled_dots")
def patch_by_attention(patches, wanted, sharpness):
    return attnbook.scaled_dot_product_attention(sharpness * wanted, patches, patches).weights


@BANK.wrong_for("find-patch", names="cosine")
def patch_by_cosine(patches, wanted, sharpness):
    p = patches / np.linalg.norm(patches, axis=1, keepdims=True)
    w = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
    return attnbook.softmax(sharpness * w @ p.T)


@BANK.wrong_for("find-patch", names="turned")
def patch_with_plus(patches, wanted, sharpness):
    return attnbook.softmax(sharpness * ((wanted[:, None] - patches) ** 2).sum(-1))


@BANK.wrong_for("find-patch", names="not_squared")
def patch_by_norm(patches, wanted, sharpness):
    return attnbook.softmax(-sharpness * np.linalg.norm(wanted[:, None] - patches, axis=-1))


@BANK.wrong_for("find-patch", names="without_two")
def patch_without_two(patches, wanted, sharpness):
    square = (wanted**2).sum(1)[:, None] - wanted @ patches.T + (patches**2).sum(1)
    return attnbook.softmax(-sharpness * square)


@BANK.wrong_for("find-patch", names="halved")
def patch_as_gaussian(patches, wanted, sharpness):
    return attnbook.softmax(-sharpness / 2 * ((wanted[:, None] - patches) ** 2).sum(-1))


@BANK.wrong_for("find-patch", names="no_sharpness")
def patch_without_sharpness(patches, wanted, sharpness):
    return attnbook.softmax(-((wanted[:, None] - patches) ** 2).sum(-1))


@BANK.wrong_for("find-patch", names="means")
def patch_by_mean(patches, wanted, sharpness):
    return attnbook.softmax(-sharpness * ((wanted[:, None] - patches) ** 2).mean(-1))


@BANK.wrong_for("find-patch", names="hard")
def patch_nearest(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(-1)
    return np.eye(len(patches))[distance.argmin(axis=1)]


@BANK.wrong_for("find-patch", symptom="not_finite large_scores")
def patch_overflow(patches, wanted, sharpness):
    e = np.exp(-sharpness * ((wanted[:, None] - patches) ** 2).sum(-1))
    return e / e.sum(axis=1, keepdims=True)


@BANK.wrong_for("find-patch", symptom="shape swapped_axes")
def patch_transposed(patches, wanted, sharpness):
    return attnbook.softmax(-sharpness * ((wanted[:, None] - patches) ** 2).sum(-1)).T


@BANK.wrong_for("find-patch", names="absolute")
def patch_by_absolute(patches, wanted, sharpness):
    return attnbook.softmax(-sharpness * abs(wanted[:, None] - patches).sum(axis=-1))


@BANK.wrong_for("find-patch", names="by_root")
def patch_scaled(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(axis=-1)
    return attnbook.softmax(-sharpness * distance / np.sqrt(patches.shape[1]))


@BANK.wrong_for("find-patch", names="over_queries")
def patch_wrong_axis(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(axis=-1)
    return attnbook.softmax(-sharpness * distance, axis=0)


@BANK.wrong_for("find-patch", symptom="differs other_sizes")
def patch_of_sharpness_100_at_most(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(axis=-1)
    return attnbook.softmax(-min(sharpness, 100) * distance)


# prefix-attention


@BANK.right_for("prefix-attention")
def prefix_in_loops(x, w_q, w_k, w_v, prefix):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        seen = max(i + 1, prefix)
        e = np.exp([q[i] @ k[j] / np.sqrt(k.shape[1]) for j in range(seen)])
        weights[i, :seen] = e / e.sum()
    return weights @ v, weights


@BANK.right_for("prefix-attention")
def prefix_by_mask(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    return attnbook.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask)


@BANK.wrong_for("prefix-attention", names="causal")
def prefix_causal(x, w_q, w_k, w_v, prefix):
    return attnbook.self_attention(x, w_q, w_k, w_v, attnbook.causal_mask(len(x)))


@BANK.wrong_for("prefix-attention", names="no_mask")
def prefix_without_mask(x, w_q, w_k, w_v, prefix):
    return attnbook.self_attention(x, w_q, w_k, w_v)


@BANK.wrong_for("prefix-attention", names="too_long")
def prefix_too_long(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x))
    mask[:, : prefix + 1] = True
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


@BANK.wrong_for("prefix-attention", names="too_short")
def prefix_too_short(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix - 1)
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


@BANK.wrong_for("prefix-attention", names="prefix_sees_all")
def prefix_rows(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x))
    mask[:prefix] = True
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


@BANK.wrong_for("prefix-attention", names="prefix_unseen")
def prefix_apart(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x))
    mask[:prefix, :prefix] = True
    mask[prefix:, :prefix] = False
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


@BANK.wrong_for("prefix-attention", names="inverted")
def prefix_inverted(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    return attnbook.self_attention(x, w_q, w_k, w_v, ~mask)


@BANK.wrong_for("prefix-attention", names="transposed")
def prefix_transposed(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    return attnbook.self_attention(x, w_q, w_k, w_v, mask.T)


@BANK.wrong_for("prefix-attention", names="unscaled")
def prefix_unscaled(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    return attnbook.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask, scale=1)


@BANK.wrong_for("prefix-attention", names="swapped")
def prefix_swapped(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    output, weights = attnbook.self_attention(x, w_q, w_k, w_v, mask)
    return weights, output


@BANK.wrong_for("prefix-attention", names="output_alone")
def prefix_output_only(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)[0]


@BANK.wrong_for("prefix-attention", symptom="row_sum who_sees_what")
def prefix_mask_after_softmax(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    weights = attnbook.self_attention(x, w_q, w_k, w_v)[1] * mask
    return weights @ (x @ w_v), weights


@BANK.wrong_for("prefix-attention", names="last_tokens")
def prefix_at_the_end(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x))
    mask[:, len(x) - prefix :] = True
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


@BANK.wrong_for("prefix-attention", names="by_d_in")
def prefix_scale_of_x(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    scores = (x @ w_q) @ (x @ w_k).T / np.sqrt(x.shape[1])
    weights = attnbook.softmax(np.where(mask, scores, -np.inf))
    return weights @ x @ w_v, weights


@BANK.wrong_for("prefix-attention", symptom="raised prefix_whole")
def prefix_shorter_than_x_alone(x, w_q, w_k, w_v, prefix):
    n = len(x)
    if not 0 <= prefix < n:
        raise ValueError("prefix must be shorter than x")
    mask = attnbook.causal_mask(n) | (np.arange(n) < prefix)
    return attnbook.self_attention(x, w_q, w_k, w_v, mask)


# two-scores


@BANK.right_for("two-scores")
def scores_in_loops(patches, noise, levels):
    found = np.zeros((2, len(levels)))
    for c, a in enumerate(levels):
        for i in range(len(patches)):
            q = patches[i] + a * noise[i]
            found[0, c] += max(range(len(patches)), key=lambda j: q @ patches[j]) == i
            found[1, c] += min(range(len(patches)), key=lambda j: sum((q - patches[j]) ** 2)) == i
    return found / len(patches)


@BANK.right_for("two-scores")
def scores_at_once(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (dot, near)])


@BANK.wrong_for("two-scores", names="swapped_rows")
def scores_swapped(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (near, dot)])


@BANK.wrong_for("two-scores", names="counts")
def scores_counts(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).sum(axis=-1) for s in (dot, near)])


@BANK.wrong_for("two-scores", names="percentages")
def scores_percent(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([100 * (s.argmax(axis=-1) == own).mean(axis=-1) for s in (dot, near)])


@BANK.wrong_for("two-scores", names="misses")
def scores_misses(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) != own).mean(axis=-1) for s in (dot, near)])


@BANK.wrong_for("two-scores", names="transposed")
def scores_transposed(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (dot, near)]).T


@BANK.wrong_for("two-scores", names="farthest")
def scores_farthest(patches, noise, levels):
    queries = patches + levels[:, None, None] * noise
    dot = queries @ patches.T
    far = ((queries[:, :, None] - patches) ** 2).sum(-1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (dot, far)])


@BANK.wrong_for("two-scores", names="cosine")
def scores_cosine(patches, noise, levels):
    queries = patches + levels[:, None, None] * noise
    cos = queries @ (patches / np.linalg.norm(patches, axis=1, keepdims=True)).T
    near = 2 * queries @ patches.T - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (cos, near)])


@BANK.wrong_for("two-scores", names="over_patches")
def scores_wrong_axis(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    square = ((patches + levels[:, None, None] * noise) ** 2).sum(-1)
    near = 2 * dot - square[:, :, None]
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=1) == own).mean(axis=-1) for s in (dot, near)])


@BANK.wrong_for("two-scores", names="both_dot")
def scores_half_distance(patches, noise, levels):
    dot = (patches + levels[:, None, None] * noise) @ patches.T
    own = np.arange(len(patches))
    return np.array([(s.argmax(axis=-1) == own).mean(axis=-1) for s in (dot, 2 * dot)])


@BANK.wrong_for("two-scores", symptom="differs two_rows")
def scores_noise_once(patches, noise, levels):
    dot = (patches + noise) @ patches.T
    near = 2 * dot - (patches**2).sum(axis=1)
    own = np.arange(len(patches))
    return np.array([[np.mean(s.argmax(axis=-1) == own)] * len(levels) for s in (dot, near)])


# wrong in a way that course/bank.py lists


@BANK.wrong_for("find-patch", names="shape lost_axis", of="squeeze")
def patch_squeezed(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(axis=-1)
    return np.squeeze(attnbook.softmax(-sharpness * distance))


@BANK.wrong_for("find-patch", names="nearest_if_far", of="one_hot")
def patch_nearest_where_all_underflow(patches, wanted, sharpness):
    distance = ((wanted[:, None] - patches) ** 2).sum(axis=-1)
    e = np.exp(-sharpness * distance)
    total = e.sum(axis=1, keepdims=True)
    nearest = np.eye(len(patches))[distance.argmin(axis=1)]
    return np.where(total == 0, nearest, e / np.where(total == 0, 1, total))


@BANK.wrong_for("prefix-attention", names="shape lost_axis", of="squeeze")
def prefix_squeezed(x, w_q, w_k, w_v, prefix):
    mask = attnbook.causal_mask(len(x)) | (np.arange(len(x)) < prefix)
    output, weights = attnbook.self_attention(x, w_q, w_k, w_v, mask)
    return np.squeeze(output), np.squeeze(weights)
