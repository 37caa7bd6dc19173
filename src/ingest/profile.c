#include "ingest/profile.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonc.h"
#include "base/mem.h"
#include "ingest/trade.h"

/* The members are read in the order in which they need each other: unwrap, trades (which decides
 * whether trade and message share a trie), match, key, content. Everything that the compiled profile
 * points to stands in blocks that profile_close frees; the JSON text is not needed afterwards. */

struct profile_block {
    struct profile_block *next;
    max_align_t bytes[];
};

struct loader {
    struct profile *profile;
    struct err *err;
    struct text path;    /* of the value at hand, for messages */
    struct text scratch; /* one string at a time */
};

/* A JSON Pointer that is being taken apart. */
struct pointer {
    struct profile_text rest; /* the steps that are still to come */
    bool of_message;          /* there was a `$` */
    const char *label;        /* as written */
};

static int read_root(struct loader *l, const struct scan_value *root);
static int read_unwrap(struct loader *l, const struct scan_value *value);
static int read_trades(struct loader *l, const struct scan_value *value);
static int read_match(struct loader *l, const struct scan_value *value);
static int read_key(struct loader *l, const struct scan_value *value);
static int read_content(struct loader *l, const struct scan_value *value);

static int __attribute__((format(printf, 2, 3))) refuse(struct loader *l, const char *format, ...)
{
    char reason[ERR_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return err_set(l->err, ERR_CONFIG, "%s: %s", l->path.len ? text_terminate(&l->path) : "/", reason);
}

/* text is a copy that may be changed. */
static int parse(struct loader *l, char *text, size_t len)
{
    struct scan_want want;
    struct scan_value root;
    size_t at;

    if (jsonc_blank_comments(text, len, l->err))
        return l->err->code;
    scan_want_init(&want);
    switch (scan_text(text, len, &want, &root, &at)) {
    case SCAN_OK:
        return read_root(l, &root);
    case SCAN_BAD_UTF8:
        return jsonc_refuse(text, len, at, "not UTF-8", l->err);
    case SCAN_TOO_DEEP:
        return jsonc_refuse(text, len, at, "nested too deeply", l->err);
    default:
        return jsonc_refuse(text, len, at, "not JSON", l->err);
    }
}

int profile_parse(struct profile **ret, const char *json, size_t len, struct err *err)
{
    struct loader l = {.profile = mem_zalloc(1, sizeof *l.profile), .err = err};
    char *copy = mem_alloc(len + 1);

    memcpy(copy, json, len);
    int rc = parse(&l, copy, len);

    free(copy);
    text_done(&l.path);
    text_done(&l.scratch);
    if (rc)
        profile_close(l.profile);
    else
        *ret = l.profile;
    return rc;
}

void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    while (profile->blocks) {
        struct profile_block *block = profile->blocks;

        profile->blocks = block->next;
        free(block);
    }
    free(profile);
}

const struct scan_value *profile_choose(const struct profile_choice *choice,
                                        const struct profile_values *values, bool pass_null)
{
    static const struct scan_value nothing;
    const struct scan_value *found = &nothing;

    for (unsigned i = 0; i < choice->n; i++) {
        const struct scan_value *value = profile_value(&choice->refs[i], values);

        if (value->twice)
            return value;
        if (value->kind == SCAN_NULL && pass_null)
            found = value;
        else if (value->kind != SCAN_NOTHING)
            return value;
    }
    return found;
}

/* Zeroed; lives as long as the profile. */
static void *keep(struct loader *l, size_t count, size_t bytes)
{
    struct profile_block *block = mem_zalloc(1, sizeof *block + count * bytes);

    block->next = l->profile->blocks;
    l->profile->blocks = block;
    return block->bytes;
}

static struct profile_text keep_text(struct loader *l, const char *bytes, size_t len)
{
    char *copy = keep(l, len + 1, 1);

    memcpy(copy, bytes, len);
    return (struct profile_text){copy, len};
}

/* Where we are, for messages: returns what leave takes back. */
static size_t enter(struct loader *l, const char *name)
{
    size_t mark = l->path.len;

    text_add_char(&l->path, '/');
    text_add_str(&l->path, name);
    return mark;
}

static size_t enter_index(struct loader *l, size_t index)
{
    char name[24];

    snprintf(name, sizeof name, "%zu", index);
    return enter(l, name);
}

static void leave(struct loader *l, size_t mark)
{
    l->path.len = mark;
}

