#include "second.h"

#include <stdlib.h>
#include <string.h>

/* In place of code points, behind the last good one. */
#define END       0xffffffffu
#define MALFORMED 0xfffffffeu

struct unit {
    uint32_t code;
    size_t at; /* its offset in the text */
};

struct reader {
    struct unit *units; /* the code points, then END or MALFORMED */
    size_t i;           /* the next one */
    int level, levels_max;
    bool too_deep;
};

static struct second_value *read_value(struct reader *r);

static void *get(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);

    if (!memory)
        abort();
    return memory;
}

/* ---- bytes to code points ---- */

/* The sequence's length from its first byte, by counting the ones that it begins with. */
static size_t length_of(unsigned char first)
{
    size_t ones = 0;

    while (ones < 8 && (first << ones & 0x80))
        ones++;
    return ones == 0 ? 1 : ones == 1 || ones > 4 ? 0 : ones;
}

/* Any bit pattern that the sequence's shape allows is assembled first, then judged as a number. */
static uint32_t code_at(const unsigned char *at, size_t rest, size_t *ret_len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = length_of(at[0]);

    *ret_len = len;
    if (!len || len > rest)
        return MALFORMED;
    uint32_t code = len == 1 ? at[0] : at[0] & (0x7fu >> len);

    for (size_t i = 1; i < len; i++) {
        if (at[i] / 64 != 2)
            return MALFORMED;
        code = code * 64 + at[i] % 64;
    }
    return code < smallest[len] || code > 0x10ffff || code / 0x800 == 0x1b ? MALFORMED : code;
}

static struct unit *units_of(const char *text, size_t len)
{
    struct unit *units = get((len + 1) * sizeof *units);
    size_t n = 0, at = 0, step = 0;

    for (; at < len; at += step) {
        units[n] = (struct unit){code_at((const unsigned char *)text + at, len - at, &step), at};
        if (units[n++].code == MALFORMED)
            return units;
    }
    units[n] = (struct unit){END, at};
    return units;
}

/* ---- code points to a tree ---- */

static uint32_t peek(const struct reader *r)
{
    return r->units[r->i].code;
}

static bool take(struct reader *r, uint32_t code)
{
    bool there = peek(r) == code;

    r->i += there;
    return there;
}

static bool take_any(struct reader *r, const char *codes)
{
    uint32_t code = peek(r);
    bool there = code && code < 0x80 && strchr(codes, (int)code);

    r->i += there;
    return there;
}

static void take_space(struct reader *r)
{
    while (take_any(r, " \t\r\n"))
        ;
}

static bool take_word(struct reader *r, const char *word)
{
    while (*word && take(r, (unsigned char)*word))
        word++;
    return !*word;
}

static bool take_digits(struct reader *r)
{
    bool any = false;

    while (take_any(r, "0123456789"))
        any = true;
    return any;
}

static bool take_number(struct reader *r)
{
    take(r, '-');
    if (!take(r, '0') && !take_digits(r))
        return false;
    if (take(r, '.') && !take_digits(r))
        return false;
    if (!take_any(r, "eE"))
        return true;
    take_any(r, "+-");
    return take_digits(r);
}

static void put(struct second_text *text, uint32_t code)
{
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

    for (size_t i = len; i-- > 1; code /= 64)
        text->at[text->len + i] = (char)(0x80 + code % 64);
    text->at[text->len] = (char)(leads[len] + code);
    text->len += len;
}

static bool take_hex(struct reader *r, uint32_t *ret)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    *ret = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t code = peek(r);

        if (!take_any(r, digits))
            return false;
        *ret = *ret * 16 + (uint32_t)(strchr(digits, (int)code) - digits) % 16;
    }
    return true;
}

