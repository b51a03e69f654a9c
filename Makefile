# SPDX-License-Identifier: Apache-2.0
# Short names for the usual steps; the build itself is CMake's. `make help` lists them.
BUILD ?= build
JOBS  ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: help setup build demo check check-all install clean format

help:
	@echo 'make demo       install what is missing, build, multiply a real matrix with every algorithm, draw a picture'
	@echo 'make check      install what is missing, build, run the tests (10 minutes on two cores)'
	@echo 'make check-all  the same with everything (an hour)'
	@echo 'make build      build only, into $$BUILD ($(BUILD))'
	@echo 'make install    install into $$PREFIX ($(PREFIX)); DESTDIR is honoured'
	@echo 'make format     run clang-format over the sources'

setup:
	@./setup.sh

build:
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build $(BUILD) -j $(JOBS)

check: setup build
	cd $(BUILD) && ctest --output-on-failure -LE long

check-all: setup build
	cd $(BUILD) && ctest --output-on-failure

demo: setup build
	./examples/demo.sh $(BUILD)

install: build
	cmake --install $(BUILD)

clean:
	rm -rf $(BUILD)

format:
	clang-format -i $$(git ls-files '*.c' '*.h')
