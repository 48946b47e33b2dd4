"""Answers to assignment 8."""

import numpy as np

import attnbook
from course.bank import Bank

BANK = Bank()


# tied-backward


@BANK.right_for("tied-backward")
def tied_token_by_token(d_output, x, w):
    d_x, d_w = np.zeros(x.shape), np.zeros(w.shape)
    for place in np.ndindex(x.shape[:-1]):
        token, d = x[place], d_output[place]
        a = token @ w
        d_hidden = d @ w
        d_hidden[a <= 0] = 0
        d_w += np.outer(token, d_hidden) + np.outer(d, np.maximum(a, 0))
        d_x[place] = d + w @ d_hidden
    return d_x, d_w


@BANK.right_for("tied-backward")
def tied_on_flat_tokens(d_output, x, w):
    tokens, d = x.reshape(-1, x.shape[-1]), d_output.reshape(-1, x.shape[-1])
    a = tokens @ w
    d_a = np.where(a > 0, d @ w, 0)
    return (d + d_a @ w.T).reshape(x.shape), tokens.T @ d_a + d.T @ a.clip(min=0)


@BANK.right_for("tied-backward")
def tied_by_einsum(d_output, x, w):
    on = (np.einsum("bnd,dh->bnh", x, w) > 0).astype(float)
    hidden = np.einsum("bnd,dh->bnh", x, w) * on
    d_a = np.einsum("bnd,dh->bnh", d_output, w) * on
    d_w = np.einsum("bnd,bnh->dh", x, d_a) + np.einsum("bnd,bnh->dh", d_output, hidden)
    return [d_output + np.einsum("bnh,dh->bnd", d_a, w), d_w]


@BANK.wrong_for("tied-backward", names="first_use")
def tied_with_the_first_use(d_output, x, w):
    d_a = (d_output @ w) * (x @ w > 0)
    return d_output + d_a @ w.T, (x.mT @ d_a).sum(axis=0)