static size_t count_items(const struct scan_value *container)
{
    struct scan_value name, item;
    size_t cursor = 0, n = 0;

    if (container->kind == SCAN_OBJECT)
        while (scan_next_member(container, &cursor, &name, &item))
            n++;
    if (container->kind == SCAN_ARRAY)
        while (scan_next_element(container, &cursor, &item))
            n++;
    return n;
}

static struct scan_value member(const struct scan_value *object, const char *wanted)
{
    struct scan_value name, value;
    size_t cursor = 0;

    while (scan_next_member(object, &cursor, &name, &value))
        if (scan_string_is(&name, wanted, strlen(wanted)))
            return value;
    return (struct scan_value){0};
}

static bool has(const struct scan_value *object, const char *wanted)
{
    return member(object, wanted).kind != SCAN_NOTHING;
}

/* Only these members, each at most once. */
static int check_members(struct loader *l, const struct scan_value *object, const char *const *known)
{
    struct scan_value name, value;
    size_t cursor = 0;
    unsigned seen = 0;

    while (scan_next_member(object, &cursor, &name, &value)) {
        unsigned i = 0;

        while (known[i] && !scan_string_is(&name, known[i], strlen(known[i])))
            i++;
        if (!known[i])
            return refuse(l, "unknown member %.*s", (int)name.len, name.at);
        if (seen & 1U << i)
            return refuse(l, "%s stands twice", known[i]);
        seen |= 1U << i;
    }
    return 0;
}

static int read_string(struct loader *l, const struct scan_value *value, struct profile_text *ret)
{
    if (value->kind != SCAN_STRING)
        return refuse(l, "must be a string");
    l->scratch.len = 0;
    if (!scan_decode(value, &l->scratch))
        return refuse(l, "holds half a surrogate pair");
    *ret = keep_text(l, text_terminate(&l->scratch), l->scratch.len);
    return 0;
}

static int read_integer(struct loader *l, const struct scan_value *value, int min, int max, int *ret)
{
    char digits[12] = {0};
    char *end;

    if (value->kind != SCAN_NUMBER || value->len >= sizeof digits)
        return refuse(l, "must be an integer from %d to %d", min, max);
    memcpy(digits, value->at, value->len);
    long n = strtol(digits, &end, 10);

    if (*end || n < min || n > max)
        return refuse(l, "must be an integer from %d to %d", min, max);
    *ret = (int)n;
    return 0;
}

static int read_root(struct loader *l, const struct scan_value *root)
{
    static const struct {
        const char *name;
        int (*read)(struct loader *l, const struct scan_value *value);
    } readers[] = {{"unwrap", read_unwrap},
                   {"trades", read_trades},
                   {"match", read_match},
                   {"key", read_key},
                   {"content", read_content}};
    static const char *const known[] = {"unwrap", "trades", "match", "key", "content", NULL};

    scan_want_init(&l->profile->line);
    scan_want_init(&l->profile->message);
    scan_want_init(&l->profile->trade);
    if (root->kind != SCAN_OBJECT)
        return refuse(l, "a profile is an object");
    int rc = check_members(l, root, known);

    for (size_t i = 0; !rc && i < sizeof readers / sizeof *readers; i++) {
        struct scan_value value = member(root, readers[i].name);
        size_t mark = enter(l, readers[i].name);

        rc = readers[i].read(l, &value);
        leave(l, mark);
    }
    return rc;
}

/* Pointers */

static int read_pointer(struct loader *l, const struct scan_value *value, bool may_have_dollar,
                        struct pointer *ret)
{
    if (read_string(l, value, &ret->rest))
        return l->err->code;
    ret->label = ret->rest.at;
    ret->of_message = may_have_dollar && ret->rest.at[0] == '$';
    ret->rest.at += ret->of_message;
    ret->rest.len -= ret->of_message;
    if (ret->rest.len && ret->rest.at[0] != '/')
        return refuse(l, "\"%s\" is no path: it must begin with '/'", ret->label);
    for (size_t i = 0; i < ret->rest.len; i++)
        if (ret->rest.at[i] == '~' && ret->rest.at[i + 1] != '0' && ret->rest.at[i + 1] != '1')
            return refuse(l, "\"%s\" is no path: '~' must be written ~0 and '/' ~1", ret->label);
    return 0;
}

