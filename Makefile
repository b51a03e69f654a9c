# SPDX-License-Identifier: Apache-2.0
# Short names for the usual steps; the build itself is CMake's. `make help` lists them.
BUILD   ?= build
JOBS    ?= $(shell nproc)
PREFIX  ?= /usr/local
SECONDS ?= 60
MAKEFLAGS += --no-print-directory

# Ninja, where it is: it needs no time to see that nothing changed. A folder that was built otherwise stays as it is
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif

.PHONY: help setup build demo readme check check-all check-gpu check-python check-mpi5 check-sanitizers check-address check-threads fuzz fuzz-programs install site dist wheels deb check-packages clean format

help:
	@echo 'make demo       install what is missing, build, multiply a real matrix with every algorithm, draw a picture'
	@echo 'make check      install what is missing, build, run the tests (10 minutes on two cores)'
	@echo 'make check-all  the same with everything (two hours); PART=NAME: a part of it, of at most 20 minutes:'
	@./test/parts.sh list
	@echo '                python     the Python package, wheels, scipy'"'"'s own tests'
	@echo '                packages   Debian packages, recipes, tutorials from clean roots'
	@echo '                wheels     the sdist and wheels for Pythons that are here; tried there, and in bare roots'
	@echo '                trixie     Debian 13, in a clean root: gcc 14, Open MPI 5.0, MPICH 4.2; builds and tests'
	@echo '                mpi5       the engine mpi under Open MPI 5 and MPICH 5, from Python'"'"'s packages: conformance, lost PEs'
	@echo '                sanitizers the address and undefined sanitizers; threads: the thread sanitizer'
	@echo '                fuzz       every reader, SECONDS each'
	@echo '                NO_INSTALL=1: these, and all below, install nothing, and say what is missing'
	@echo 'make check-gpu  the tests of devices on a GPU, where there is one, each with a limit (bench/gpu/tests.order); then'
	@echo '                compute-sanitizer, 15 minutes. Where a GPU is at hand for minutes: bench/gpu/quarter_hour.sh'
	@echo 'make check-python   build the Python package and test it, in an environment of its own'
	@echo 'make check-mpi5     the conformance suite under Open MPI 5 and MPICH 5, on one host and on two'
	@echo 'make check-sanitizers   the tests that matter most under the address, undefined and thread sanitizers;'
	@echo '                BRIEF=1: those of test/brief.list, and not the undefined one'
	@echo 'make fuzz       fuzz every reader for SECONDS ($(SECONDS)) each'
	@echo 'make build      build only, into $$BUILD ($(BUILD))'
	@echo 'make install    install into $$PREFIX ($(PREFIX)); DESTDIR is honoured'
	@echo 'make site       the documentation, in build/site, and man pages of section 3, in build/man3'
	@echo 'make dist       the archive of a release, build/tulle-VERSION.tar.gz, of what is committed'
	@echo 'make wheels     the sdist and wheels that need no compiler, in build/wheels, each tried where it can be'
	@echo 'make deb        Debian packages of it, in build/deb; needs debhelper'
	@echo 'make check-packages   both, in a clean root where one can be made; lintian; recipes of Spack and conda;'
	@echo '                and each tutorial, from a clean root to its results'
	@echo 'make readme     run what README.md shows anew, on a quiet machine: its table and its picture'
	@echo 'make format     run clang-format over the sources'

setup:
	@./setup.sh $(if $(NO_INSTALL),--no-install)

build:
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(if $(WERROR),-DTULLE_WERROR=$(WERROR)) $(CMAKE_FLAGS) > $(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log
	@cmake --build $(BUILD) -j $(JOBS) $(if $(TARGET),--target $(TARGET))

check: setup
	@$(MAKE) build
	cd $(BUILD) && ctest --output-on-failure -j $(JOBS) -LE long

# PART: one of test/parts.list, or python, mpi5, trixie, packages, wheels, sanitizers, threads, fuzz; all of them otherwise
PART ?= all
check-all:
	@./setup.sh --all $(if $(NO_INSTALL),--no-install)
	@case $(PART) in \
	python) $(MAKE) build && ./python/check.sh $(BUILD) all ;; \
	mpi5) $(MAKE) build && ./test/mpi5.sh $(BUILD) all ;; \
	packages) $(MAKE) build && $(MAKE) check-packages ;; \
	wheels) ./packaging/wheels.sh $(BUILD) all ;; \
	trixie) mkdir -p $(BUILD) && ./packaging/suite.sh $(BUILD) trixie ;; \
	sanitizers) $(MAKE) check-address ;; \
	threads) $(MAKE) check-threads ;; \
	fuzz) $(MAKE) fuzz ;; \
	all) $(MAKE) build && JOBS=$(JOBS) ./test/parts.sh run $(BUILD) all && ./python/check.sh $(BUILD) all && \
		./test/mpi5.sh $(BUILD) all && $(MAKE) check-packages && ./packaging/wheels.sh $(BUILD) all && ./packaging/suite.sh $(BUILD) trixie && \
		$(MAKE) check-sanitizers && $(MAKE) fuzz ;; \
	*) $(MAKE) build && JOBS=$(JOBS) ./test/parts.sh run $(BUILD) $(PART) ;; \
	esac

