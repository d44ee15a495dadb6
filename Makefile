# qo - GNU make.  CFLAGS, LDFLAGS, PREFIX and DESTDIR belong to the packager.
# `make help` lists the targets.

VERSION	:= 0.1.0
PREFIX	?= /usr/local
SYSCONFDIR ?= $(PREFIX)/etc
BINDIR	?= $(PREFIX)/bin
SBINDIR	?= $(PREFIX)/sbin
LIBEXECDIR ?= $(PREFIX)/libexec/qo
LIBDIR	?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR	?= $(PREFIX)/share/man
DATADIR	?= $(PREFIX)/share/qo
UNITDIR	?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
BASHDIR	?= $(PREFIX)/share/bash-completion/completions
ZSHDIR	?= $(PREFIX)/share/zsh/site-functions
FISHDIR	?= $(PREFIX)/share/fish/vendor_completions.d
CFLAGS	?= -O2 -g
AR	?= ar
JOBS	?= $(shell nproc)
FUZZ_SECONDS ?= 10
# Installs what is missing; `make check DEPS=:` takes the machine as it is.
DEPS	?= tools/deps.sh

# A build with sanitizers, with fuzzers or with crash points (lib/fault.h) has
# its own directory: objects of two kinds never meet.
ifdef FUZZ
B	:= build-fuzz
CC	:= clang
SANFLAGS := -fsanitize=fuzzer-no-link,address,undefined \
	   -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifdef SAN
B	:= build-san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all \
	   -fno-omit-frame-pointer
else ifdef FAULTS
B	:= build-faults
SANFLAGS := -DQO_FAULTS
else
B	:= build
endif

# Programs appear here when they do something real.
PROGS	:= qo qod qo-store qo-worker qo-monitor
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wpointer-arith -Wwrite-strings -Wformat=2 -Wvla -Wundef \
	   -Wold-style-definition
OURS	:= -std=c11 -D_GNU_SOURCE -DQO_VERSION='"$(VERSION)"' \
	   -DQO_SYSCONFDIR='"$(SYSCONFDIR)"' -DQO_SBINDIR='"$(SBINDIR)"' \
	   -DQO_LIBEXECDIR='"$(LIBEXECDIR)"' -Ilib \
	   -include lib/banned.h -MMD -MP $(WARN) $(SANFLAGS)
WERROR	:= $(if $(CI),-Werror)
LINK	= $(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS)

# Asked of pkg-config when a recipe runs, not when the file is read: the
# libraries may be installed by `make deps` of the same run.
PKG_lib	:= libcurl yyjson libcrypto expat libbsd-overlay
pkg_cflags = $$(pkg-config --cflags $(1))
pkg_libs = $$(pkg-config --libs $(1))
LIBS_qod := libbsd-overlay
LIBS_qo-store := sqlite3 libcrypto expat libbsd-overlay
LIBS_qo-worker := $(PKG_lib)
LIBS_qo-monitor := $(PKG_lib)
LIBS_qo-sweeper := $(PKG_lib)
LIBS_qo	:= $(PKG_lib)