/* Takes the first step off, decoded. False when there is none left. */
static bool next_step(struct loader *l, struct pointer *pointer, struct profile_text *ret,
                      bool *ret_star)
{
    struct profile_text *rest = &pointer->rest;

    if (!rest->len)
        return false;
    const char *slash = memchr(rest->at + 1, '/', rest->len - 1);
    size_t raw_len = slash ? (size_t)(slash - rest->at) - 1 : rest->len - 1;
    char *step = keep(l, raw_len + 1, 1);
    size_t len = 0;

    for (const char *at = rest->at + 1; at < rest->at + 1 + raw_len; at++) {
        step[len++] = *at == '~' ? (at[1] == '0' ? '~' : '/') : *at;
        at += *at == '~';
    }
    rest->at += raw_len + 1;
    rest->len -= raw_len + 1;
    *ret = (struct profile_text){step, len};
    *ret_star = len == 1 && *step == '*';
    return true;
}

static int add_step(struct loader *l, struct scan_want *want, unsigned *node,
                    const struct profile_text *step)
{
    int next = scan_want_add(want, *node, step->at, step->len);

    if (next < 0)
        return refuse(l, "too many different paths: their steps are more than %d", SCAN_WANT_MAX - 1);
    *node = (unsigned)next;
    return 0;
}

static int add_pointer(struct loader *l, struct scan_want *want, struct pointer *pointer,
                       uint16_t *ret_node)
{
    struct profile_text step;
    unsigned node = 0;
    bool star;

    while (next_step(l, pointer, &step, &star)) {
        if (star)
            return refuse(l, "\"%s\": a '*' may stand only in trades", pointer->label);
        if (add_step(l, want, &node, &step))
            return l->err->code;
    }
    *ret_node = (uint16_t)node;
    return 0;
}

/* The trie of what is relative to the trade. */
static struct scan_want *trade_want(struct profile *profile)
{
    return profile->trade_is_message ? &profile->message : &profile->trade;
}

static int read_ref(struct loader *l, const struct scan_value *value, struct scan_want *line,
                    struct profile_ref *ret, const char **ret_label)
{
    struct pointer pointer;

    if (read_pointer(l, value, !line, &pointer))
        return l->err->code;
    ret->of_message = pointer.of_message;
    *ret_label = pointer.label;
    if (!line)
        line = pointer.of_message ? &l->profile->message : trade_want(l->profile);
    return add_pointer(l, line, &pointer, &ret->node);
}

static int read_const(struct loader *l, const struct scan_value *object, struct profile_text *ret)
{
    static const char *const known[] = {"const", NULL};

    if (check_members(l, object, known))
        return l->err->code;
    struct scan_value value = member(object, "const");
    size_t mark = enter(l, "const");

    if (read_string(l, &value, ret))
        return l->err->code;
    if (trade_check_text(ret->at, ret->len, NULL))
        return refuse(l, "holds a control character");
    leave(l, mark);
    return 0;
}

/* "/a or /b" for messages. */
static void add_label(struct loader *l, struct profile_choice *choice, const char *label)
{
    if (!choice->label) {
        choice->label = label;
        return;
    }
    l->scratch.len = 0;
    text_add_str(&l->scratch, choice->label);
    text_add_str(&l->scratch, " or ");
    text_add_str(&l->scratch, label);
    choice->label = keep_text(l, l->scratch.at, l->scratch.len).at;
}

/* A list of paths. With ret_const it may end in a constant. */
static int read_list(struct loader *l, const struct scan_value *list, struct scan_want *line,
                     struct profile_choice *ret, struct profile_text *ret_const)
{
    struct profile_ref *refs = keep(l, count_items(list), sizeof *refs);
    struct scan_value item;
    size_t cursor = 0;
    const char *label;

    ret->refs = refs;
    for (size_t i = 0; scan_next_element(list, &cursor, &item); i++) {
        size_t mark = enter_index(l, i);

        if (ret_const && ret_const->at)
            return refuse(l, "nothing may follow the constant");
        if (ret_const && ret->n && item.kind == SCAN_OBJECT) {
            if (read_const(l, &item, ret_const))
                return l->err->code;
        } else {
            if (read_ref(l, &item, line, &refs[ret->n], &label))
                return l->err->code;
            ret->n++;
            add_label(l, ret, label);
        }
        leave(l, mark);
    }
    return ret->n ? 0 : refuse(l, "an empty list");
}

