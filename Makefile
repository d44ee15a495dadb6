# qo - GNU make.  CFLAGS, LDFLAGS, PREFIX and DESTDIR belong to the packager.
# `make help` lists the targets.

VERSION	:= 0.1.0
PREFIX	?= /usr/local
SYSCONFDIR ?= $(PREFIX)/etc
CFLAGS	?= -O2 -g
AR	?= ar

# A build with sanitizers, with fuzzers or for a coverage run has its own
# directory: objects of two kinds never meet.
ifdef SAN
B	:= build-san
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all \
	   -fno-omit-frame-pointer
else
B	:= build
endif

# Programs appear here when they do something real.
PROGS	:=
WARN	:= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wpointer-arith -Wwrite-strings -Wformat=2 -Wvla -Wundef \
	   -Wold-style-definition $(if $(CI),-Werror)
OURS	:= -std=c11 -D_GNU_SOURCE -DQO_VERSION='"$(VERSION)"' -Ilib \
	   -include lib/banned.h -MMD -MP $(WARN) $(SANFLAGS)
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
BENCH	:= $(patsubst %.c,$(B)/%,$(wildcard bench/*.c))

all: $(PROGS:%=$(B)/bin/%) $(B)/libqo.a

$(B)/libqo.a: $(call objs,lib)
	@rm -f $@
	$(AR) rcs $@ $^

define prog
$(B)/bin/$(1): $(call objs,$(1)) $(B)/libqo.a
	@mkdir -p $$(@D)
	$$(LINK) -o $$@ $$^ $$(call pkg_libs,$$(LIBS_$(1))) -lpthread $$(LDLIBS)
endef
$(foreach p,$(PROGS),$(eval $(call prog,$(p))))

$(B)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(OURS) $(call pkg_cflags,$(PKG_lib)) $(CPPFLAGS) $(CFLAGS) \
	    -c -o $@ $<

$(UNIT): %: %.o $(UNIT_HELP) $(B)/libqo.a
	$(LINK) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call pkg_libs,check $(PKG_lib) $(PKG_test)) -lpthread $(LDLIBS)

# Tests of qo-store's own modules link all of it but main.
$(filter $(B)/tests/unit/test_store_%,$(UNIT)): \
    $(filter-out %/main.o,$(call objs,qo-store))
$(B)/tests/unit/test_store_%: PKG_test := sqlite3

$(BENCH): %: %.o $(B)/libqo.a
	$(LINK) -o $@ $^ $(call pkg_libs,$(PKG_lib)) $(LDLIBS)

check: all $(UNIT)
	@set -e; for t in $(UNIT); do ./$$t; done

clean:
	rm -rf build build-*

fmt:
	clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

.PHONY: all check clean fmt
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