/* Behind \u. A high half takes the low one that follows it at once. */
static bool take_escaped_code(struct reader *r, struct second_text *ret)
{
    uint32_t code, low;

    if (!take_hex(r, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00) {
        struct reader before = *r;

        if (take(r, '\\') && take(r, 'u') && take_hex(r, &low) && low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
        else
            *r = before;
    }
    ret->lone |= code >= 0xd800 && code < 0xe000;
    put(ret, code);
    return true;
}

static bool take_escape(struct reader *r, struct second_text *ret)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint32_t letter = peek(r);

    if (take(r, 'u'))
        return take_escaped_code(r, ret);
    if (!take_any(r, letters))
        return false;
    put(ret, (uint32_t)meanings[strchr(letters, (int)letter) - letters]);
    return true;
}

/* At most how many code points the string at hand has. */
static size_t units_to_quote(const struct reader *r)
{
    const struct unit *unit = r->units + r->i;
    bool escaped = false;

    for (; unit->code < MALFORMED && (escaped || unit->code != '"'); unit++)
        escaped = !escaped && unit->code == '\\';
    return (size_t)(unit - r->units) - r->i;
}

static bool take_string(struct reader *r, struct second_text *ret)
{
    if (!take(r, '"'))
        return false;
    ret->at = get(4 * units_to_quote(r));
    for (;;) {
        uint32_t code = peek(r);

        if (take(r, '"'))
            return true;
        if (code < 0x20 || code >= MALFORMED)
            return false;
        r->i++;
        if (code != '\\')
            put(ret, code);
        else if (!take_escape(r, ret))
            return false;
    }
}

static void free_value(struct second_value *value)
{
    while (value) {
        struct second_value *next = value->next;

        free_value(value->first);
        free(value->name.at);
        free(value->text.at);
        free(value);
        value = next;
    }
}

/* Behind the opening bracket. */
static bool take_items(struct reader *r, struct second_value *container)
{
    bool object = container->kind == SECOND_OBJECT;
    struct second_value **last = &container->first;

    take_space(r);
    if (take(r, object ? '}' : ']'))
        return true;
    do {
        struct second_text name = {0};

        take_space(r);
        bool named = !object || take_string(r, &name);

        if (named && object) {
            take_space(r);
            named = take(r, ':');
            take_space(r);
        }
        *last = named ? read_value(r) : NULL;
        if (!*last) {
            free(name.at);
            return false;
        }
        (*last)->name = name;
        last = &(*last)->next;
        take_space(r);
    } while (take(r, ','));
    return take(r, object ? '}' : ']');
}

static bool take_container(struct reader *r, struct second_value *value)
{
    if (r->level == r->levels_max) {
        r->too_deep = true;
        return false;
    }
    r->i++;
    r->level++;
    bool good = take_items(r, value);

    r->level--;
    return good;
}

static bool take_by_kind(struct reader *r, struct second_value *value)
{
    switch (value->kind) {
    case SECOND_NULL:
        return take_word(r, "null");
    case SECOND_FALSE:
        return take_word(r, "false");
    case SECOND_TRUE:
        return take_word(r, "true");
    case SECOND_STRING:
        return take_string(r, &value->text);
    case SECOND_NUMBER:
        return take_number(r);
    default:
        return take_container(r, value);
    }
}

static struct second_value *read_value(struct reader *r)
{
    static const char firsts[] = "nft\"[{";
    static const enum second_kind kinds[] = {SECOND_NULL,   SECOND_FALSE, SECOND_TRUE,
                                             SECOND_STRING, SECOND_ARRAY, SECOND_OBJECT};
    struct second_value *value = get(sizeof *value);
    uint32_t code = peek(r);
    const char *found = code && code < 0x80 ? strchr(firsts, (int)code) : NULL;

    value->kind = found ? kinds[found - firsts] : SECOND_NUMBER;
    value->at = r->units[r->i].at;
    if (take_by_kind(r, value)) {
        value->len = r->units[r->i].at - value->at;
        return value;
    }
    free_value(value);
    return NULL;
}

struct second second_read(const char *text, size_t len, int levels_max)
{
    struct reader r = {.units = units_of(text, len), .levels_max = levels_max};
    struct second second = {0};

    take_space(&r);
    second.root = read_value(&r);
    if (second.root)
        take_space(&r);
    if (!second.root || peek(&r) != END) {
        second.result = r.too_deep              ? SECOND_TOO_DEEP
                        : peek(&r) == MALFORMED ? SECOND_BAD_UTF8
                                                : SECOND_BAD_JSON;
        second.fault = r.units[r.i].at;
        second_done(&second);
    }
    free(r.units);
    return second;
}

void second_done(struct second *second)
{
    free_value(second->root);
    second->root = NULL;
}

const struct second_value *second_member(const struct second_value *object, const char *name,
                                         size_t len, size_t *ret_n)
{
    const struct second_value *found = NULL;

    *ret_n = 0;
    for (const struct second_value *item = object->first; item; item = item->next) {
        if (item->name.len != len || (len && memcmp(item->name.at, name, len) != 0))
            continue;
        found = found ? found : item;
        ++*ret_n;
    }
    return found;
}

const struct second_value *second_item(const struct second_value *container, size_t index)
{
    const struct second_value *item = container->first;

    while (item && index--)
        item = item->next;
    return item;
}

const struct second_value *second_get(const struct second_value *object, const char *name)
{
    size_t n;

    return object && object->kind == SECOND_OBJECT ? second_member(object, name, strlen(name), &n)
                                                   : NULL;
}
