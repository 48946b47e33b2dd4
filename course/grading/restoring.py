"""A step of nbgrader's before grading: give a submission's cells their roles back."""

from __future__ import annotations

import copy

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor

from course.grading.seeds import SEED, class_phrase, class_seed

MOST = 300  # cells of a notebook: to show very many takes long


class WrongPhraseError(KeyboardInterrupt):
    """The class's phrase is not the one of the release: after any other error nbgrader goes on."""


class RestoreCells(NbGraderPreprocessor):
    """Give a submission's cells the roles that the release gave them, and put back what it lacks.

    nbgrader would stop for the whole class at one cell whose role it cannot read, such as the copy
    of a test. Locked cells get the gradebook's text, which has the hidden tests: nbgrader would
    warn of each, since it differs from the release's. We warn of those that a student changed.

    Raises
    ------
    WrongPhraseError
        If the released notebook has another seed than the class: all answers would seem wrong.
    ValueError
        If no cell of the notebook is of the assignment, or it has more than MOST cells.
    """

    def preprocess(self, nb, resources):
        """Restore roles and texts of known cells, and drop the roles of others."""
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            notebook = gradebook.find_notebook(names["notebook"], names["assignment"])
            points = {cell.name: cell.max_score for cell in notebook.grade_cells}
            solutions = {cell.name for cell in notebook.solution_cells}
            released = {
                cell.name: (cell.source, self._role(cell, points, solutions))
                for cell in notebook.source_cells
            }
        self._check_phrase([source for source, _ in released.values()])
        by_name = {}
        for at, cell in enumerate(nb.cells):
            about = cell.metadata.get("nbgrader")
            cell.metadata = NotebookNode()  # nor does any other setting of a cell's count
            cell.pop("attachments", None)
            if "id" in cell:
                cell.id = f"cell-{at}"
            name = about.get("grade_id") if isinstance(about, dict) else None
            if isinstance(name, str) and name in released:
                by_name[name] = at, cell, about  # of two, the last one, which ran last
        if not by_name:
            raise ValueError(
                f"{names['student']}: this notebook has no cell of {names['assignment']}. "
                "Is it the chapter? It is not graded."
            )
        if len(nb.cells) > MOST:
            raise ValueError(f"{names['student']}: more than {MOST} cells. It is not graded.")
        last, end, lacking, before = -1, [], [], {}
        for name, (source, role) in released.items():
            at, cell, about = by_name.get(name, (-1, None, {}))
            master = self._new_cell(source, role, nb.nbformat_minor)
            self._tell_changes(names["student"], cell, about, master)
            if cell:
                cell.metadata["nbgrader"] = role
                cell.source = source if role["locked"] else cell.source
            if role["grade"] and (cell is None or at < last):  # moved before what it tests
                end.append(cell or master)
            elif cell:
                before[id(cell)], lacking = lacking, []
            elif role["locked"]:  # what follows may need it
                lacking.append(master)
            last = max(last, at)
        moved = {id(cell) for cell in end}
        kept = [cell for cell in nb.cells if id(cell) not in moved]
        nb.cells = [put for cell in kept for put in (*before.get(id(cell), ()), cell)] + end
        return nb, resources

    def _check_phrase(self, sources):
        """Stop the grading of all students unless the gradebook's seed is the class's."""
        try:
            seed = SEED.format(class_seed(class_phrase()))
            if any(seed in source.splitlines() for source in sources):
                return
            problem = "course/class-phrase.txt is not the phrase of the release"
        except RuntimeError as error:
            problem = str(error)
        problem += ". Nothing was graded: put the phrase back that the class began with."
        self.log.error(problem)
        raise WrongPhraseError(problem)

    def _tell_changes(self, student, cell, about, master):
        """Warn if a student's cell is not as it was released."""
        role = master.metadata["nbgrader"]
        clear = ClearHiddenTests(parent=self).preprocess_cell
        released, _ = clear(copy.deepcopy(master), {}, 0)
        changes = []
        if cell is None:
            changes += ["is missing"] if role["grade"] or role["locked"] else []
        elif role["locked"] and cell.source.strip() != released.source.strip():
            changes.append("was changed")
        if cell and about.get("points") != role.get("points"):
            changes.append(f"has {about.get('points')!r:.20} points")
        for change in changes:
            name = role["grade_id"]
            self.log.warning("%s: cell %s %s; the released one counts", student, name, change)

    def _new_cell(self, source, role, minor):
        new = new_code_cell if role["cell_type"] == "code" else new_markdown_cell
        cell = new(source, metadata={"nbgrader": role})
        if minor < 5:
            del cell["id"]
        return cell

    def _role(self, cell, points, solutions):
        role = {  # the checksum is put in by the next step, nbgrader's OverwriteCells
            "cell_type": cell.cell_type,
            "grade": cell.name in points,
            "grade_id": cell.name,
            "locked": bool(cell.locked),
            "schema_version": 3,
            "solution": cell.name in solutions,
            "task": False,
        }
        return {**role, "points": points[cell.name]} if cell.name in points else role