/* A path or a list of paths, in `line` or, with NULL, relative to the trade or the message. */
static int read_choice(struct loader *l, const struct scan_value *value, struct scan_want *line,
                       struct profile_choice *ret, struct profile_text *ret_const)
{
    if (value->kind == SCAN_ARRAY)
        return read_list(l, value, line, ret, ret_const);
    if (value->kind != SCAN_STRING)
        return refuse(l, "must be a path or a list of paths");
    struct profile_ref *ref = keep(l, 1, sizeof *ref);

    ret->refs = ref;
    ret->n = 1;
    return read_ref(l, value, line, ref, &ret->label);
}

static int read_unwrap(struct loader *l, const struct scan_value *value)
{
    if (value->kind == SCAN_NOTHING)
        return 0;
    l->profile->unwraps = true;
    return read_choice(l, value, &l->profile->line, &l->profile->unwrap, NULL);
}

/* Where trades are */

static int read_trades_path(struct loader *l, const struct scan_value *value,
                            struct profile_trades *ret)
{
    struct scan_want *want = &l->profile->message;
    struct pointer pointer;
    struct profile_text step;
    unsigned node = 0;
    bool star;

    if (read_pointer(l, value, false, &pointer))
        return l->err->code;
    ret->label = pointer.label;
    while (next_step(l, &pointer, &step, &star)) {
        if (!star) {
            if (add_step(l, want, &node, &step))
                return l->err->code;
            continue;
        }
        if (ret->stars == PROFILE_STARS_MAX)
            return refuse(l, "more than %d '*' in one path", PROFILE_STARS_MAX);
        if (!ret->stars)
            ret->node = (uint16_t)node;
        ret->below[ret->stars++] = want = keep(l, 1, sizeof *want);
        scan_want_init(want);
        node = 0;
    }
    if (!ret->stars)
        ret->node = (uint16_t)node;
    l->profile->stars |= ret->stars > 0;
    return 0;
}

static int read_trades(struct loader *l, const struct scan_value *value)
{
    size_t n = value->kind == SCAN_ARRAY ? count_items(value) : 1;
    struct profile_trades *trades = keep(l, n, sizeof *trades);
    struct scan_value item;
    size_t cursor = 0;

    if (!n)
        return refuse(l, "an empty list");
    l->profile->trades = trades;
    l->profile->trades_n = (unsigned)n;
    trades->label = "";
    if (value->kind == SCAN_ARRAY) {
        for (size_t i = 0; scan_next_element(value, &cursor, &item); i++) {
            size_t mark = enter_index(l, i);

            if (read_trades_path(l, &item, &trades[i]))
                return l->err->code;
            leave(l, mark);
        }
    } else if (value->kind != SCAN_NOTHING && read_trades_path(l, value, trades)) {
        return l->err->code;
    }
    l->profile->trade_is_message = n == 1 && !*trades->label;
    return 0;
}

/* Match */

static int read_shape(struct loader *l, const struct scan_value *object, struct profile_test *ret)
{
    static const char *const known[] = {"starts", "ends", "present", NULL};
    struct scan_value starts = member(object, "starts"), ends = member(object, "ends");
    struct scan_value present = member(object, "present");

    ret->kind = TEST_SHAPE;
    if (check_members(l, object, known))
        return l->err->code;
    if (!count_items(object))
        return refuse(l, "says nothing: starts, ends or present");
    if (starts.kind && read_string(l, &starts, &ret->starts))
        return l->err->code;
    if (ends.kind && read_string(l, &ends, &ret->ends))
        return l->err->code;
    if (present.kind && present.kind != SCAN_TRUE && present.kind != SCAN_FALSE)
        return refuse(l, "present must be true or false");
    ret->wants_presence = present.kind != SCAN_NOTHING;
    ret->present = present.kind == SCAN_TRUE;
    if (ret->wants_presence && !ret->present && (starts.kind || ends.kind))
        return refuse(l, "what is not present has no start and no end");
    return 0;
}

static int read_test(struct loader *l, const struct scan_value *value, struct profile_test *ret)
{
    switch (value->kind) {
    case SCAN_STRING:
        ret->kind = TEST_STRING;
        return read_string(l, value, &ret->text);
    case SCAN_NUMBER:
        ret->kind = TEST_NUMBER;
        l->scratch.len = 0;
        trade_add_content_decimal(&l->scratch, value);
        ret->text = keep_text(l, l->scratch.at, l->scratch.len);
        return 0;
    case SCAN_TRUE:
    case SCAN_FALSE:
        ret->kind = value->kind == SCAN_TRUE ? TEST_TRUE : TEST_FALSE;
        return 0;
    case SCAN_OBJECT:
        return read_shape(l, value, ret);
    default:
        return refuse(l, "must be a string, a number, true, false, a list of these or an object");
    }
}

