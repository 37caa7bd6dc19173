#include "comments.h"

#include <stdbool.h>
#include <string.h>

#include "base/jsonc.h"
#include "fuzz.h"

enum state { PLAIN, STRING, STRING_ESCAPE, SLASH, LINE, BLOCK, BLOCK_STAR };

/* One byte at a time; SLASH is a slash that may begin a comment. */
static enum state next_state(enum state state, char c)
{
    switch (state) {
    case STRING:
        return c == '"' ? PLAIN : c == '\\' ? STRING_ESCAPE : STRING;
    case STRING_ESCAPE:
        return STRING;
    case LINE:
        return c == '\n' ? PLAIN : LINE;
    case BLOCK:
        return c == '*' ? BLOCK_STAR : BLOCK;
    case BLOCK_STAR:
        return c == '/' ? PLAIN : c == '*' ? BLOCK_STAR : BLOCK;
    case SLASH:
        if (c == '/' || c == '*')
            return c == '/' ? LINE : BLOCK;
        break;
    case PLAIN:
        break;
    }
    return c == '"' ? STRING : c == '/' ? SLASH : PLAIN;
}

/* Blanks in place by states; false when a block comment is open at the end. */
static bool blank(char *text, size_t len)
{
    enum state state = PLAIN;

    for (size_t i = 0; i < len; i++) {
        enum state before = state;
        bool comment;

        state = next_state(state, text[i]);
        comment = state >= LINE || before >= BLOCK;
        if (before == SLASH && comment)
            text[i - 1] = ' ';
        if (comment && text[i] != '\n')
            text[i] = ' ';
    }
    return state != BLOCK && state != BLOCK_STAR;
}

struct text comments_blank(const char *text, size_t len, int *ret_bad)
{
    struct text ours = {0}, theirs = {0};
    struct err err;

    text_add(&ours, text, len);
    text_add(&theirs, text, len);
    text_reserve(&ours, 1);
    text_reserve(&theirs, 1);
    *ret_bad = jsonc_blank_comments(ours.at, len, &err) < 0;
    FUZZ_REQUIRE(*ret_bad == !blank(theirs.at, len));
    if (*ret_bad) {
        comments_check_refusal(err.code, &err);
        text_done(&ours);
    } else {
        FUZZ_REQUIRE(memcmp(ours.at, theirs.at, len) == 0);
    }
    text_done(&theirs);
    return ours;
}

struct text comments_wrap(const char *text, size_t len)
{
    struct text wrapped = {0};

    text_add_str(&wrapped, "// {\n/**/");
    text_add(&wrapped, text, len);
    text_add_str(&wrapped, "\n/* \" } // **/");
    return wrapped;
}

void comments_check_refusal(int code, const struct err *err)
{
    FUZZ_REQUIRE(code == ERR_CONFIG && (int)err->code == code && err->text[0]);
    for (const char *at = err->text; *at; at++)
        FUZZ_REQUIRE((unsigned char)*at >= 0x20 && *at != 0x7f);
}
