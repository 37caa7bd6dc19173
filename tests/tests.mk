# What is built and run for the tests alone; the Makefile includes it. A new test needs no edit here.
#
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
#   make valgrind                  the unit tests under memcheck (scripts/valgrind): some minutes
#   make analyze                   clang's analyzer over everything, without the bound of scripts/lint

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

.PHONY: check tests fuzz fuzzers differential hostile bench benches peers model soak-kill soak-steps soak-days \
        power-loss failing-calls valgrind analyze

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

valgrind: tests
	@scripts/packages valgrind
	@scripts/valgrind --self-test $(B)
	@scripts/valgrind $(B)
analyze:
	@scripts/packages test
	@TIDY_NODES=225000 scripts/lint tidy

failing-calls: all $(PRELOAD)
	@TRADESIEVE_BUILD=$(B) LIMIT=$(or $(LIMIT),0) python3 tests/lib/run.py tests/daemon/test_failing_calls.py

power-loss: $(B)/tests/fault/test_power_loss
	@$(if $(SEED),TRADESIEVE_SEED=$(SEED)) TRADESIEVE_IMAGES=$(or $(IMAGES),10000) $<

-include $(LIB_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) $(BENCH_OBJ:.o=.d) \
    $(patsubst %,%.d,$(TEST_BIN) $(FUZZ_BIN) $(BENCH_BIN) $(PEER_BIN))
