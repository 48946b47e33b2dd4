"""Answers to assignment 5."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# head-back


@BANK.right_for("head-back")
def head_in_loops(length, d_model, back, sharpness):
    def encode(p):
        w = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
        return np.stack([np.sin(p * w), np.cos(p * w)], axis=1).ravel()

    weights = np.zeros((length, length))
    for p in range(length):
        e = np.exp([sharpness * encode(p - back) @ encode(j) for j in range(p + 1)])
        weights[p, : p + 1] = e / e.sum()
    return weights


@BANK.right_for("head-back")
def head_by_offsets(length, d_model, back, sharpness):
    p = np.arange(length)
    offset = p[:, None] - back - p
    w = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    scores = sharpness * np.cos(offset[:, :, None] * w).sum(axis=-1)
    return attnbook.softmax(np.where(p[:, None] >= p, scores, -np.inf))


@BANK.wrong_for("head-back", names="ahead")
def head_ahead(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-back, d_model)
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="itself")
def head_itself(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(e, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="previous")
def head_previous(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-1, d_model).T
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="too_far")
def head_too_far(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-back - 1, d_model).T
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="no_mask")
def head_without_mask(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-back, d_model).T
    return attnbook.softmax(sharpness * q @ e.T)


@BANK.wrong_for("head-back", names="mask_after")
def head_mask_after(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-back, d_model).T
    return np.tril(attnbook.softmax(sharpness * q @ e.T))


@BANK.wrong_for("head-back", names="clipped")
def head_clipped(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e[[max(p - back, 0) for p in range(length)]]
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="rolled")
def head_rolled(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = np.roll(e, back, axis=0)
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="by_root")
def head_scaled(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = sharpness * e @ attnbook.relative_rotation(-back, d_model).T
    return attnbook.scaled_dot_product_attention(q, e, e, attnbook.causal_mask(length)).weights


@BANK.wrong_for("head-back", symptom="row_sum turned_back")
def head_one_hot(length, d_model, back, sharpness):
    return np.eye(length, k=-back)


@BANK.wrong_for("head-back", symptom="differs turned_back")
def head_another_base(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model, base=100.0)
    q = e @ attnbook.relative_rotation(-back, d_model, base=100.0).T
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.right_for("head-back")
def head_by_turned_keys(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length + back, d_model)  # all moved on by back
    scores = sharpness * e[:length] @ e[back:].T
    e = np.exp(scores - scores.max()) * np.tri(length)
    return (e / e.sum(axis=1, keepdims=True)).tolist()


@BANK.wrong_for("head-back", names="padded")
def head_padded(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = np.vstack([np.zeros((back, d_model)), e[: length - back]])
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


@BANK.wrong_for("head-back", names="over_queries")
def head_wrong_axis(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    scores = sharpness * e @ attnbook.relative_rotation(-back, d_model).T @ e.T
    return attnbook.softmax(np.where(attnbook.causal_mask(length), scores, -np.inf), axis=0)


@BANK.wrong_for("head-back", symptom="differs turned_back")
def head_at_most_four_back(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length, d_model)
    q = e @ attnbook.relative_rotation(-min(back, 4), d_model).T
    mask = attnbook.causal_mask(length)
    return attnbook.scaled_dot_product_attention(q, e, e, mask, scale=sharpness).weights


# first-collision


@BANK.right_for("first-collision")
def collision_in_loops(d_model, base, tolerance, longest):
    for k in range(1, longest + 1):
        square = 0.0
        for j in range(0, d_model, 2):
            angle = k * base ** (-j / d_model)
            square += np.sin(angle) ** 2 + (np.cos(angle) - 1) ** 2
        if square**0.5 < tolerance:
            return k
    return 0


@BANK.right_for("first-collision")
def collision_by_chords(d_model, base, tolerance, longest):
    k = np.arange(1, longest + 1)
    w = base ** (-np.arange(0, d_model, 2) / d_model)
    chord = 2 * np.linalg.norm(np.sin(k[:, None] * w / 2), axis=1)
    return next((int(n) for n in k[chord < tolerance]), 0)


@BANK.wrong_for("first-collision", names="from_0")
def collision_from_zero(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close))


@BANK.wrong_for("first-collision", names="square")
def collision_squared(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = ((e[1:] - e[0]) ** 2).sum(axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="last")
def collision_last(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e - e[0], axis=1) < tolerance
    return int(np.flatnonzero(close)[-1])


@BANK.wrong_for("first-collision", names="nearest")
def collision_nearest(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    return int(np.argmin(np.linalg.norm(e[1:] - e[0], axis=1))) + 1


@BANK.wrong_for("first-collision", names="count")
def collision_count(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    return int((np.linalg.norm(e[1:] - e[0], axis=1) < tolerance).sum())


@BANK.wrong_for("first-collision", names="far_enough")
def collision_far(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    return int(np.argmax(np.linalg.norm(e[1:] - e[0], axis=1) > tolerance)) + 1


@BANK.wrong_for("first-collision", names="base_10000")
def collision_default_base(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model)
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="largest")
def collision_by_maximum(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = (abs(e[1:] - e[0]) < tolerance).all(axis=1)
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="sines")
def collision_of_sines(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)[:, ::2]
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="never_0")
def collision_never_zero(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close)) + 1


@BANK.wrong_for("first-collision", symptom="raised beyond_longest")
def collision_index_error(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    return int(np.flatnonzero(np.linalg.norm(e - e[0], axis=1) < tolerance)[1])


@BANK.wrong_for("first-collision", symptom="differs distance_from_0")
def collision_counts_itself(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest, d_model, base=base)
    return int(np.argmax(np.linalg.norm(e - e[0], axis=1) < tolerance))


@BANK.wrong_for("first-collision", names="before_longest")
def collision_before_longest(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest, d_model, base=base)
    close = np.linalg.norm(e - e[0], axis=1) < tolerance
    return next((k for k in range(1, longest) if close[k]), 0)


@BANK.wrong_for("first-collision", names="one_beyond")
def collision_beyond_longest(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 2, d_model, base=base)
    close = np.linalg.norm(e - e[0], axis=1) < tolerance
    return next((k for k in range(1, longest + 2) if close[k]), 0)


@BANK.wrong_for("first-collision", names="from_2")
def collision_not_of_neighbours(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e - e[0], axis=1) < tolerance
    return next((k for k in range(2, longest + 1) if close[k]), 0)


@BANK.wrong_for("first-collision", names="sum")
def collision_by_sum(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = abs(e[1:] - e[0]).sum(axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="root_mean_square")
def collision_by_root_mean_square(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.sqrt(((e[1:] - e[0]) ** 2).mean(axis=1)) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="mean|mean_square|cosines")
def collision_of_cosines(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e[1:, 1::2] - e[0, 1::2], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="mean")
def collision_by_mean(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = abs(e[1:] - e[0]).mean(axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="relative")
def collision_relative(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e[1:] - e[0], axis=1) / np.linalg.norm(e[0]) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="last_pair")
def collision_of_last_pair(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = np.linalg.norm(e[1:, -2:] - e[0, -2:], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="mean|mean_square|cosines")
def collision_by_cosine(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=base)
    close = 1 - e[1:] @ e[0] / (e[0] @ e[0]) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", names="base_100")
def collision_of_base_100(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(longest + 1, d_model, base=100.0)
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


@BANK.wrong_for("first-collision", symptom="differs distance_from_0")
def collision_up_to_3000(d_model, base, tolerance, longest):
    e = attnbook.sinusoidal_encoding(min(longest, 3000) + 1, d_model, base=base)
    close = np.linalg.norm(e[1:] - e[0], axis=1) < tolerance
    return int(np.argmax(close)) + 1 if close.any() else 0


# noisy-head


@BANK.right_for("noisy-head")
def noisy_head_in_loops(content, sizes):
    w = 10000.0 ** (-np.arange(0, 32, 2) / 32)
    angle = np.arange(40)[:, None] * w
    encoding = np.stack([np.sin(angle), np.cos(angle)], axis=2).reshape(40, 32)
    kept = []
    for size in sizes:
        x = encoding + size * content
        s, c = x[:, ::2], x[:, 1::2]
        turned = np.empty_like(x)
        turned[:, ::2] = s * np.cos(3 * w) - c * np.sin(3 * w)
        turned[:, 1::2] = s * np.sin(3 * w) + c * np.cos(3 * w)
        total = 0.0
        for p in range(3, 40):
            e = np.exp(4 * (x[: p + 1] @ turned[p]) - 200)
            total += e[p - 3] / e.sum()
        kept.append(total / 37)
    return kept


@BANK.right_for("noisy-head")
def noisy_head_at_once(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(3, 32)
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="previous")
def noisy_head_previous(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-1, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="over_40")
def noisy_head_over_forty(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-3, axis1=1, axis2=2).sum(axis=1) / 40


@BANK.wrong_for("noisy-head", names="from_4")
def noisy_head_from_four(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return np.array([np.mean([one[p, p - 3] for p in range(4, 40)]) for one in w])


@BANK.wrong_for("noisy-head", names="largest")
def noisy_head_largest(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.max(axis=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="wins")
def noisy_head_hits(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return (w.argmax(axis=2)[:, 3:] == np.arange(37)).mean(axis=1)


@BANK.wrong_for("noisy-head", names="no_mask")
def noisy_head_without_mask(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.softmax(4 * q @ x.swapaxes(1, 2))
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="by_root")
def noisy_head_scaled(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = 4 * x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40)).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="no_sharpness")
def noisy_head_not_sharp(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=1).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="wrong_sign")
def noisy_head_transposed_rotation(content, sizes):
    x = attnbook.sinusoidal_encoding(40, 32) + sizes[:, None, None] * content
    q = x @ attnbook.relative_rotation(-3, 32)
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="clean_keys")
def noisy_head_clean_keys(content, sizes):
    e = attnbook.sinusoidal_encoding(40, 32)
    q = (e + sizes[:, None, None] * content) @ attnbook.relative_rotation(-3, 32).T
    w = attnbook.scaled_dot_product_attention(q, e, e, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


@BANK.wrong_for("noisy-head", names="content_unturned")
def noisy_head_turned_before_content(content, sizes):
    e = attnbook.sinusoidal_encoding(40, 32)
    x = e + sizes[:, None, None] * content
    q = e @ attnbook.relative_rotation(-3, 32).T + sizes[:, None, None] * content
    w = attnbook.scaled_dot_product_attention(q, x, x, attnbook.causal_mask(40), scale=4).weights
    return w.diagonal(-3, axis1=1, axis2=2).mean(axis=1)


# wrong in a way that course/bank.py lists


@BANK.wrong_for("head-back", names="shape lost_axis", of="squeeze")
def head_squeezed(length, d_model, back, sharpness):
    e = attnbook.sinusoidal_encoding(length + back, d_model)
    scores = sharpness * e[:length] @ e[back:].T
    return np.squeeze(attnbook.softmax(np.where(np.tri(length), scores, -np.inf)))
