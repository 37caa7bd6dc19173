#include "profiles.h"

#include <stddef.h>
#include <string.h>

#include "fuzz.h"

/* NULL: built in. The numbers are the first letters of the inputs in corpus/wire: 'a' is the first. */
static const char *const profiles[PROFILES] = {
    NULL, /* canonical */
    NULL, /* replay */
    "{\"trades\":\"/data/*\",\"key\":[\"/s\",\"/id\"],\"content\":[{\"decimal\":\"/p\"},\"/t\"]}",
    "{\"trades\":\"/events/*/trades/*\",\"match\":{\"$/channel\":\"trades\",\"/"
    "side\":[\"BUY\",\"SELL\"]},"
    "\"key\":[{\"const\":\"A/B\"},\"/id\"]}",
    "{\"unwrap\":[\"/data\",\"/params\"],\"match\":[{\"/e\":\"trade\"},{\"/"
    "e\":{\"starts\":\"agg\",\"ends\":"
    "\"e\"},\"/x\":{\"present\":false}}],\"key\":[{\"source\":true},\"/s\",[\"/t\",\"/a\"]],"
    "\"content\":[{\"decimal\":[\"/p\",\"/q\"]},\"$/p\"]}",
    "{\"key\":[{\"prefix\":\"/id\",\"length\":3},{\"utc_day\":\"/"
    "t\",\"unit\":\"ms\",\"shift_h\":-5},\"/id\"],"
    "\"content\":[\"/p\"]}",
    "{\"trades\":[\"/trades/*\",\"\"],\"key\":[[\"/s\",\"$/s\",{\"const\":\"\"}],\"/id\"]}",
    "{\"trades\":\"/2\",\"match\":{\"$/1\":[\"te\",\"tu\"]},\"key\":[\"$/0\",\"/0\"],\"content\":[\"/"
    "1\"]}",
    "{\"trades\":[\"/*/*\",\"/*\"],\"key\":[{\"utc_day\":[\"/t\",\"/u\"],\"unit\":\"rfc3339\"},\"/"
    "0\"]}",
    "{\"match\":[{\"/v\":1.50},{\"/v\":true},{\"/v\":[false,-0,\"\"]}],\"key\":[\"/id\"],"
    "\"content\":[\"\",{\"decimal\":\"/v\"}]}",
    "{\"trades\":\"/a~1b/*/m~0n\",\"key\":[\"/\",\"/id\"]}",
    "{\"key\":[[\"/a/b/c\",\"/a/b\",\"/a\"],[\"/i\",\"/id\"]],\"content\":[\"/a\",\"/a/b\"]}",
};

const struct feed *profiles_feed(int i)
{
    static struct feed *feeds[PROFILES];
    struct err err;

    if (!feeds[i] && profiles[i])
        FUZZ_REQUIRE(!feed_parse(&feeds[i], "fuzz", profiles[i], strlen(profiles[i]), &err));
    if (!feeds[i])
        feeds[i] = feed_builtin(i ? "replay" : "canonical");
    return feeds[i];
}
