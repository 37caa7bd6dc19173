#include "ingest/scan.h"

#include <endian.h>
#include <string.h>

#include "base/utf8.h"

/* Two readers of the same grammar.
 *
 * scan_text trusts nothing: it goes byte by byte through the text with one level for every open
 * bracket, no recursion, and follows the trie as it goes: a level knows which node its container is,
 * so a member name or an index costs a look at that node's few children.
 *
 * Everything else works on spans that scan_text has accepted: values are skipped by looking for
 * quotes and brackets alone. The trie bounds its recursion, not the text.
 *
 * A member that stands twice: the first is reported, the second marks the node and all below it. */

enum { NO_NODE = -1 };

struct level {
    int node;       /* of the container in the trie, or NO_NODE */
    uint32_t index; /* array: of the next element */
    bool object;    /* else an array */
    bool fresh;     /* nothing stands in it yet */
};

struct scanner {
    const char *begin;            /* the text is [begin, end) */
    const char *end;              /* never read at or behind it */
    const char *at;               /* next byte; on a fault the offending one */
    const struct scan_want *want; /* or NULL */
    struct scan_value *values;    /* one a node */
    enum scan_result fault;       /* set by refuse */
    unsigned depth;               /* levels in use */
    unsigned depth_max;           /* that may be in use */
    struct level levels[SCAN_WRAPPED_DEPTH_MAX];
};

static bool begin_value(struct scanner *s, int node);
static bool advance(struct scanner *s);
static bool check_string(struct scanner *s, bool *ret_escaped);
static bool check_number(struct scanner *s);
static bool check_literal(struct scanner *s, const char *word);

static void clear_values(const struct scan_want *want, struct scan_value *values)
{
    for (unsigned i = 0; i < want->n; i++)
        values[i] = (struct scan_value){0};
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* A byte that cannot stand here: malformed UTF-8 comes before what JSON thinks of it. */
static bool refuse(struct scanner *s, const char *at)
{
    bool malformed = at < s->end && !utf8_length(at, (size_t)(s->end - at));

    s->at = at;
    s->fault = malformed ? SCAN_BAD_UTF8 : SCAN_BAD_JSON;
    return false;
}

static bool run(struct scanner *s)
{
    s->at = skip_space(s->at, s->end);
    if (!begin_value(s, s->want ? 0 : NO_NODE))
        return false;
    while (s->depth)
        if (!advance(s))
            return false;
    s->at = skip_space(s->at, s->end);
    return s->at == s->end || refuse(s, s->at);
}

enum scan_result scan_text(const char *at, size_t len, const struct scan_want *want,
                           struct scan_value *values, size_t *ret_at)
{
    struct scanner s;

    s.begin = s.at = at;
    s.end = at + len;
    s.want = want;
    s.values = values;
    s.depth = 0;
    s.depth_max = want ? want->depth_max : SCAN_DEPTH_MAX;
    s.fault = SCAN_OK;
    if (want)
        clear_values(want, values);
    if (!run(&s) && ret_at)
        *ret_at = (size_t)(s.at - s.begin);
    return s.fault;
}

/* The trie */

void scan_want_init(struct scan_want *want)
{
    memset(want, 0, sizeof *want);
    want->nodes[0].index = UINT32_MAX;
    want->n = 1;
    want->depth_max = SCAN_DEPTH_MAX;
}

/* RFC 6901: digits without a leading zero. */
static uint32_t index_of(const char *step, size_t len)
{
    uint64_t index = 0;

    if (!len || len > 9 || (step[0] == '0' && len > 1))
        return UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        if (step[i] < '0' || step[i] > '9')
            return UINT32_MAX;
        index = index * 10 + (uint64_t)(step[i] - '0');
    }
    return (uint32_t)index;
}

int scan_want_add(struct scan_want *want, unsigned parent, const char *step, size_t step_len)
{
    uint16_t *link = &want->nodes[parent].child;

    for (; *link; link = &want->nodes[*link].sibling) {
        const struct scan_node *node = &want->nodes[*link];

        if (node->step_len == step_len && !memcmp(node->step, step, step_len))
            return *link;
    }
    if (want->n == SCAN_WANT_MAX)
        return -1;
    want->nodes[want->n] = (struct scan_node){
        .step = step, .step_len = (uint32_t)step_len, .index = index_of(step, step_len)};
    *link = (uint16_t)want->n;
    return (int)want->n++;
}