@BANK.wrong_for("tied-backward", names="second_use")
def tied_with_the_second_use(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_output + d_a @ w.T, (d_output.mT @ np.maximum(a, 0)).sum(axis=0)


@BANK.wrong_for("tied-backward", names="mean_of_uses")
def tied_with_the_mean_of_both(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    d_w = (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0) / 2
    return d_output + d_a @ w.T, d_w


@BANK.wrong_for("tied-backward", names="no_residual")
def tied_without_the_residual(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_a @ w.T, (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)


@BANK.wrong_for("tied-backward", names="residual_alone")
def tied_with_the_residual_alone(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return 1.0 * d_output, (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)


@BANK.wrong_for("tied-backward", names="no_relu_backwards")
def tied_without_relu_backwards(d_output, x, w):
    d_a = d_output @ w
    d_w = (x.mT @ d_a + d_output.mT @ np.maximum(x @ w, 0)).sum(axis=0)
    return d_output + d_a @ w.T, d_w


@BANK.wrong_for("tied-backward", names="relu_of_the_gradient")
def tied_with_relu_of_the_gradient(d_output, x, w):
    d_a = np.maximum(d_output @ w, 0)
    d_w = (x.mT @ d_a + d_output.mT @ np.maximum(x @ w, 0)).sum(axis=0)
    return d_output + d_a @ w.T, d_w


@BANK.wrong_for("tied-backward", names="times_hidden")
def tied_times_the_hidden_numbers(d_output, x, w):
    hidden = np.maximum(x @ w, 0)
    d_a = (d_output @ w) * hidden
    return d_output + d_a @ w.T, (x.mT @ d_a + d_output.mT @ hidden).sum(axis=0)


@BANK.wrong_for("tied-backward", names="no_relu_forward")
def tied_without_relu_forward(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_output + d_a @ w.T, (x.mT @ d_a + d_output.mT @ a).sum(axis=0)


@BANK.wrong_for("tied-backward", names="no_relu")
def tied_without_relu(d_output, x, w):
    d_a = d_output @ w
    return d_output + d_a @ w.T, (x.mT @ d_a + d_output.mT @ (x @ w)).sum(axis=0)


@BANK.wrong_for("tied-backward", names="each_sequence")
def tied_for_each_sequence(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_output + d_a @ w.T, x.mT @ d_a + d_output.mT @ np.maximum(a, 0)


@BANK.wrong_for("tied-backward", names="mean_of_sequences")
def tied_with_the_mean_of_sequences(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_output + d_a @ w.T, (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).mean(axis=0)


@BANK.wrong_for("tied-backward", names="last_sequence")
def tied_overwriting_the_sequences(d_output, x, w):
    d_x = np.zeros(x.shape)
    for b in range(len(x)):
        a = x[b] @ w
        d_a = (d_output[b] @ w) * (a > 0)
        d_x[b] = d_output[b] + d_a @ w.T
        d_w = x[b].T @ d_a + d_output[b].T @ np.maximum(a, 0)
    return d_x, d_w


@BANK.wrong_for("tied-backward", names="mean_of_tokens")
def tied_with_the_mean_of_tokens(d_output, x, w):
    tokens, d = x.reshape(-1, x.shape[-1]), d_output.reshape(-1, x.shape[-1])
    a = tokens @ w
    d_a = (d @ w) * (a > 0)
    d_w = (tokens.T @ d_a + d.T @ np.maximum(a, 0)) / len(tokens)
    return d_output + (d_a @ w.T).reshape(x.shape), d_w


@BANK.wrong_for("tied-backward", names="second_not_transposed")
def tied_with_the_second_use_as_it_is(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    d_w = (x.mT @ d_a + np.maximum(a, 0).mT @ d_output).sum(axis=0)
    return d_output + d_a @ w.T, d_w


@BANK.wrong_for("tied-backward", names="swapped")
def tied_swapped(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    d_w = (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)
    return d_w, d_output + d_a @ w.T


@BANK.wrong_for("tied-backward", names="d_w_alone")
def tied_of_the_matrix(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)


@BANK.wrong_for("tied-backward", names="in_place")
def tied_in_place(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    d_w = (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)
    d_output += d_a @ w.T
    return d_output, d_w


@BANK.wrong_for("tied-backward", symptom="raised shapes_of_two")
def tied_without_transposing(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * (a > 0)
    return d_output + d_a @ w.T, x @ d_a + d_output @ np.maximum(a, 0)


@BANK.wrong_for("tied-backward", symptom="differs used_twice")
def tied_with_half_a_relu(d_output, x, w):
    a = x @ w
    d_a = (d_output @ w) * np.where(a > 0, 1, 0.5)
    return d_output + d_a @ w.T, (x.mT @ d_a + d_output.mT @ np.maximum(a, 0)).sum(axis=0)


# whole-batch


@BANK.right_for("whole-batch")
def batch_target_by_target(gradients, counts, largest):
    total = np.zeros(gradients[0].shape)
    for gradient, count in zip(gradients, counts, strict=True):
        for _ in range(count):
            total += gradient
    mean = total / sum(counts)
    norm = sum(float(number) ** 2 for number in mean.ravel()) ** 0.5
    return mean if norm <= largest else mean * (largest / norm)


@BANK.right_for("whole-batch")
def batch_by_an_average(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.right_for("whole-batch")
def batch_by_einsum(gradients, counts, largest):
    mean = np.einsum("n,nij->ij", np.array(counts) / sum(counts), gradients)
    norm = np.sqrt(np.vdot(mean, mean))
    return mean * largest / norm if norm > largest else mean


@BANK.wrong_for("whole-batch", names="plain_mean")
def batch_as_a_plain_mean(gradients, counts, largest):
    mean = gradients.mean(axis=0)
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", names="plain_sum")
def batch_as_a_plain_sum(gradients, counts, largest):
    total = gradients.sum(axis=0)
    return total / max(1, np.linalg.norm(total) / largest)


@BANK.wrong_for("whole-batch", names="not_divided")
def batch_as_a_weighted_sum(gradients, counts, largest):
    total = np.einsum("n,nij->ij", counts, gradients)
    return total / max(1, np.linalg.norm(total) / largest)


@BANK.wrong_for("whole-batch", names="divided_by_batches")
def batch_divided_by_the_number_of_batches(gradients, counts, largest):
    mean = np.einsum("n,nij->ij", counts, gradients) / len(counts)
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", names="inverse_counts")
def batch_with_inverse_counts(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=1 / np.array(counts))
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", names="sums_given")
def batch_of_sums(gradients, counts, largest):
    mean = gradients.sum(axis=0) / sum(counts)
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", names="last_batch")
def batch_overwritten(gradients, counts, largest):
    for gradient in gradients:
        mean = gradient
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", names="not_cut")
def batch_not_cut(gradients, counts, largest):
    return np.average(gradients, axis=0, weights=counts)


@BANK.wrong_for("whole-batch", names="stretched")
def batch_stretched(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    norm = np.linalg.norm(mean)
    return mean * largest / norm if norm else mean


@BANK.wrong_for("whole-batch", names="each_number")
def batch_with_each_number_cut(gradients, counts, largest):
    return np.clip(np.average(gradients, axis=0, weights=counts), -largest, largest)


@BANK.wrong_for("whole-batch", names="to_one")
def batch_cut_to_one(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    norm = np.linalg.norm(mean)
    return mean / norm if norm > largest else mean


@BANK.wrong_for("whole-batch", names="by_square")
def batch_cut_by_the_square(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    norm = (mean**2).sum()
    return mean * largest / norm if norm > largest else mean


@BANK.wrong_for("whole-batch", names="by_largest_number")
def batch_cut_by_the_largest_number(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    top = abs(mean).max()
    return mean * largest / top if top > largest else mean


@BANK.wrong_for("whole-batch", names="by_spectral")
def batch_cut_by_the_spectral_norm(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    return mean / max(1, np.linalg.norm(mean, 2) / largest)


@BANK.wrong_for("whole-batch", names="each_row")
def batch_with_each_row_cut(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    return mean / np.maximum(1, np.linalg.norm(mean, axis=1, keepdims=True) / largest)


@BANK.wrong_for("whole-batch", names="set_to_zero")
def batch_set_to_zero(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    return mean * (np.linalg.norm(mean) <= largest)


@BANK.wrong_for("whole-batch", names="divided_by_largest")
def batch_divided_by_the_largest(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    return mean / largest if np.linalg.norm(mean) > largest else mean


@BANK.wrong_for("whole-batch", names="cut_first")
def batch_cut_before(gradients, counts, largest):
    cut = [g / max(1, np.linalg.norm(g) / largest) for g in gradients]
    return np.average(cut, axis=0, weights=counts)


@BANK.wrong_for("whole-batch", names="each_batch")
def batch_each_for_itself(gradients, counts, largest):
    return np.array([g / max(1, np.linalg.norm(g) / largest) for g in gradients])


@BANK.wrong_for("whole-batch", names="zero_nan")
def batch_with_nan_for_zeros(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    norm = np.linalg.norm(mean)
    with np.errstate(all="ignore"):
        return mean / norm * min(norm, largest)


@BANK.wrong_for("whole-batch", names="cut_to_integers")
def batch_into_an_array_like_the_gradients(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    result = np.zeros_like(gradients[0])
    result[...] = mean / max(1, np.linalg.norm(mean) / largest)
    return result


@BANK.wrong_for("whole-batch", symptom="nearly")
def batch_with_a_small_number_added(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts)
    norm = np.linalg.norm(mean)
    return mean * min(1, largest / (norm + 2e-3 * largest))


@BANK.wrong_for("whole-batch", symptom="raised a_list")
def batch_of_a_list(gradients, counts, largest):
    mean = np.average(gradients, axis=0, weights=counts / sum(counts))
    return mean / max(1, np.linalg.norm(mean) / largest)


@BANK.wrong_for("whole-batch", symptom="raised a_count_each")
def batch_without_axes_for_counts(gradients, counts, largest):
    mean = (np.array(counts) / sum(counts) * gradients).sum(axis=0)
    return mean / max(1, np.linalg.norm(mean) / largest)


# swapped-fields


@BANK.right_for("swapped-fields")
def fields_query_by_query(query, key, value, other_key, other_value, field):
    def attend(keys, values):
        weights, outputs = [], []
        for q in query:
            e = np.array([np.exp(float(q @ k) / 4) for k in keys])
            weights.append(e / e.sum())
            outputs.append(sum(w * v for w, v in zip(weights[-1], values, strict=True)))
        return np.array(weights), np.array(outputs)

    weights, full = attend(key, value)
    share, moved = [], []
    for number in range(4):
        k, v = key.copy(), value.copy()
        for j in range(len(field)):
            if field[j] == number:
                k[j], v[j] = other_key[j], other_value[j]
        share.append(sum(weights[:, j].mean() for j in range(16) if field[j] == number))
        moved.append(((attend(k, v)[1] - full) ** 2).sum() ** 0.5 / (full**2).sum() ** 0.5)
    return np.array([share, moved])


@BANK.right_for("swapped-fields")
def fields_by_the_package(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        k, v = key.copy(), value.copy()
        k[field == n], v[field == n] = other_key[field == n], other_value[field == n]
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, field == n].sum() / len(query)
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="mean_of_keys")
def fields_with_means_over_keys(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[:, n] = (
            weights[:, field == n].mean(),
            np.linalg.norm(change) / np.linalg.norm(full),
        )
    return found


@BANK.wrong_for("swapped-fields", names="largest_key")
def fields_by_their_heaviest_key(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, field == n].max(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="not_averaged")
def fields_added_up_over_queries(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, field == n].sum()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="best_keys")
def fields_counting_best_keys(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = (field[weights.argmax(axis=1)] == n).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="values_alone")
def fields_with_values_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        v = np.where((field == n)[:, None], other_value, value)
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(weights @ v - full) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="keys_alone")
def fields_with_keys_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        k = np.where((field == n)[:, None], other_key, key)
        change = attnbook.scaled_dot_product_attention(query, k, value).output - full
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="others_swapped")
def fields_with_the_others_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, key, other_key), np.where(of, value, other_value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="all_swapped")
def fields_with_all_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        other = attnbook.scaled_dot_product_attention(query, other_key, other_value).output
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(other - full) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="zero_values")
def fields_with_values_of_zero(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        v = np.where((field == n)[:, None], 0, value)
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(weights @ v - full) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="left_out")
def fields_left_out(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        rest = attnbook.scaled_dot_product_attention(query, key, value, field != n).output
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(rest - full) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="unscaled")
def fields_without_a_scale(query, key, value, other_key, other_value, field):
    def attend(k, v):
        return attnbook.scaled_dot_product_attention(query, k, v, scale=1)

    full, weights = attend(key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        change = (
            attend(np.where(of, other_key, key), np.where(of, other_value, value)).output - full
        )
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="not_relative")
def fields_absolute(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[:, n] = weights[:, field == n].sum(axis=1).mean(), np.linalg.norm(change)
    return found


@BANK.wrong_for("swapped-fields", names="of_the_swapped")
def fields_relative_to_the_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        other = attnbook.scaled_dot_product_attention(query, k, v).output
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(other - full) / np.linalg.norm(other)
    return found


@BANK.wrong_for("swapped-fields", names="mean_of_ratios")
def fields_by_means_of_ratios(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        ratios = np.linalg.norm(change, axis=1) / np.linalg.norm(full, axis=1)
        found[:, n] = weights[:, field == n].sum(axis=1).mean(), ratios.mean()
    return found


@BANK.wrong_for("swapped-fields", names="rows_swapped")
def fields_with_rows_swapped(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[1, n] = weights[:, field == n].sum(axis=1).mean()
        found[0, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", names="transposed")
def fields_transposed(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    rows = []
    for n in range(4):
        of = (field == n)[:, None]
        k, v = np.where(of, other_key, key), np.where(of, other_value, value)
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        share = weights[:, field == n].sum(axis=1).mean()
        rows.append((share, np.linalg.norm(change) / np.linalg.norm(full)))
    return np.array(rows)


@BANK.wrong_for("swapped-fields", names="shares_alone")
def fields_as_shares(query, key, value, other_key, other_value, field):
    weights = attnbook.scaled_dot_product_attention(query, key, value).weights
    return np.array([weights[:, field == n].sum(axis=1).mean() for n in range(4)])


@BANK.wrong_for("swapped-fields", symptom="differs share_and_swap")
def fields_in_order(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found = np.zeros((2, 4))
    for n in range(4):
        k, v, of = key.copy(), value.copy(), slice(4 * n, 4 * n + 4)
        k[of], v[of] = other_key[of], other_value[of]
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, of].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found


@BANK.wrong_for("swapped-fields", symptom="differs share_and_swap")
def fields_swapped_for_good(query, key, value, other_key, other_value, field):
    full, weights = attnbook.scaled_dot_product_attention(query, key, value)
    found, k, v = np.zeros((2, 4)), key.copy(), value.copy()
    for n in range(4):
        k[field == n], v[field == n] = other_key[field == n], other_value[field == n]
        change = attnbook.scaled_dot_product_attention(query, k, v).output - full
        found[0, n] = weights[:, field == n].sum(axis=1).mean()
        found[1, n] = np.linalg.norm(change) / np.linalg.norm(full)
    return found
