"""A step of nbgrader's release: put in the class's seed."""

from __future__ import annotations

from nbgrader.preprocessors import NbGraderPreprocessor

from course.grading.seeds import SEED, class_seed


class SetClassSeed(NbGraderPreprocessor):
    """Put the class's public seed where the master has a 0."""

    def preprocess_cell(self, cell, resources, index):
        """Replace the seed in one cell."""
        if cell.cell_type == "code":
            cell.source = cell.source.replace(SEED.format(0), SEED.format(class_seed()))
        return cell, resources