static void mark_twice(const struct scan_want *want, unsigned node, struct scan_value *values)
{
    values[node].twice = true;
    for (unsigned child = want->nodes[node].child; child; child = want->nodes[child].sibling)
        mark_twice(want, child, values);
}

/* Members whose length or first letter is another are most of those that are asked about. */
static inline bool is_step(const struct scan_value *name, const struct scan_node *node)
{
    if (name->escaped)
        return scan_string_is(name, node->step, node->step_len);
    return name->len - 2 == node->step_len && (!node->step_len || name->at[1] == *node->step) &&
           !memcmp(name->at + 1, node->step, node->step_len);
}

/* The node of a member of `node`'s object: NO_NODE when nobody wants it or it was there before. */
static int child_named(const struct scan_want *want, int node, const struct scan_value *name,
                       struct scan_value *values)
{
    if (node == NO_NODE)
        return NO_NODE;
    for (unsigned child = want->nodes[node].child; child; child = want->nodes[child].sibling) {
        if (!is_step(name, &want->nodes[child]))
            continue;
        if (values[child].kind == SCAN_NOTHING)
            return (int)child;
        mark_twice(want, child, values);
        return NO_NODE;
    }
    return NO_NODE;
}

static int child_at(const struct scan_want *want, int node, uint32_t index)
{
    if (node == NO_NODE)
        return NO_NODE;
    for (unsigned child = want->nodes[node].child; child; child = want->nodes[child].sibling)
        if (want->nodes[child].index == index)
            return (int)child;
    return NO_NODE;
}

/* Checked reading: a value, then what may follow it, until no level is open. */

static bool open_level(struct scanner *s, int node, bool object)
{
    if (s->depth == s->depth_max) {
        s->fault = SCAN_TOO_DEEP;
        return false;
    }
    if (node != NO_NODE)
        s->values[node] = (struct scan_value){.at = s->at, .kind = object ? SCAN_OBJECT : SCAN_ARRAY};
    s->levels[s->depth++] = (struct level){.node = node, .object = object, .fresh = true};
    s->at++;
    return true;
}

static bool begin_scalar(struct scanner *s, enum scan_kind kind, bool *ret_escaped)
{
    switch (kind) {
    case SCAN_STRING:
        return check_string(s, ret_escaped);
    case SCAN_TRUE:
        return check_literal(s, "true");
    case SCAN_FALSE:
        return check_literal(s, "false");
    case SCAN_NULL:
        return check_literal(s, "null");
    default:
        return check_number(s);
    }
}

/* What a value that begins with this byte can only be. */
static enum scan_kind kind_of(char first)
{
    switch (first) {
    case '{':
        return SCAN_OBJECT;
    case '[':
        return SCAN_ARRAY;
    case '"':
        return SCAN_STRING;
    case 't':
        return SCAN_TRUE;
    case 'f':
        return SCAN_FALSE;
    case 'n':
        return SCAN_NULL;
    default:
        return SCAN_NUMBER;
    }
}

static bool begin_value(struct scanner *s, int node)
{
    const char *start = s->at;
    bool escaped = false;

    if (start == s->end)
        return refuse(s, start);
    enum scan_kind kind = kind_of(*start);

    if (kind == SCAN_OBJECT || kind == SCAN_ARRAY)
        return open_level(s, node, kind == SCAN_OBJECT);
    if (!begin_scalar(s, kind, &escaped))
        return false;
    if (node != NO_NODE)
        s->values[node] = (struct scan_value){
            .at = start, .len = (size_t)(s->at - start), .kind = kind, .escaped = escaped};
    return true;
}

static bool begin_member(struct scanner *s, const struct level *level)
{
    struct scan_value name = {.at = s->at, .kind = SCAN_STRING};

    if (s->at == s->end || *s->at != '"')
        return refuse(s, s->at);
    if (!check_string(s, &name.escaped))
        return false;
    name.len = (size_t)(s->at - name.at);
    s->at = skip_space(s->at, s->end);
    if (s->at == s->end || *s->at != ':')
        return refuse(s, s->at);
    s->at = skip_space(s->at + 1, s->end);
    return begin_value(s, child_named(s->want, level->node, &name, s->values));
}

static bool advance(struct scanner *s)
{
    struct level *level = &s->levels[s->depth - 1];

    s->at = skip_space(s->at, s->end);
    if (s->at == s->end)
        return refuse(s, s->at);
    if (*s->at == (level->object ? '}' : ']')) {
        s->at++;
        if (level->node != NO_NODE)
            s->values[level->node].len = (size_t)(s->at - s->values[level->node].at);
        s->depth--;
        return true;
    }
    if (!level->fresh) {
        if (*s->at != ',')
            return refuse(s, s->at);
        s->at = skip_space(s->at + 1, s->end);
    }
    level->fresh = false;
    if (level->object)
        return begin_member(s, level);
    return begin_value(s, child_at(s->want, level->node, level->index++));
}

