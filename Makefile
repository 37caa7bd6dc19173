# tradesieve. A new file under src/ or tests/ needs no edit here.
#
#   make [VARIANT=asan|tsan|cov]   both binaries, in build/ or build/VARIANT/ (any other name: as plain)
#   make check                     every unit, loop and fault test of the variant, and the corpora of tests/fuzz
#   make fuzz, bench, soak-kill ...  longer things: tests/tests.mk lists them
#   make install | clean
#   V=1 shows the commands, WERROR=1 makes warnings errors (scripts/test sets it).

VERSION  := 0.1.0
PREFIX   ?= /usr/local
CC       ?= cc
VARIANT  ?=
B        := build$(if $(VARIANT),/$(VARIANT))
Q        := $(if $(V),,@)

PACKAGES := libuv sqlite3 libcjson libsodium libmicrohttpd libsystemd libcurl
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wformat=2 -Wvla -Wundef $(if $(WERROR),-Werror)
OPT      := -O2 -g
SAN      :=
ifeq ($(VARIANT),asan)
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
OPT      := -O1 -g
else ifeq ($(VARIANT),tsan)
SAN      := -fsanitize=thread -fno-omit-frame-pointer
OPT      := -O1 -g
else ifeq ($(VARIANT),cov)
SAN      := --coverage
OPT      := -O0 -g
else ifeq ($(VARIANT),fuzz)
# clang's alone; its libFuzzer brings the main that tests/fuzz/driver.c is elsewhere.
SAN      := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
OPT      := -O1 -g
LIBFUZZER := -fsanitize=fuzzer
endif

# Instrumented code misleads the warnings of gcc that follow values.
SAN      += $(if $(filter asan tsan,$(VARIANT)),-Wno-format-truncation -Wno-maybe-uninitialized)

PKG_CFLAGS := $(shell pkg-config --cflags $(PACKAGES) | sed 's/-I/-isystem /g')
PKG_LIBS   := $(shell pkg-config --libs $(PACKAGES))
CFLAGS   ?= $(OPT)
CPPFLAGS += -D_GNU_SOURCE -DTRADESIEVE_VERSION='"$(VERSION)"' -Iinclude
ALL_CFLAGS = -std=c11 -pthread $(WARN) $(CFLAGS) $(SAN) $(PKG_CFLAGS) -MMD -MP
ALL_LIBS   = $(PKG_LIBS) -lm

SRC      := $(wildcard src/*/*.c)
OBJ      := $(SRC:%.c=$(B)/%.o)
MAINS    := $(B)/src/daemon/main.o $(B)/src/tool/main.o
TOOL_OBJ := $(filter $(B)/src/tool/%,$(OBJ))
CORE_OBJ := $(filter-out $(TOOL_OBJ) $(MAINS),$(OBJ)) $(B)/page.o

.PHONY: all install clean FORCE
all: $(B)/tradesieved $(B)/tradesieve

$(B)/tradesieved: $(CORE_OBJ) $(B)/src/daemon/main.o
$(B)/tradesieve: $(TOOL_OBJ) $(CORE_OBJ)
$(B)/tradesieved $(B)/tradesieve:
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

# Rewritten only when the command that compiles changes, so that everything is then compiled again.
COMMAND  := $(filter-out -Werror,$(CC) $(CPPFLAGS) $(ALL_CFLAGS))
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMMAND)' | cmp -s - $@ || echo '$(COMMAND)' > $@

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# The files of the page at / are part of the binary.
$(B)/page.c: scripts/embed src/page $(wildcard src/page/*)
	@mkdir -p $(@D)
	@echo "  EMBED src/page"
	$(Q)scripts/embed src/page/* > $@
$(B)/page.o: $(B)/page.c $(B)/flags
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

# What stands in /etc already is the administrator's and stays.
ETC      := $(DESTDIR)/etc/tradesieve
DOC      := $(DESTDIR)$(PREFIX)/share/doc/tradesieve
MAN      := $(DESTDIR)$(PREFIX)/share/man
install: all
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/bin $(ETC)/feeds $(DOC)
	install -m 755 $(B)/tradesieved $(DESTDIR)$(PREFIX)/sbin/tradesieved
	install -m 755 $(B)/tradesieve $(DESTDIR)$(PREFIX)/bin/tradesieve
	cd config && for file in tradesieve.json feeds/*.json; do \
	    test -e $(ETC)/$$file || install -m 644 $$file $(ETC)/$$file || exit 1; done
	install -m 644 README.md config/tradesieve.json docs/*.md $(DOC)
	install -D -m 644 -t $(DOC)/prometheus config/prometheus/*
	install -D -m 644 -t $(DOC)/grafana config/grafana/*
	for page in docs/man/*; do \
	    install -Dm 644 -t $(MAN)/man$${page##*.} $$page || exit 1; done
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/sysusers.d
	for unit in tradesieved.service tradesieved.socket; do sed 's,@PREFIX@,$(PREFIX),g' systemd/$$unit.in \
	    > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit 1; done
	install -m 644 systemd/tradesieve.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/tradesieve.conf

clean:
	rm -rf build

.SECONDARY:
include tests/tests.mk
-include $(OBJ:.o=.d)