objs	= $(patsubst %.c,$(B)/%.o,$(wildcard $(1)/*.c))
UNIT	:= $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
UNIT_HELP := $(patsubst %.c,$(B)/%.o,\
	   $(filter-out tests/unit/test_%.c,$(wildcard tests/unit/*.c)))
INTEGRATION := $(wildcard tests/integration/*.sh)
# The program in C that the script of the same name runs.
LIVE	:= $(B)/tests/integration/s3_live
FUZZERS	:= $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCH	:= $(patsubst %.c,$(B)/%,$(wildcard bench/bench_*.c bench/store_*.c bench/run_*.c))
MAN	:= $(patsubst %,$(B)/%,$(wildcard man/*.[1578])) $(B)/man/qo.1
UNITS	:= $(patsubst %.in,$(B)/%,$(wildcard conf/*.service.in))
COMPLETION := $(patsubst %,$(B)/completion/%,bash zsh fish)

# A second make, after something was installed, with all cores unless the
# caller said how many.
SUBMAKE	= $(MAKE) --no-print-directory \
	   $(if $(findstring j,$(filter -j% --jobserver%,$(MAKEFLAGS))),,-j$(JOBS))

all: $(PROGS:%=$(B)/bin/%) $(B)/libqo.a $(MAN) $(UNITS) $(COMPLETION) ## build everything (the default)

# What was built with other flags, or another compiler, is built again.
FLAGS	:= $(CC) $(OURS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(PKG_lib) $(BINDIR) \
	   $(SBINDIR) $(DATADIR)
ifneq ($(FLAGS),$(file <$(B)/flags))
$(B)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS))' >$@
.PHONY: $(B)/flags
endif

$(B)/libqo.a: $(call objs,lib)
	@rm -f $@
	$(AR) rcs $@ $^

define prog
$(B)/bin/$(1): $(call objs,$(1)) $(B)/libqo.a
	@mkdir -p $$(@D)
	$$(LINK) -o $$@ $$^ $$(call pkg_libs,$$(LIBS_$(1))) -lpthread $$(LDLIBS)
endef
$(foreach p,$(PROGS),$(eval $(call prog,$(p))))

# What says where things are installed.
WHERE	= sed -e 's|/usr/local/etc|$(SYSCONFDIR)|g' \
	   -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g' -e 's|@SBINDIR@|$(SBINDIR)|g' \
	   -e 's|@BINDIR@|$(BINDIR)|g' -e 's|/usr/local/share/qo|$(DATADIR)|g' \
	   -e 's|/usr/local/libexec/qo|$(LIBEXECDIR)|g'
$(filter-out %/qo.1,$(MAN)): $(B)/%: % $(B)/flags
	@mkdir -p $(@D)
	$(WHERE) $< >$@

$(UNITS): $(B)/%: %.in $(B)/flags
	@mkdir -p $(@D)
	$(WHERE) $< >$@

$(COMPLETION): $(B)/bin/qo
	@mkdir -p $(@D)
	$(B)/bin/qo completion $(@F) >$@

# The commands and options in qo(1) are those of the program.
$(B)/man/qo.1: man/qo.1.in $(B)/bin/qo
	@mkdir -p $(@D)
	$(B)/bin/qo help --mdoc >$(B)/man/qo.commands
	$(WHERE) -e '/^@COMMANDS@$$/{r $(B)/man/qo.commands' -e 'd;}' $< >$@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(OURS) $(WERROR) $(call pkg_cflags,$(PKG_lib)) $(CPPFLAGS) \
	    $(CFLAGS) -c -o $@ $<

$(UNIT): %: %.o $(UNIT_HELP) $(B)/libqo.a
	$(LINK) $(WRAP) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call pkg_libs,check $(PKG_lib) $(PKG_test)) -lpthread $(LDLIBS)

# Its cases may have a wrong clock.
$(LIVE): $(call objs,tests/integration) $(B)/libqo.a
	$(LINK) -Wl,--wrap=qo_wall_local -o $@ $^ \
	    $(call pkg_libs,$(PKG_lib)) -lpthread $(LDLIBS)

# Programs that scripts use in tests.
TOOLS	:= $(patsubst %.c,$(B)/%,$(wildcard tests/tools/*.c))
$(TOOLS): %: %.o $(B)/tests/unit/faultproxy.o $(B)/libqo.a
	$(LINK) -o $@ $^ $(call pkg_libs,libbsd-overlay) -lpthread $(LDLIBS)

# The crash points are in objects of their own, which come before the library.
OF_FAULTS := $(patsubst %,$(B)/faults/lib/%.o,fault s3_flight)
CRASHING := $(addprefix $(B)/tests/unit/,test_crashpoints \
	   test_monitor_retention test_schedule_fire)
$(CRASHING): $(OF_FAULTS)
$(CRASHING:%=%.o): OURS += -DQO_FAULTS
$(OF_FAULTS): $(B)/faults/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(OURS) -DQO_FAULTS $(WERROR) $(call pkg_cflags,$(PKG_lib)) \
	    $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# A worker that kills itself, for tests/integration/worker_crash.sh.
FAULTY	:= $(B)/tests/faulty/qo-worker
$(FAULTY): $(call objs,qo-worker) $(OF_FAULTS) $(B)/libqo.a
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(call pkg_libs,$(LIBS_qo-worker)) -lpthread $(LDLIBS)

$(FUZZERS): %: %.o $(B)/libqo.a
	$(LINK) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call pkg_libs,$(PKG_lib) $(PKG_test)) -lpthread $(LDLIBS)

$(BENCH): %: %.o $(B)/libqo.a
	$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call pkg_libs,$(PKG_lib) $(PKG_test)) -lpthread $(LDLIBS)

# Handlers need nothing but libc.
HANDLERS := $(B)/bench/noop_handler $(patsubst %.c,$(B)/%,\
	   $(wildcard examples/c/*.c tests/integration/sdk/*.c))
$(HANDLERS): %: %.o $(B)/libqo.a
	$(LINK) -o $@ $^ $(LDLIBS)

$(B)/bench/bench_store: $(B)/bench/lean.o $(B)/bench/constant.o \
    $(B)/bench/usage.o $(B)/tests/integration/storeproc.o
$(B)/bench/bench_s3: $(B)/bench/constant.o $(B)/bench/usage.o
$(B)/bench/bench_worker: $(B)/bench/usage.o \
    $(B)/tests/integration/storeproc.o $(B)/tests/unit/faultproxy.o

# What tests qo-store's own modules links all of it but main.
OF_STORE := $(filter $(B)/tests/unit/test_store_% \
	   $(B)/tests/fuzz/fuzz_store_% $(B)/bench/store_%,\
	   $(UNIT) $(FUZZERS) $(BENCH))
ifneq ($(OF_STORE),)
$(OF_STORE): $(filter-out %/main.o,$(call objs,qo-store))
$(OF_STORE): PKG_test := sqlite3
endif

# The same for the modules of qo.
OF_QO	:= $(filter $(B)/tests/unit/test_qo_%,$(UNIT))
ifneq ($(OF_QO),)
$(OF_QO): $(filter-out %/main.o,$(call objs,qo))
endif

# And of qod.
OF_QOD	:= $(filter $(B)/tests/unit/test_qod_%,$(UNIT))
ifneq ($(OF_QOD),)
$(OF_QOD): $(filter-out %/main.o,$(call objs,qod))
endif

# And of qo-worker.
OF_WORKER := $(filter $(B)/tests/unit/test_run_% $(B)/tests/unit/test_worker_% \
	   $(B)/bench/run_%,$(UNIT) $(BENCH))
ifneq ($(OF_WORKER),)
$(OF_WORKER): $(filter-out %/main.o,$(call objs,qo-worker))
endif

# And for those of qo-monitor.
OF_MONITOR := $(filter $(B)/tests/unit/test_monitor_%,$(UNIT))
ifneq ($(OF_MONITOR),)
$(OF_MONITOR): $(filter-out %/main.o,$(call objs,qo-monitor))
endif

$(B)/tests/unit/test_s3_tls: PKG_test := libssl
$(B)/tests/unit/test_wrong_clock: LDLIBS += -Wl,--wrap=qo_wall_local
$(addprefix $(B)/tests/unit/,test_schedule_fire test_monitor_schedules): \
	   LDLIBS += -Wl,--wrap=qo_queue_now
$(addprefix $(B)/tests/unit/,test_slow_walk test_httpd test_httpd_conn \
	   test_creds): LDLIBS += -Wl,--wrap=qo_mono_now

$(B)/tests/unit/test_buf: WRAP := -Wl,--wrap=explicit_bzero
# Counts the hashes that are computed.
$(B)/tests/unit/test_sigv4_paths: WRAP := -Wl,--wrap=hmac_sha256 \
	   -Wl,--wrap=sha256_hex

$(B)/bench/store_timing: LDLIBS += -lm

deps: ## install what building and testing need
	@$(DEPS) build check

run: ## install what is missing, build, start qo in the foreground
	@$(DEPS) build
	@+$(SUBMAKE) all
	@tools/run.sh $(B)

check: ## install what is missing, build, run every test
	@$(DEPS) build check
	@+$(SUBMAKE) test

check-san: ## the same with ASan and UBSan, in build-san
	@$(DEPS) build check
	@+$(SUBMAKE) SAN=1 test

test: all units $(LIVE) $(HANDLERS) ## run every test; installs nothing
	@tests/run $(B) $(UNIT) $(INTEGRATION)

units: $(UNIT) $(TOOLS) $(FAULTY) ## build the unit tests alone

lint: ## check format, sources, scripts and manual pages
	@$(DEPS) build lint
	@tools/lint.sh

mutants: ## break each rule in a copy: a test must notice (slow)
	@$(DEPS) build check
	@tools/mutants.sh

model: ## check the model of the rules with spin (slow)
	@$(DEPS) build model
	@tools/model.sh

fuzz: ## fuzz each target for FUZZ_SECONDS (10)
	@$(DEPS) build fuzz
	@+$(SUBMAKE) FUZZ=1 fuzzers
	@tools/fuzz.sh build-fuzz $(FUZZ_SECONDS)

fuzzers: $(FUZZERS) ## build the fuzzers alone (with FUZZ=1)

bench: ## build the benchmarks and run them in turn
	@$(DEPS) build
	@+$(SUBMAKE) benches
	@set -e; for b in $(BENCH); do echo "== $$b"; $$b; done

benches: all $(BENCH) $(HANDLERS) ## build the benchmarks alone

# mode:source:destination of all that is installed.  A configuration file is
# there for the user to change: mode "conf" never overwrites one, and leaves a
# changed one behind.
dir_qo	:= $(BINDIR)
dir_qod	:= $(SBINDIR)
dir_qo-store := $(SBINDIR)
dir_qo-worker := $(LIBEXECDIR)
dir_qo-monitor := $(LIBEXECDIR)
dir_qo-sweeper := $(LIBEXECDIR)
INSTALL_LIST = \
    $(foreach p,$(PROGS),0755:$(B)/bin/$(p):$(dir_$(p))/$(p)) \
    $(foreach m,$(MAN),0644:$(m):$(MANDIR)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))) \
    $(foreach e,$(wildcard examples/*/*.*),$(if $(filter %.sh,$(e)),0755,0644):$(e):$(DATADIR)/$(e)) \
    $(foreach c,$(wildcard conf/*.conf),conf:$(c):$(SYSCONFDIR)/qo/$(notdir $(c))) \
    $(foreach u,$(UNITS),0644:$(u):$(UNITDIR)/$(notdir $(u))) \
    0644:conf/accounts.dropin:$(DATADIR)/systemd/accounts.conf \
    0644:conf/qo.sysusers:$(SYSUSERSDIR)/qo.conf \
    0644:$(B)/completion/bash:$(BASHDIR)/qo \
    0644:$(B)/completion/zsh:$(ZSHDIR)/_qo \
    0644:$(B)/completion/fish:$(FISHDIR)/qo.fish \
    $(foreach f,$(shell find ui -type f 2>/dev/null),0644:$(f):$(DATADIR)/$(f))
# The library is for others once it has its public face.
ifneq ($(wildcard lib/qo.h),)
INSTALL_LIST += 0644:$(B)/libqo.a:$(LIBDIR)/libqo.a \
    0644:lib/qo.h:$(INCLUDEDIR)/qo/qo.h 0644:$(B)/qo.pc:$(LIBDIR)/pkgconfig/qo.pc
install: $(B)/qo.pc
endif

# Says where it is installed, so it is never up to date.  What qo.h declares
# needs nothing but libc: no other library is named.
.PHONY: $(B)/qo.pc
$(B)/qo.pc:
	@mkdir -p $(@D)
	@printf '%s\n' 'Name: qo' 'Version: $(VERSION)' \
	    'Description: durable task queue on S3 objects' \
	    'Cflags: -I$(INCLUDEDIR)/qo' 'Libs: -L$(LIBDIR) -lqo' >$@

install: all ## install under DESTDIR and PREFIX (SYSCONFDIR for conf)
	@tools/install.sh put "$(DESTDIR)" $(INSTALL_LIST)

uninstall: ## remove what install put there
	@tools/install.sh remove "$(DESTDIR)" $(INSTALL_LIST)

dist: ## make a source archive in build/
	@mkdir -p build
	git archive --prefix=qo-$(VERSION)/ -o build/qo-$(VERSION).tar.gz HEAD

fmt: ## format the C sources
	@tools/format.sh

clean: ## remove all that was built
	rm -rf build build-*

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1	\2/p' $(firstword $(MAKEFILE_LIST)) | \
	    expand -t 12

.PHONY: all deps run check check-san test units lint mutants model fuzz fuzzers \
    bench benches install uninstall dist fmt clean help
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
