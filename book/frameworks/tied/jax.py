vectors = embedding.at[tokens].get(mode="fill")  # NaN for a token that is not in it
predicted = vectors @ embedding.T