static int read_tests(struct loader *l, const struct scan_value *value, struct profile_condition *ret)
{
    bool list = value->kind == SCAN_ARRAY;
    size_t n = list ? count_items(value) : 1;
    struct profile_test *tests = keep(l, n, sizeof *tests);
    struct scan_value item;
    size_t cursor = 0;

    ret->tests = tests;
    ret->n = (unsigned)n;
    if (!list)
        return read_test(l, value, tests);
    for (size_t i = 0; scan_next_element(value, &cursor, &item); i++) {
        size_t mark = enter_index(l, i);

        if (read_test(l, &item, &tests[i]))
            return l->err->code;
        leave(l, mark);
    }
    return n ? 0 : refuse(l, "an empty list");
}

static bool stands_in(const struct profile_condition *conditions, unsigned n, const char *label)
{
    while (n--)
        if (!strcmp(conditions[n].label, label))
            return true;
    return false;
}

static int read_condition(struct loader *l, const struct scan_value *name,
                          const struct scan_value *value, struct profile_condition *ret)
{
    if (read_ref(l, name, NULL, &ret->ref, &ret->label))
        return l->err->code;
    size_t mark = enter(l, ret->label);

    if (read_tests(l, value, ret))
        return l->err->code;
    leave(l, mark);
    return 0;
}

static int read_alternative(struct loader *l, const struct scan_value *object,
                            struct profile_alternative *ret)
{
    size_t n = count_items(object), cursor = 0;
    struct profile_condition *of_message = keep(l, n, sizeof *of_message);
    struct profile_condition *of_trade = keep(l, n, sizeof *of_trade);
    struct scan_value name, value;

    if (object->kind != SCAN_OBJECT)
        return refuse(l, "must be an object of paths and what they must be");
    ret->of_message = of_message;
    ret->of_trade = of_trade;
    while (scan_next_member(object, &cursor, &name, &value)) {
        struct profile_condition one = {0};

        if (read_condition(l, &name, &value, &one))
            return l->err->code;
        if (stands_in(of_message, ret->of_message_n, one.label) ||
            stands_in(of_trade, ret->of_trade_n, one.label))
            return refuse(l, "%s stands twice", one.label);
        if (one.ref.of_message)
            of_message[ret->of_message_n++] = one;
        else
            of_trade[ret->of_trade_n++] = one;
        l->profile->has_conditions = true;
    }
    return 0;
}

static int read_match(struct loader *l, const struct scan_value *value)
{
    bool list = value->kind == SCAN_ARRAY;
    size_t n = list ? count_items(value) : 1;
    struct profile_alternative *alternatives = keep(l, n, sizeof *alternatives);
    struct scan_value item;
    size_t cursor = 0;

    if (value->kind == SCAN_NOTHING)
        return 0;
    if (!n || n > PROFILE_ALTERNATIVES_MAX)
        return refuse(l, "must hold 1 to %d objects", PROFILE_ALTERNATIVES_MAX);
    l->profile->alternatives = alternatives;
    l->profile->alternatives_n = (unsigned)n;
    if (!list)
        return read_alternative(l, value, alternatives);
    for (size_t i = 0; scan_next_element(value, &cursor, &item); i++) {
        size_t mark = enter_index(l, i);

        if (read_alternative(l, &item, &alternatives[i]))
            return l->err->code;
        leave(l, mark);
    }
    return 0;
}

/* Key */

static int read_source(struct loader *l, const struct scan_value *object, struct profile_part *ret)
{
    static const char *const known[] = {"source", NULL};

    if (check_members(l, object, known))
        return l->err->code;
    if (member(object, "source").kind != SCAN_TRUE)
        return refuse(l, "source must be true");
    ret->kind = PART_SOURCE;
    l->profile->uses_source = true;
    return 0;
}