/* The first of [at, end) that is not plain ASCII inside a string: a quote, a backslash, a control
 * character, a byte above 0x7f. Eight at a time; the lowest marked byte is exact, because a borrow
 * only ever disturbs the bytes above it. */
static const char *plain_end(const char *at, const char *end)
{
    const uint64_t ones = 0x0101010101010101;

    for (; end - at >= 8; at += 8) {
        uint64_t x;

        memcpy(&x, at, sizeof x);
        x = le64toh(x);
        uint64_t marks = (x - ones * 0x20) | ((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | x;

        marks &= ones * 0x80;
        if (marks)
            return at + __builtin_ctzll(marks) / 8;
    }
    while (at < end && (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x80 && *at != '"' &&
           *at != '\\')
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* at points to a backslash. */
static bool check_escape(struct scanner *s, const char **at)
{
    const char *next = *at + 1;

    if (next == s->end || !*next || !strchr("\"\\/bfnrtu", *next))
        return refuse(s, next);
    *at = next + 1;
    if (*next != 'u')
        return true;
    for (int i = 0; i < 4; i++, ++*at)
        if (*at == s->end || text_hex_digit(**at) < 0)
            return refuse(s, *at);
    return true;
}

static bool check_string(struct scanner *s, bool *ret_escaped)
{
    const char *at = s->at + 1;

    for (;;) {
        at = plain_end(at, s->end);
        if (at == s->end)
            return refuse(s, at);
        if (*at == '"') {
            s->at = at + 1;
            return true;
        }
        if (*at == '\\') {
            *ret_escaped = true;
            if (!check_escape(s, &at))
                return false;
            continue;
        }
        size_t n = (unsigned char)*at < 0x20 ? 0 : utf8_length(at, (size_t)(s->end - at));

        if (!n)
            return refuse(s, at);
        at += n;
    }
}

static bool check_digits(struct scanner *s)
{
    if (s->at == s->end || !is_digit(*s->at))
        return refuse(s, s->at);
    while (s->at < s->end && is_digit(*s->at))
        s->at++;
    return true;
}

static bool check_number(struct scanner *s)
{
    if (*s->at == '-')
        s->at++;
    if (s->at < s->end && *s->at == '0')
        s->at++; /* a digit behind it is then no part of the number, and nothing else either */
    else if (!check_digits(s))
        return false;
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!check_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        return check_digits(s);
    }
    return true;
}

static bool check_literal(struct scanner *s, const char *word)
{
    for (; *word; word++, s->at++)
        if (s->at == s->end || *s->at != *word)
            return refuse(s, s->at);
    return true;
}

/* Reading again what was accepted */

static const char *skip_string(const char *at, const char *end, bool *ret_escaped)
{
    for (at++;; at++) {
        at = plain_end(at, end);
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            *ret_escaped = true;
            at++;
        }
    }
}

static const char *skip_container(const char *at, const char *end)
{
    unsigned depth = 0;
    bool escaped;

    for (;;) {
        switch (*at) {
        case '"':
            at = skip_string(at, end, &escaped);
            continue;
        case '{':
        case '[':
            depth++;
            break;
        case '}':
        case ']':
            if (!--depth)
                return at + 1;
            break;
        default:
            break;
        }
        at++;
    }
}

static const char *skip_number(const char *at, const char *end)
{
    while (at < end &&
           (is_digit(*at) || *at == '-' || *at == '+' || *at == '.' || *at == 'e' || *at == 'E'))
        at++;
    return at;
}

/* Fills ret with the value at `at`; returns what is behind it. */
static const char *take_value(const char *at, const char *end, struct scan_value *ret)
{
    const char *behind;

    *ret = (struct scan_value){.at = at, .kind = kind_of(*at)};
    switch (ret->kind) {
    case SCAN_OBJECT:
    case SCAN_ARRAY:
        behind = skip_container(at, end);
        break;
    case SCAN_STRING:
        behind = skip_string(at, end, &ret->escaped);
        break;
    case SCAN_NUMBER:
        behind = skip_number(at, end);
        break;
    default:
        behind = at + (ret->kind == SCAN_FALSE ? 5 : 4);
    }
    ret->len = (size_t)(behind - at);
    return behind;
}

/* Where the next item of a container begins, NULL at its end. */
static const char *next_item(const struct scan_value *container, size_t cursor)
{
    const char *end = container->at + container->len;
    const char *at = skip_space(container->at + (cursor ? cursor : 1), end);

    if (cursor && *at == ',')
        at = skip_space(at + 1, end);
    return *at == ']' || *at == '}' ? NULL : at;
}

bool scan_next_element(const struct scan_value *array, size_t *cursor, struct scan_value *ret)
{
    const char *at = next_item(array, *cursor);

    if (!at)
        return false;
    at = take_value(at, array->at + array->len, ret);
    *cursor = (size_t)(at - array->at);
    return true;
}

bool scan_next_member(const struct scan_value *object, size_t *cursor, struct scan_value *ret_name,
                      struct scan_value *ret_value)
{
    const char *end = object->at + object->len;
    const char *at = next_item(object, *cursor);

    if (!at)
        return false;
    at = skip_space(take_value(at, end, ret_name), end);
    at = skip_space(at + 1, end); /* the colon */
    at = take_value(at, end, ret_value);
    *cursor = (size_t)(at - object->at);
    return true;
}

static void pick(const struct scan_value *value, const struct scan_want *want, int node,
                 struct scan_value *values)
{
    struct scan_value name, item;
    bool object = value->kind == SCAN_OBJECT;
    uint32_t index = 0;
    size_t cursor = 0;

    if ((!object && value->kind != SCAN_ARRAY) || !want->nodes[node].child)
        return;
    while (object ? scan_next_member(value, &cursor, &name, &item)
                  : scan_next_element(value, &cursor, &item)) {
        int child = object ? child_named(want, node, &name, values) : child_at(want, node, index++);

        if (child == NO_NODE)
            continue;
        values[child] = item;
        pick(&item, want, child, values);
    }
}

void scan_again(const struct scan_value *value, const struct scan_want *want, struct scan_value *values)
{
    clear_values(want, values);
    values[0] = *value;
    values[0].twice = false;
    pick(value, want, 0, values);
}

/* Strings */

static uint32_t hex4(const char *at)
{
    uint32_t code = 0;

    for (int i = 0; i < 4; i++)
        code = code << 4 | (uint32_t)text_hex_digit(at[i]);
    return code;
}

/* at points behind a \u. Joins a surrogate pair; a half alone is returned as it is. */
static uint32_t unicode_escape(const char **at, const char *end)
{
    uint32_t code = hex4(*at);

    *at += 4;
    if (code < 0xd800 || code > 0xdbff || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
        return code;
    uint32_t low = hex4(*at + 2);

    if (low < 0xdc00 || low > 0xdfff)
        return code;
    *at += 6;
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

/* The decoded bytes, 1 to 4, of the escape that *at begins with; moves *at behind it. */
static size_t decode_escape(const char **at, const char *end, char *ret, bool *ret_lone)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char letter = (*at)[1];

    *at += 2;
    if (letter == 'u') {
        uint32_t code = unicode_escape(at, end);

        *ret_lone |= code >= 0xd800 && code <= 0xdfff;
        return utf8_encode(code, ret);
    }
    const char *found = strchr(from, letter);

    ret[0] = found ? to[found - from] : letter;
    return 1;
}

bool scan_decode(const struct scan_value *string, struct text *out)
{
    const char *at = string->at + 1, *end = string->at + string->len - 1;
    bool lone = false;

    if (!string->escaped) {
        text_add(out, at, string->len - 2);
        return true;
    }
    while (at < end) {
        const char *backslash = memchr(at, '\\', (size_t)(end - at));
        const char *plain = backslash ? backslash : end;
        char bytes[4];

        text_add(out, at, (size_t)(plain - at));
        at = plain;
        if (backslash)
            text_add(out, bytes, decode_escape(&at, end, bytes, &lone));
    }
    return !lone;
}

bool scan_string_is(const struct scan_value *string, const char *bytes, size_t len)
{
    const char *at = string->at + 1, *end = string->at + string->len - 1;
    bool lone = false;

    if (!string->escaped)
        return string->len - 2 == len && !memcmp(at, bytes, len);
    while (at < end) {
        char piece[4] = {*at};
        size_t n = 1;

        if (*at == '\\')
            n = decode_escape(&at, end, piece, &lone);
        else
            at++;
        if (n > len || memcmp(piece, bytes, n))
            return false;
        bytes += n;
        len -= n;
    }
    return !len;
}
