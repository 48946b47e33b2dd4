"""All that grows with the chapters and is not their text, a room for each; and what grades it.

Instructors only: readers and students have the package `attnbook` and the notebooks.
"""