# what there is not says so, with its reason; nothing is installed: gcc, nvcc and cmake are enough
check-gpu:
	@$(MAKE) build TARGET=gpu_wanted
	@./bench/gpu/quarter_hour.sh check $(BUILD)

# sanitizers make compilers warn of what is not there: warnings are errors in the plain build
# no run of brief.list has these modules
UNUSED = MPI SHMEM SCALAPACK SIMGRID OPENACC LIBXSMM
SANITIZED = -DCMAKE_BUILD_TYPE=Debug -DTULLE_WERROR=OFF \
	$(if $(BRIEF),-DTULLE_X86=OFF $(UNUSED:%=-DTULLE_WITH_%=OFF),$(UNUSED:%=-DTULLE_WITH_%=AUTO))
SANITIZED_RUNS = ctest --output-on-failure -j $(JOBS) $(if $(BRIEF),-L '^brief$$')

check-python: setup
	@$(MAKE) build
	./python/check.sh $(BUILD)

check-mpi5: setup
	@$(MAKE) build
	@./test/mpi5.sh $(BUILD)

# gcc 12's thread sanitizer misses races between deferred transfers; clang's does not, and what it warns of is an error.
# Which thread writes what does not depend on the instruction set: the kernels of one are enough there
check-sanitizers: check-address check-threads

check-address: setup
	cmake -S . -B $(BUILD)-asan $(SANITIZED) -DTULLE_SANITIZE=$(if $(BRIEF),address,'address,undefined') > /dev/null
	cmake --build $(BUILD)-asan -j $(JOBS) --target sanitized$(if $(BRIEF),_brief)
	cd $(BUILD)-asan && $(SANITIZED_RUNS) -L sanitize

check-threads: setup
	@if command -v clang > /dev/null; then \
		cmake -S . -B $(BUILD)-tsan $(SANITIZED) -DTULLE_WERROR=ON -DCMAKE_C_COMPILER=clang -DTULLE_SANITIZE=thread -DTULLE_X86=OFF > /dev/null && \
		cmake --build $(BUILD)-tsan -j $(JOBS) --target sanitized$(if $(BRIEF),_brief) && \
		cd $(BUILD)-tsan && $(SANITIZED_RUNS) -L '^threads$$'; \
	else echo 'clang is not installed: the thread sanitizer is left out'; fi

FUZZ_BUILD = cmake -S . -B $(BUILD)-fuzz -DCMAKE_C_COMPILER=clang -DTULLE_FUZZ=ON -DTULLE_TESTS=OFF > /dev/null && \
	cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzz_programs
fuzz-programs: setup
	@! command -v clang > /dev/null || { $(FUZZ_BUILD); }

fuzz: setup
	@if command -v clang > /dev/null; then $(FUZZ_BUILD) && ./test/fuzz/run.sh $(SECONDS) $(BUILD)-fuzz/test/fuzz; \
	else echo 'clang is not installed: fuzzing is left out'; fi

demo: setup
	@echo 'building; what it says goes to $(BUILD).demo.log'
	@$(MAKE) build > $(BUILD).demo.log 2>&1 || { cat $(BUILD).demo.log; exit 1; }
	@rm -f $(BUILD).demo.log
	@./examples/demo.sh $(BUILD)

readme: build
	@./doc/readme.sh $(BUILD)/tulle

install: build
	cmake --install $(BUILD)

site: setup
	@$(MAKE) build
	@./doc/site/build.sh $(BUILD)

dist:
	@./packaging/dist.sh $(BUILD)

wheels:
	@./packaging/wheels.sh $(BUILD)

deb: dist
	@./packaging/deb.sh $(BUILD)

check-packages:
	@./packaging/check.sh $(BUILD)
	@./packaging/roles.sh $(BUILD)
	@./examples/neighbours/check.sh $(BUILD)

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz

format:
	clang-format -i $$(git ls-files '*.c' '*.h')
