/* frame: bytes into lines, the same lines on any split. */
#include "ingest/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "suite.h"

enum { MAX_LINE = 16 };

/* What a stream became: "1:abc|3:def|" and what ended it. */
struct outcome {
    struct text lines;
    bool too_long;
    uint64_t last_line;
};

static void note(struct outcome *out, const struct frame *frame, const char *line, size_t len)
{
    text_add_u64(&out->lines, frame->line);
    text_add_char(&out->lines, ':');
    text_add(&out->lines, line, len);
    text_add_char(&out->lines, '|');
}

static enum frame_result take_all(struct frame *frame, struct text *buffer, struct outcome *out)
{
    enum frame_result result;
    size_t at, len;

    while ((result = frame_next(frame, buffer->at, buffer->len, &at, &len)) == FRAME_LINE)
        note(out, frame, buffer->at + at, len);
    return result;
}

/* As a connection does: what is left of the next line moves to the front after each read. */
static void keep_tail(struct frame *frame, struct text *buffer)
{
    buffer->len -= frame->at;
    memmove(buffer->at, buffer->at + frame->at, buffer->len);
    frame_rebase(frame);
}

/* Feeds the stream in pieces; cuts has a bit for each byte after which a read ends. */
static struct outcome run(const char *stream, size_t len, uint64_t cuts)
{
    struct outcome out = {0};
    struct text buffer = {0};
    struct frame frame;
    size_t at, line_len;

    frame_init(&frame, MAX_LINE);
    for (size_t i = 0; i < len && !out.too_long; i++) {
        text_add_char(&buffer, stream[i]);
        if (i + 1 < len && !(cuts >> (i % 64) & 1))
            continue;
        out.too_long = take_all(&frame, &buffer, &out) == FRAME_TOO_LONG;
        keep_tail(&frame, &buffer);
    }
    if (!out.too_long && frame_last(&frame, buffer.at, buffer.len, &at, &line_len) == FRAME_LINE)
        note(&out, &frame, buffer.at + at, line_len);
    out.last_line = frame.line;
    text_done(&buffer);
    return out;
}

static const struct {
    const char *stream, *lines;
    bool too_long;
    uint64_t last_line;
} cases[] = {
    {"", "", false, 0},
    {"a\nb\n", "1:a|2:b|", false, 2},
    {"a\nb", "1:a|2:b|", false, 2},
    {"a\r\nb\r\n", "1:a|2:b|", false, 2},
    {"a\rb\n", "1:a\rb|", false, 1},
    {"a\r\r\n", "1:a\r|", false, 1},
    {"a\r", "1:a|", false, 1},
    {"\n\na\n\n", "3:a|", false, 4},
    {" \t\na\n\t \r\n", "2:a|", false, 3},
    {"a\n  ", "1:a|", false, 2},
    {"\r\n\r", "", false, 2},
    {"\xef\xbb\xbf{}\n", "1:{}|", false, 1},
    {"\xef\xbb\xbf\nx\n", "2:x|", false, 2},
    {"\xef\xbb\xbf", "", false, 0},
    {"\xef\xbb", "1:\xef\xbb|", false, 1},
    {"\xef\xbb{}\n", "1:\xef\xbb{}|", false, 1},
    {"a\n\xef\xbb\xbf"
     "b\n",
     "1:a|2:\xef\xbb\xbf"
     "b|",
     false, 2},
    {"\xef\xbb\xbf\xef\xbb\xbf"
     "a\n",
     "1:\xef\xbb\xbf"
     "a|",
     false, 1},
    {"0123456789abcdef\n", "1:0123456789abcdef|", false, 1},
    {"0123456789abcdef\r\n", "1:0123456789abcdef|", false, 1},
    {"0123456789abcdef", "1:0123456789abcdef|", false, 1},
    {"0123456789abcdef\r", "1:0123456789abcdef|", false, 1},
    {"\xef\xbb\xbf"
     "0123456789abcdef\n",
     "1:0123456789abcdef|", false, 1},
    {"a\n0123456789abcdef0\nb\n", "1:a|", true, 2},
    {"0123456789abcdef0", "", true, 1},
    {"0123456789abcdef\r\r\n", "", true, 1},
    {"0123456789abcdef\rx\n", "", true, 1},
    {"a\n                 \nb\n", "1:a|", true, 2},
};

static void check_outcome(int i, struct outcome *out)
{
    ck_assert_str_eq(text_terminate(&out->lines), cases[i].lines);
    ck_assert_int_eq(out->too_long, cases[i].too_long);
    ck_assert_uint_eq(out->last_line, cases[i].last_line);
    text_done(&out->lines);
}

START_TEST(a_stream_in_one_read_becomes_its_lines)
{
    struct outcome out = run(cases[_i].stream, strlen(cases[_i].stream), 0);

    check_outcome(_i, &out);
}
END_TEST

START_TEST(the_same_stream_byte_by_byte_becomes_the_same_lines)
{
    struct outcome out = run(cases[_i].stream, strlen(cases[_i].stream), UINT64_MAX);

    check_outcome(_i, &out);
}
END_TEST

START_TEST(the_same_stream_on_every_split_into_two_or_three_reads_becomes_the_same_lines)
{
    size_t len = strlen(cases[_i].stream);

    for (size_t one = 0; one < len; one++)
        for (size_t two = one; two < len; two++) {
            struct outcome out = run(cases[_i].stream, len, 1ULL << one | 1ULL << two);

            check_outcome(_i, &out);
        }
}
END_TEST

START_TEST(short_streams_give_the_same_lines_on_every_split_whatever)
{
    static const char stream[] = "\xef\xbb\xbf\r\na\r\n \nb\r";
    size_t len = sizeof stream - 1;

    for (uint64_t cuts = 0; cuts < 1ULL << len; cuts++) {
        struct outcome out = run(stream, len, cuts);

        ck_assert_str_eq(text_terminate(&out.lines), "2:a|4:b|");
        ck_assert_uint_eq(out.last_line, 4);
        text_done(&out.lines);
    }
}
END_TEST

START_TEST(a_nul_byte_is_part_of_a_line)
{
    struct outcome out = run("a\0b\nc\n", 6, 0);

    ck_assert_uint_eq(out.lines.len, strlen("1:") + 3 + strlen("|2:c|"));
    ck_assert_mem_eq(out.lines.at, "1:a\0b|2:c|", out.lines.len);
    text_done(&out.lines);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tcase = tcase_create("frame");
    int n = sizeof cases / sizeof *cases;

    tcase_add_loop_test(tcase, a_stream_in_one_read_becomes_its_lines, 0, n);
    tcase_add_loop_test(tcase, the_same_stream_byte_by_byte_becomes_the_same_lines, 0, n);
    tcase_add_loop_test(
        tcase, the_same_stream_on_every_split_into_two_or_three_reads_becomes_the_same_lines, 0, n);
    tcase_add_test(tcase, short_streams_give_the_same_lines_on_every_split_whatever);
    tcase_add_test(tcase, a_nul_byte_is_part_of_a_line);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
