vectors = embedding[tokens]  # (batch, len, d_model)
predicted = vectors @ embedding.T