static int read_prefix(struct loader *l, const struct scan_value *object, struct profile_part *ret)
{
    static const char *const known[] = {"prefix", "length", NULL};
    struct scan_value path = member(object, "prefix"), length = member(object, "length");
    int bytes = 0;

    if (check_members(l, object, known) || read_choice(l, &path, NULL, &ret->from, NULL))
        return l->err->code;
    size_t mark = enter(l, "length");

    if (read_integer(l, &length, 1, PROFILE_PREFIX_MAX, &bytes))
        return l->err->code;
    leave(l, mark);
    ret->kind = PART_PREFIX;
    ret->prefix_bytes = (size_t)bytes;
    return 0;
}

static int read_utc_day(struct loader *l, const struct scan_value *object, struct profile_part *ret)
{
    static const char *const known[] = {"utc_day", "unit", "shift_h", NULL};
    struct scan_value path = member(object, "utc_day"), unit = member(object, "unit");
    struct scan_value shift = member(object, "shift_h");

    if (check_members(l, object, known) || read_choice(l, &path, NULL, &ret->from, NULL))
        return l->err->code;
    int found = unit.kind == SCAN_STRING ? day_unit_of(unit.at + 1, unit.len - 2) : -1;

    if (found < 0)
        return refuse(l, "unit must be \"s\", \"ms\", \"us\", \"ns\" or \"rfc3339\"");
    size_t mark = enter(l, "shift_h");

    if (shift.kind && read_integer(l, &shift, -PROFILE_SHIFT_MAX_H, PROFILE_SHIFT_MAX_H, &ret->shift_h))
        return l->err->code;
    leave(l, mark);
    ret->kind = PART_UTC_DAY;
    ret->unit = (enum day_unit)found;
    return 0;
}

static int read_part(struct loader *l, const struct scan_value *value, struct profile_part *ret)
{
    if (value->kind != SCAN_OBJECT) {
        ret->kind = PART_PATH;
        return read_choice(l, value, NULL, &ret->from, &ret->text);
    }
    if (has(value, "const")) {
        ret->kind = PART_CONST;
        return read_const(l, value, &ret->text);
    }
    if (has(value, "source"))
        return read_source(l, value, ret);
    if (has(value, "prefix"))
        return read_prefix(l, value, ret);
    if (has(value, "utc_day"))
        return read_utc_day(l, value, ret);
    return refuse(l, "must be a path or have const, source, prefix or utc_day");
}

static bool comes_from_message(const struct profile_part *part)
{
    return part->kind != PART_CONST && part->kind != PART_SOURCE && !part->text.at;
}

static int read_key(struct loader *l, const struct scan_value *value)
{
    struct profile_part *parts = l->profile->parts;
    size_t n = count_items(value), cursor = 0;
    struct scan_value item;

    if (value->kind != SCAN_ARRAY || !n || n > FEED_PARTS_MAX)
        return refuse(l, "must be a list of 1 to %d parts", FEED_PARTS_MAX);
    for (size_t i = 0; scan_next_element(value, &cursor, &item); i++) {
        size_t mark = enter_index(l, i);

        if (read_part(l, &item, &parts[i]))
            return l->err->code;
        if (i == n - 1 && !comes_from_message(&parts[i]))
            return refuse(l, "the last part is the ID: it must come from the message");
        leave(l, mark);
    }
    l->profile->parts_n = (unsigned)n;
    return 0;
}

/* Content */

static int read_piece(struct loader *l, const struct scan_value *value, struct profile_content *ret)
{
    static const char *const known[] = {"decimal", NULL};

    if (value->kind != SCAN_OBJECT)
        return read_choice(l, value, NULL, &ret->from, NULL);
    struct scan_value path = member(value, "decimal");

    if (check_members(l, value, known))
        return l->err->code;
    ret->decimal = true;
    return read_choice(l, &path, NULL, &ret->from, NULL);
}

static int read_content(struct loader *l, const struct scan_value *value)
{
    size_t n = count_items(value), cursor = 0;
    struct profile_content *content = keep(l, n, sizeof *content);
    struct scan_value item;

    if (value->kind == SCAN_NOTHING)
        return 0;
    if (value->kind != SCAN_ARRAY)
        return refuse(l, "must be a list");
    l->profile->content = content;
    l->profile->content_n = (unsigned)n;
    for (size_t i = 0; scan_next_element(value, &cursor, &item); i++) {
        size_t mark = enter_index(l, i);

        if (read_piece(l, &item, &content[i]))
            return l->err->code;
        leave(l, mark);
    }
    return 0;
}
