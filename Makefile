# tradesieve. A new file under src/ or tests/ needs no edit here.
#
#   make [VARIANT=asan|tsan|cov]   both binaries, in build/ or build/VARIANT/ (any other name: as plain)
#   make check                     every unit and loop test of the variant, and the corpora of tests/fuzz
#   make fuzz [SECONDS_EACH=60]    looks for new inputs with libFuzzer (scripts/fuzz)
#   make differential [DOCUMENTS=200000] [SEED=N]   the rules read twice (tests/daemon/test_differential.py)
#   make hostile                   slow and hostile peers at full size: some minutes, an idle machine
#   make bench [ARGS=...]          the table of scripts/bench; make peers: the clients of scripts/bench-peers
#   make failing-calls [LIMIT=n]   every call of the daemon fails once, at most n of each kind
#   make soak-kill [CYCLES=1000] [SEED=N]   kill -9 again and again (tests/daemon/test_kill.py)
#   make model [SEEDS=10000] [SEED=N]       random operations against a plain map (tests/fault/test_model.c)
#   make soak-steps                a kill at every single step of a segment's life
#   make soak-days                 a store of 1,000 daily segments, with its figures
#   make power-loss [IMAGES=10000] [SEED=N]  power cuts, played (tests/fault/test_power_loss.c)
#   make valgrind                 the unit tests under memcheck (scripts/valgrind): some minutes
#   make analyze                  clang's analyzer over everything, without the bound of scripts/lint
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

LIB_OBJ  := $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/*.c))
TEST_SRC := $(wildcard tests/unit/*.c tests/loop/*.c tests/fault/test_*.c)
TEST_BIN := $(TEST_SRC:%.c=$(B)/%)
FUZZ_BIN := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out tests/fuzz/fuzz_% $(if $(LIBFUZZER),%/driver.c),\
            $(wildcard tests/fuzz/*.c)))
PRELOAD  := $(B)/tests/fault/failing_calls.so
BENCH_BIN := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/bench_*.c))
PEER_BIN  := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/peers/*.c))
BENCH_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out tests/bench/bench_%,$(wildcard tests/bench/*.c)))

.PHONY: all check tests fuzz fuzzers differential hostile bench benches peers model soak-kill soak-steps soak-days power-loss install clean FORCE
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

# Tests link everything but the mains; tests/lib is theirs alone.
$(B)/tests/%.o: CPPFLAGS += -Itests/lib
$(TEST_BIN): $(B)/tests/%: $(B)/tests/%.o $(LIB_OBJ) $(CORE_OBJ) \
    $(filter-out $(B)/src/tool/main.o,$(TOOL_OBJ))
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS) $$(pkg-config --libs check)

$(FUZZ_BIN): $(B)/tests/%: $(B)/tests/%.o $(FUZZ_OBJ) $(CORE_OBJ) \
    $(filter-out $(B)/src/tool/main.o,$(TOOL_OBJ))
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LIBFUZZER) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)

fuzzers: $(FUZZ_BIN)
fuzz:
	@scripts/packages fuzz
	@+$(MAKE) VARIANT=fuzz CC=clang fuzzers
	@scripts/fuzz build/fuzz $(SECONDS_EACH)
differential: all
	@DOCUMENTS=$${DOCUMENTS:-200000} TRADESIEVE_BUILD=$(B) PYTHONPATH=tests/lib \
	    python3 -m unittest discover -v -s tests/daemon -p test_differential.py -k every_answer

$(PRELOAD): $(B)/%.so: %.c $(B)/flags
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) -D_GNU_SOURCE -std=c11 $(WARN) -O2 -g -fPIC -shared -o $@ $<

tests: all $(TEST_BIN) $(FUZZ_BIN) $(PRELOAD)
check: tests
	@scripts/run-tests $(B)

soak-days: $(B)/tests/fault/test_many_segments
	TRADESIEVE_SEGMENTS=1000 CK_TIMEOUT_MULTIPLIER=30 $<
soak-steps: $(B)/tests/fault/test_crash_steps
	TRADESIEVE_STRIDE=1 CK_TIMEOUT_MULTIPLIER=30 $<

hostile: all
	@TRADESIEVE_HOSTILE=full TRADESIEVE_BUILD=$(B) python3 tests/lib/run.py tests/daemon/test_hostile.py
	@TRADESIEVE_BUILD=$(B) python3 tests/lib/run.py tests/fault/hostile.py

# Benchmarks likewise, without check; what is not bench_*.c in tests/bench is common to them.
$(B)/tests/bench/%.o: CPPFLAGS += -Itests/bench
$(BENCH_BIN) $(PEER_BIN): $(B)/tests/%: $(B)/tests/%.o $(BENCH_OBJ) $(CORE_OBJ)
	@echo "  LD    $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LIBS)
$(B)/tests/bench/peers/postgres.o: CPPFLAGS += $$(pkg-config --cflags libpq)
$(B)/tests/bench/peers/postgres: ALL_LIBS += $$(pkg-config --libs libpq)

benches: all $(BENCH_BIN)
peers: all $(PEER_BIN)
bench: benches
	@scripts/bench $(B) $(ARGS)

soak-kill: all
	@CYCLES=$(or $(CYCLES),1000) SEED=$(SEED) TRADESIEVE_BUILD=$(B) python3 tests/lib/run.py tests/daemon/test_kill.py

model: tests
	@SEEDS=$(or $(SEEDS),10000) TRADESIEVE_SEED=$(or $(SEED),20261201) CK_RUN_CASE=random \
	    CK_TIMEOUT_MULTIPLIER=30 $(B)/tests/fault/test_model

.PHONY: valgrind analyze
valgrind: tests
	@scripts/packages valgrind
	@scripts/valgrind --self-test $(B)
	@scripts/valgrind $(B)
analyze:
	@scripts/packages test
	@TIDY_NODES=225000 scripts/lint tidy

.PHONY: failing-calls
failing-calls: all $(PRELOAD)
	@TRADESIEVE_BUILD=$(B) LIMIT=$(or $(LIMIT),0) python3 tests/lib/run.py tests/daemon/test_failing_calls.py

power-loss: $(B)/tests/fault/test_power_loss
	@$(if $(SEED),TRADESIEVE_SEED=$(SEED)) TRADESIEVE_IMAGES=$(or $(IMAGES),10000) $<

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
-include $(OBJ:.o=.d) $(LIB_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(BENCH_OBJ:.o=.d) \
    $(patsubst %,%.d,$(TEST_BIN) $(FUZZ_BIN) $(BENCH_BIN) $(PEER_BIN))
