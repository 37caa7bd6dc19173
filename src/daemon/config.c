#include "daemon/config.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/file.h"
#include "base/jsonc.h"
#include "base/mem.h"
#include "base/text.h"
#include "daemon/arguments.h"
#include "ingest/scan.h"

#define ARGUMENTS_DEFAULT_FILE "/etc/tradesieve/tradesieve.json"
#define DEFAULT_DATA_DIR       "./tradesieve-data"
#define DEFAULT_FEEDS_DIR      "feeds"

enum {
    CONFIG_FILE_MAX = 1 << 20, /* bytes */
    PATH_TEXT_MAX = 128,       /* of a key in messages */
    LISTENERS_MAX = STATS_FEEDS_MAX,
    FEEDS_BUILT_IN = 2,      /* canonical and replay */
    GENERATIONS_MAX = 65536, /* of a segment: bits in a row of its bank */
};

struct listener_draft {
    char *bind, *feed, *ack, *source, *mode; /* as written; source and mode may be NULL */
    bool allow_remote;
};

/* A configuration while it is read: what is final already, and what has to be resolved first. */
struct draft {
    struct config config;
    const char *file; /* the configuration file, or NULL */
    bool http_allow_remote;
    struct texts {
        char **at;
        size_t n;
    } hosts;
    struct listener_list {
        struct listener_draft *at;
        size_t n;
    } listeners;
};

enum key_type {
    KEY_BOOL,
    KEY_INT,
    KEY_U32,
    KEY_U64,
    KEY_SIZE,
    KEY_RATE, /* a double */
    KEY_TEXT,
    KEY_TEXT_OR_NULL,
    KEY_TEXTS,
    KEY_LOG_LEVEL,
    KEY_LISTENERS,
};

/* Every integer's range ends far below 2^53, so that cJSON's double holds it exactly. */
struct key {
    const char *path; /* members from the top, joined by '.' */
    enum key_type type;
    size_t offset;    /* in struct draft or struct listener_draft */
    double min, max;  /* of numbers, both included */
    double number;    /* default of numbers, booleans and the log level */
    const char *text; /* default of texts, NULL: none */
};

/* A line's keys stand in one arena with offsets of 32 bits, of which details need some too. */
#define LINE_KEYS_BYTES_END (UINT64_C(1) << 31)

#define KIB              1024.0
#define MIB              (KIB * 1024)
#define TIB              (MIB * MIB)
#define PIB              (TIB * KIB)
#define FIELD(member)    offsetof(struct draft, config.member)
#define DRAFT(member)    offsetof(struct draft, member)
#define LISTENER(member) offsetof(struct listener_draft, member)

/* clang-format off */
static const struct key keys[] = {
    {"data_dir",           KEY_TEXT,      FIELD(data_dir), 0, 0, 0, NULL},
    {"http",               KEY_TEXT,      FIELD(http_bind), 0, 0, 0, "127.0.0.1:7402"},
    {"http_allow_remote",  KEY_BOOL,      DRAFT(http_allow_remote), 0, 1, 0, NULL},
    {"http_hosts",         KEY_TEXTS,     DRAFT(hosts), 0, 0, 0, NULL},
    {"feeds_dir",          KEY_TEXT,      FIELD(feeds_dir), 0, 0, 0, NULL},
    {"listeners",          KEY_LISTENERS, DRAFT(listeners), 0, 0, 0, NULL},
    {"log_level",          KEY_LOG_LEVEL, FIELD(log_level), 0, 0, LOG_INFO, NULL},

    {"limits.max_connections",       KEY_U32,  FIELD(server.max_connections), 1, 100000, 1000, NULL},
    /* A line is one value of SQLite's, which takes 1e9 bytes, and its offsets have 32 bits. */
    {"limits.max_line_bytes",        KEY_SIZE, FIELD(server.max_line_bytes), 64, 256 * MIB, MIB, NULL},
    {"limits.max_trades_per_line",   KEY_U32,  FIELD(server.max_trades_per_line), 1, 1e6, 10000, NULL},
    {"limits.max_key_bytes",         KEY_SIZE, FIELD(server.max_key_bytes), 16, 8 * KIB, 512, NULL},
    {"limits.queue_bytes",           KEY_SIZE, FIELD(server.queue_bytes), 64 * KIB, TIB, 64 * MIB, NULL},
    {"limits.ack_backlog_bytes",     KEY_SIZE, FIELD(server.ack_backlog_bytes), 4 * KIB, 1024 * MIB, 256 * KIB, NULL},
    {"limits.slow_reader_timeout_s", KEY_INT,  FIELD(server.slow_reader_timeout_s), 1, 3600, 30, NULL},

    {"store.keep_message",       KEY_BOOL, FIELD(writer.store.keep_message), 0, 1, 1, NULL},
    {"store.generation_keys",    KEY_U32,  FIELD(writer.store.generation_keys), 1, 16 * MIB, 65536, NULL},
    {"store.segment_rows",       KEY_U64,  FIELD(writer.store.segment_rows), 1, TIB, 16 * MIB, NULL},
    {"store.commit_max_trades",  KEY_SIZE, FIELD(writer.commit_max_trades), 1, 1e6, 8192, NULL},
    {"store.retention_days",     KEY_INT,  FIELD(writer.store.retention_days), 0, 36500, 0, NULL},
    {"store.reject_rows",        KEY_U64,  FIELD(writer.store.reject_rows), 0, TIB, 100000, NULL},
    {"store.reject_bytes",       KEY_U64,  FIELD(writer.store.reject_bytes), 0, PIB, 256 * MIB, NULL},
    {"store.disk_reserve_bytes", KEY_U64,  FIELD(writer.store.disk_reserve_bytes), 0, PIB, 256 * MIB, NULL},

    /* A single filter's rate is at least 1e-9, and a third of this rate is one filter's share. */
    {"filter.false_positive_rate",  KEY_RATE, FIELD(writer.store.false_positive_rate), 3e-9, 0.5, 0.01, NULL},
    {"filter.capacity",             KEY_U64,  FIELD(writer.store.capacity), 1, TIB, 1e8, NULL},
    {"filter.snapshot_interval_s",  KEY_INT,  FIELD(writer.store.snapshot_interval_s), 0, 86400, 300, NULL},
    {"filter.snapshot_rows",        KEY_U64,  FIELD(writer.store.snapshot_rows), 1, TIB, 2e6, NULL},
    {"filter.self_test_interval_s", KEY_INT,  FIELD(writer.self_test_interval_s), 0, 86400, 60, NULL},
};

static const struct key listener_keys[] = {
    {"bind",         KEY_TEXT,         LISTENER(bind), 0, 0, 0, "127.0.0.1:7401"},
    {"feed",         KEY_TEXT,         LISTENER(feed), 0, 0, 0, "canonical"},
    {"ack",          KEY_TEXT,         LISTENER(ack), 0, 0, 0, "each"},
    {"source",       KEY_TEXT_OR_NULL, LISTENER(source), 0, 0, 0, NULL},
    {"mode",         KEY_TEXT_OR_NULL, LISTENER(mode), 0, 0, 0, NULL},
    {"allow_remote", KEY_BOOL,         LISTENER(allow_remote), 0, 1, 0, NULL},
};
/* clang-format on */

static const char *const log_levels[] = {
    [LOG_ERROR] = "error", [LOG_WARNING] = "warning", [LOG_INFO] = "info", [LOG_DEBUG] = "debug"};

static int build(struct draft *draft, const struct arguments *arguments, struct err *err);
static void done_draft(struct draft *draft);

static void print_in_order(const struct draft *draft)
{
    size_t listeners_n = draft->config.server.listeners_n;
    size_t profiles_n = draft->config.feeds_n - FEEDS_BUILT_IN;

    printf("%s: in order, %zu listener%s, %zu profile%s and %d built-in feeds\n",
           draft->file ? draft->file : "built-in defaults", listeners_n, listeners_n == 1 ? "" : "s",
           profiles_n, profiles_n == 1 ? "" : "s", FEEDS_BUILT_IN);
}

int config_read(struct config *config, int argc, char **argv, bool *ret_done, struct err *err)
{
    struct arguments arguments;
    struct draft draft = {0};

    *config = (struct config){0};
    /* Without memory a text is not "not understood". */
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = mem_alloc, .free_fn = free});
    if (arguments_parse(&arguments, argc, argv, err) < 0)
        return err->code;
    if (arguments.help || arguments.version) {
        fputs(arguments.help ? arguments_usage : "tradesieved " TRADESIEVE_VERSION "\n", stdout);
        *ret_done = true;
        return 0;
    }
    int result = build(&draft, &arguments, err);

    if (result == 0 && arguments.check_config) {
        print_in_order(&draft);
        *ret_done = true;
    }
    *config = draft.config;
    done_draft(&draft);
    return result;
}

/* Values into fields. */

static void set_text(char **field, const char *text)
{
    free(*field);
    *field = text ? mem_strdup(text) : NULL;
}

static void set_number(const struct key *key, void *into, double number)
{
    void *field = (char *)into + key->offset;

    switch (key->type) {
    case KEY_BOOL:
        *(bool *)field = number != 0;
        return;
    case KEY_INT:
        *(int *)field = (int)number;
        return;
    case KEY_U32:
        *(uint32_t *)field = (uint32_t)number;
        return;
    case KEY_U64:
        *(uint64_t *)field = (uint64_t)number;
        return;
    case KEY_SIZE:
        *(size_t *)field = (size_t)number;
        return;
    case KEY_RATE:
        *(double *)field = number;
        return;
    case KEY_LOG_LEVEL:
        *(enum log_level *)field = (enum log_level)number;
        return;
    case KEY_TEXT:
    case KEY_TEXT_OR_NULL:
    case KEY_TEXTS:
    case KEY_LISTENERS:
        abort(); /* no number */
    }
}

static void done_listener(struct listener_draft *listener)
{
    free(listener->bind);
    free(listener->feed);
    free(listener->ack);
    free(listener->source);
    free(listener->mode);
}

static void set_defaults(const struct key *table, size_t n, void *into);

static void done_listeners(struct listener_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        done_listener(&list->at[i]);
    free(list->at);
    *list = (struct listener_list){0};
}

/* n listeners with every default in place of those that stand there. */
static void set_listeners(struct listener_list *list, size_t n)
{
    done_listeners(list);
    list->at = mem_zalloc(n, sizeof *list->at);
    list->n = n;
    for (size_t i = 0; i < n; i++)
        set_defaults(listener_keys, sizeof listener_keys / sizeof *listener_keys, &list->at[i]);
}

static void set_defaults(const struct key *table, size_t n, void *into)
{
    for (const struct key *key = table; key < table + n; key++) {
        void *field = (char *)into + key->offset;

        if (key->type == KEY_TEXT || key->type == KEY_TEXT_OR_NULL)
            set_text(field, key->text);
        else if (key->type == KEY_LISTENERS)
            set_listeners(field, 1);
        else if (key->type != KEY_TEXTS)
            set_number(key, into, key->number);
    }
}

static void done_server(struct server_config *server)
{
    for (size_t i = 0; i < server->listeners_n; i++) {
        free(server->listeners[i].bind);
        free(server->listeners[i].source);
    }
    free(server->listeners);
    server->listeners = NULL;
    server->listeners_n = 0;
}

static void done_texts(struct texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        free(texts->at[i]);
    free(texts->at);
    *texts = (struct texts){0};
}

static void done_draft(struct draft *draft)
{
    done_listeners(&draft->listeners);
    done_texts(&draft->hosts);
}

/* JSON into fields. Each function is told the path that its messages begin with. */

static const char *kind_of(const cJSON *item)
{
    if (cJSON_IsString(item))
        return "a string";
    if (cJSON_IsNumber(item))
        return "a number";
    if (cJSON_IsBool(item))
        return "true or false";
    if (cJSON_IsArray(item))
        return "a list";
    return cJSON_IsObject(item) ? "an object" : "null";
}

static int refuse_kind(const char *path, const cJSON *item, const char *wanted, struct err *err)
{
    return err_set(err, ERR_CONFIG, "%s: %s where %s is wanted", path, kind_of(item), wanted);
}

static int read_number(const char *path, const struct key *key, void *into, const cJSON *item,
                       struct err *err)
{
    double value = item->valuedouble;

    if (!cJSON_IsNumber(item))
        return refuse_kind(path, item, "a number", err);
    if (key->type != KEY_RATE && value != floor(value))
        return err_set(err, ERR_CONFIG, "%s: %.15g is not a whole number", path, value);
    if (!(value >= key->min && value <= key->max))
        return err_set(err, ERR_CONFIG, "%s: %.15g is not within %.15g and %.15g", path, value,
                       key->min, key->max);
    set_number(key, into, value);
    return 0;
}

static int read_text(const char *path, char **field, const cJSON *item, struct err *err)
{
    if (!cJSON_IsString(item))
        return refuse_kind(path, item, "a string", err);
    if (!*item->valuestring)
        return err_set(err, ERR_CONFIG, "%s: an empty string", path);
    set_text(field, item->valuestring);
    return 0;
}

static int read_texts(const char *path, struct texts *texts, const cJSON *item, struct err *err)
{
    const cJSON *element;

    if (!cJSON_IsArray(item))
        return refuse_kind(path, item, "a list of strings", err);
    texts->at = mem_zalloc((size_t)cJSON_GetArraySize(item), sizeof *texts->at);
    cJSON_ArrayForEach(element, item)
    {
        char shown[PATH_TEXT_MAX];

        snprintf(shown, sizeof shown, "%.64s[%zu]", path, texts->n);
        if (read_text(shown, &texts->at[texts->n], element, err) < 0)
            return err->code;
        texts->n++;
    }
    return 0;
}

static int read_log_level(const char *path, const struct key *key, void *into, const cJSON *item,
                          struct err *err)
{
    if (!cJSON_IsString(item))
        return refuse_kind(path, item, "a string", err);
    for (size_t i = 0; i < sizeof log_levels / sizeof *log_levels; i++)
        if (strcmp(log_levels[i], item->valuestring) == 0) {
            set_number(key, into, (double)i);
            return 0;
        }
    return err_set(err, ERR_CONFIG, "%s: \"%s\" is not error, warning, info or debug", path,
                   item->valuestring);
}

/* One table, the struct that it fills, and what stands before its paths in messages. */
struct scope {
    const struct key *keys;
    size_t n;
    void *into;
    const char *shown;
};

static int read_members(const struct scope *scope, const char *section, const cJSON *object,
                        struct err *err);

static int read_listeners(const char *path, struct listener_list *list, const cJSON *item,
                          struct err *err)
{
    int n = cJSON_GetArraySize(item);

    if (!cJSON_IsArray(item))
        return refuse_kind(path, item, "a list of objects", err);
    if (n < 1)
        return err_set(err, ERR_CONFIG, "%s: at least one is needed", path);
    if (n > LISTENERS_MAX)
        return err_set(err, ERR_CONFIG, "%s: %d are more than %d", path, n, LISTENERS_MAX);
    set_listeners(list, (size_t)n);
    for (int i = 0; i < n; i++) {
        const cJSON *element = cJSON_GetArrayItem(item, i);
        char shown[PATH_TEXT_MAX];
        struct scope scope = {listener_keys, sizeof listener_keys / sizeof *listener_keys, &list->at[i],
                              shown};

        snprintf(shown, sizeof shown, "%.64s[%d]", path, i);
        if (!cJSON_IsObject(element))
            return refuse_kind(shown, element, "an object", err);
        snprintf(shown, sizeof shown, "%.64s[%d].", path, i);
        if (read_members(&scope, "", element, err) < 0)
            return err->code;
    }
    return 0;
}

static int read_value(const char *path, const struct key *key, void *into, const cJSON *item,
                      struct err *err)
{
    void *field = (char *)into + key->offset;

    switch (key->type) {
    case KEY_BOOL:
        if (!cJSON_IsBool(item))
            return refuse_kind(path, item, "true or false", err);
        set_number(key, into, cJSON_IsTrue(item));
        return 0;
    case KEY_INT:
    case KEY_U32:
    case KEY_U64:
    case KEY_SIZE:
    case KEY_RATE:
        return read_number(path, key, into, item, err);
    case KEY_TEXT_OR_NULL:
        if (!cJSON_IsNull(item))
            return read_text(path, field, item, err);
        set_text(field, NULL);
        return 0;
    case KEY_TEXT:
        return read_text(path, field, item, err);
    case KEY_TEXTS:
        return read_texts(path, field, item, err);
    case KEY_LOG_LEVEL:
        return read_log_level(path, key, into, item, err);
    case KEY_LISTENERS:
        return read_listeners(path, field, item, err);
    }
    return 0;
}

static const struct key *find_key(const struct scope *scope, const char *path)
{
    for (const struct key *key = scope->keys; key < scope->keys + scope->n; key++)
        if (strcmp(key->path, path) == 0)
            return key;
    return NULL;
}

static bool is_section(const struct scope *scope, const char *path)
{
    size_t len = strlen(path);

    for (const struct key *key = scope->keys; key < scope->keys + scope->n; key++)
        if (strncmp(key->path, path, len) == 0 && key->path[len] == '.')
            return true;
    return false;
}

static int refuse_key(const char *path, struct err *err)
{
    return err_set(err, ERR_CONFIG, "%s: unknown key (docs/configuration.md lists them)", path);
}

static int read_member(const struct scope *scope, const char *section, const cJSON *item,
                       struct err *err)
{
    char shown[PATH_TEXT_MAX], inner[PATH_TEXT_MAX + 1];
    const char *path = shown + strlen(scope->shown);
    const struct key *key;

    snprintf(shown, sizeof shown, "%s%s%s", scope->shown, section, item->string);
    if (strchr(item->string, '.'))
        return refuse_key(shown, err);
    if ((key = find_key(scope, path)))
        return read_value(shown, key, scope->into, item, err);
    if (!is_section(scope, path))
        return refuse_key(shown, err);
    if (!cJSON_IsObject(item))
        return refuse_kind(shown, item, "an object", err);
    snprintf(inner, sizeof inner, "%s.", path);
    return read_members(scope, inner, item, err);
}

static int read_members(const struct scope *scope, const char *section, const cJSON *object,
                        struct err *err)
{
    const cJSON *item, *earlier;

    cJSON_ArrayForEach(item, object)
    {
        for (earlier = object->child; earlier != item; earlier = earlier->next)
            if (strcmp(earlier->string, item->string) == 0)
                return err_set(err, ERR_CONFIG, "%s%s%s: stands twice", scope->shown, section,
                               item->string);
        if (read_member(scope, section, item, err) < 0)
            return err->code;
    }
    return 0;
}

/* The file. */

/* scan judges, since cJSON lets much pass that is no JSON; and cJSON ends a string at \u0000. */
static int parse_json(struct text *text, cJSON **ret, struct err *err)
{
    size_t at = 0;

    if (jsonc_blank_comments(text->at, text->len, err) < 0)
        return err->code;
    switch (scan_text(text->at, text->len, NULL, NULL, &at)) {
    case SCAN_OK:
        break;
    case SCAN_BAD_JSON:
        return jsonc_refuse(text->at, text->len, at, "not JSON", err);
    case SCAN_BAD_UTF8:
        return jsonc_refuse(text->at, text->len, at, "not UTF-8", err);
    case SCAN_TOO_DEEP:
        return jsonc_refuse(text->at, text->len, at, "nested too deeply", err);
    }
    if (strstr(text_terminate(text), "\\u0000"))
        return err_set(err, ERR_CONFIG, "\\u0000 in a string");
    *ret = cJSON_ParseWithLength(text->at, text->len);
    if (!*ret)
        return err_set(err, ERR_CONFIG, "not understood: a number with too many digits?");
    return 0;
}

static int apply_file(struct draft *draft, struct err *err)
{
    struct scope scope = {keys, sizeof keys / sizeof *keys, draft, ""};
    struct text text = {0};
    cJSON *root = NULL;
    int result = file_read(draft->file, CONFIG_FILE_MAX, &text, err);

    if (result == 0)
        result = parse_json(&text, &root, err);
    if (result == 0)
        result = cJSON_IsObject(root)
                     ? read_members(&scope, "", root, err)
                     : err_set(err, ERR_CONFIG, "%s where an object is wanted", kind_of(root));
    cJSON_Delete(root);
    text_done(&text);
    return result;
}

/* Feeds. */

static void add_feed(struct config *config, struct feed *feed)
{
    config->feeds = mem_realloc(config->feeds, config->feeds_n + 1, sizeof *config->feeds);
    config->feeds[config->feeds_n++] = feed;
}

static struct feed *find_feed(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->feeds_n; i++)
        if (strcmp(feed_name(config->feeds[i]), name) == 0)
            return config->feeds[i];
    return NULL;
}

static int is_profile(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);

    return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0;
}

static int add_feed_file(struct config *config, const char *file_name, struct err *err)
{
    struct text file = {0};
    struct feed *feed = NULL;

    text_add_format(&file, "%s/%s", config->feeds_dir, file_name);
    int result = feed_load(&feed, text_terminate(&file), err);

    if (result == 0 && find_feed(config, feed_name(feed))) {
        result = err_set(err, ERR_CONFIG, "%s: the feed %s is built in", file.at, feed_name(feed));
        feed_close(feed);
    } else if (result == 0) {
        add_feed(config, feed);
    }
    text_done(&file);
    return result;
}

/* Frees the entries, which stand in the order of their names: of two bad profiles it is always the same
 * that is refused. */
static int add_feed_files(struct config *config, struct dirent **entries, int n, struct err *err)
{
    int result = 0;

    for (int i = 0; i < n; i++) {
        if (result == 0)
            result = add_feed_file(config, entries[i]->d_name, err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* A path of the configuration file, which is relative to that file's directory. */
static char *beside_file(const char *file, const char *path)
{
    const char *slash = strrchr(file, '/');
    struct text text = {0};

    if (path[0] != '/' && slash)
        text_add(&text, file, (size_t)(slash - file) + 1);
    text_add_str(&text, path);
    text_terminate(&text);
    return text.at;
}

static int in_file(const struct draft *draft, struct err *err)
{
    return draft->file ? err_prefix(err, "%s", draft->file) : (int)err->code;
}

static int load_feeds(struct draft *draft, struct err *err)
{
    struct config *config = &draft->config;
    char *named = config->feeds_dir;
    bool must_exist = named != NULL;
    struct dirent **entries;

    add_feed(config, feed_builtin("canonical"));
    add_feed(config, feed_builtin("replay"));
    if (!draft->file)
        return 0;
    config->feeds_dir = beside_file(draft->file, named ? named : DEFAULT_FEEDS_DIR);
    free(named);
    int n = scandir(config->feeds_dir, &entries, is_profile, alphasort);

    if (n >= 0)
        return add_feed_files(config, entries, n, err);
    if (errno == ENOENT && !must_exist)
        return 0;
    err_set(err, ERR_CONFIG, "feeds_dir: %s: %s", config->feeds_dir, strerror(errno));
    return in_file(draft, err);
}

/* Listeners and addresses. `where` is what messages call the listener: "listeners[0]". */

static int resolve_bind(const char *where, const struct listener_draft *draft, int *ret_family,
                        struct err *err)
{
    struct address address;

    if (address_parse(&address, draft->bind, err) < 0)
        return err_prefix(err, "%s.bind", where);
    if (!address_is_local(&address) && !draft->allow_remote)
        return err_set(err, ERR_CONFIG,
                       "%s.bind: %s is not local: set \"allow_remote\": true in that listener to allow "
                       "it; there is no authentication",
                       where, draft->bind);
    *ret_family = address.sockaddr.ss_family;
    return 0;
}

static int resolve_mode(const char *where, const char *mode, int family, unsigned *ret, struct err *err)
{
    if (!mode)
        return 0;
    if (family != AF_UNIX)
        return err_set(err, ERR_CONFIG, "%s.mode: only a unix socket has one", where);
    *ret = (unsigned)strtoul(mode, NULL, 8);
    if (strlen(mode) > 4 || strspn(mode, "01234567") != strlen(mode) || *ret < 1 || *ret > 0777)
        return err_set(err, ERR_CONFIG, "%s.mode: \"%s\" is not an octal number from 0001 to 0777",
                       where, mode);
    return 0;
}

static int resolve_ack(const char *where, const char *ack, enum ack_mode *ret, struct err *err)
{
    int mode = ack_mode_of(ack, strlen(ack));

    if (mode < 0)
        return err_set(err, ERR_CONFIG, "%s.ack: \"%s\" is not each, batch or none", where, ack);
    *ret = (enum ack_mode)mode;
    return 0;
}

static int resolve_feed(const char *where, const struct config *config, const char *name,
                        struct feed **ret, struct err *err)
{
    *ret = find_feed(config, name);
    if (*ret)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "%s.feed: there is no feed \"%s\": canonical and replay are built in, others stand "
                   "in %s as NAME.json",
                   where, name, config->feeds_dir);
}

/* A source becomes a part of keys, and control characters are refused there. */
static int check_source(const char *where, const char *source, const struct feed *feed, struct err *err)
{
    if (!source && feed_uses_source(feed))
        return err_set(err, ERR_CONFIG, "%s.source: the feed %s needs one", where, feed_name(feed));
    for (; source && *source; source++)
        if ((unsigned char)*source < 0x20 || *source == 0x7f)
            return err_set(err, ERR_CONFIG, "%s.source: a control character", where);
    return 0;
}

static int resolve_listener(const char *where, const struct config *config,
                            struct listener_draft *draft, struct listener_config *ret, struct err *err)
{
    int family = AF_UNSPEC;

    if (resolve_bind(where, draft, &family, err) < 0 ||
        resolve_mode(where, draft->mode, family, &ret->mode, err) < 0 ||
        resolve_ack(where, draft->ack, &ret->ack, err) < 0 ||
        resolve_feed(where, config, draft->feed, &ret->feed, err) < 0 ||
        check_source(where, draft->source, ret->feed, err) < 0)
        return err->code;
    ret->bind = draft->bind;
    ret->source = draft->source;
    draft->bind = draft->source = NULL;
    return 0;
}

/* Whether two valid addresses cannot be bound at once; port 0 is another one each time. */
static bool is_same_bind(const char *a, const char *b)
{
    char texts[2][ADDRESS_TEXT_MAX];
    struct address addresses[2];
    struct err ignored;

    if (address_parse(&addresses[0], a, &ignored) < 0 || address_parse(&addresses[1], b, &ignored) < 0)
        return false;
    for (int i = 0; i < 2; i++)
        address_format(&addresses[i], texts[i], sizeof texts[i]);
    if (addresses[0].sockaddr.ss_family != AF_UNIX && strcmp(strrchr(texts[0], ':'), ":0") == 0)
        return false;
    return strcmp(texts[0], texts[1]) == 0;
}

static int resolve_listeners(struct draft *draft, struct err *err)
{
    struct server_config *server = &draft->config.server;
    struct listener_config *listeners = mem_zalloc(draft->listeners.n, sizeof *listeners);

    server->listeners = listeners;
    server->listeners_n = draft->listeners.n;
    for (size_t i = 0; i < draft->listeners.n; i++) {
        char where[PATH_TEXT_MAX];

        snprintf(where, sizeof where, "listeners[%zu]", i);
        if (resolve_listener(where, &draft->config, &draft->listeners.at[i], &listeners[i], err) < 0)
            return err->code;
        for (size_t j = 0; j < i; j++)
            if (is_same_bind(listeners[i].bind, listeners[j].bind))
                return err_set(err, ERR_CONFIG, "%s.bind: %s is listeners[%zu]'s already", where,
                               listeners[i].bind, j);
    }
    return 0;
}

static int check_http(const char *where, const struct draft *draft, struct err *err)
{
    struct address address;

    if (address_parse(&address, draft->config.http_bind, err) < 0)
        return err_prefix(err, "%s", where);
    if (address.sockaddr.ss_family == AF_UNIX)
        return err_set(err, ERR_CONFIG, "%s: %s: not ADDR:PORT or [IPV6]:PORT", where,
                       draft->config.http_bind);
    if (!address_is_local(&address) && !draft->http_allow_remote)
        return err_set(err, ERR_CONFIG,
                       "%s: %s is not local: set \"http_allow_remote\": true in the configuration to "
                       "allow it; there is no authentication",
                       where, draft->config.http_bind);
    return 0;
}

static int check_http_is_apart(const char *where, const struct config *config, struct err *err)
{
    const struct server_config *server = &config->server;

    for (size_t i = 0; i < server->listeners_n; i++)
        if (is_same_bind(config->http_bind, server->listeners[i].bind))
            return err_set(err, ERR_CONFIG, "%s: %s is listeners[%zu]'s already", where,
                           config->http_bind, i);
    return 0;
}

/* The whole. */

/* Values that are in range each and too much together. */
static int check_together(const struct config *config, struct err *err)
{
    const struct server_config *server = &config->server;
    const struct store_config *store = &config->writer.store;
    uint64_t keys_bytes = server->max_trades_per_line * (uint64_t)server->max_key_bytes;
    uint64_t generations = (store->segment_rows + store->generation_keys - 1) / store->generation_keys;

    if (generations > GENERATIONS_MAX)
        return err_set(err, ERR_CONFIG,
                       "store.segment_rows / store.generation_keys: %llu generations in a segment are "
                       "more than %d",
                       (unsigned long long)generations, GENERATIONS_MAX);
    if (keys_bytes >= LINE_KEYS_BYTES_END)
        return err_set(
            err, ERR_CONFIG,
            "limits.max_trades_per_line x limits.max_key_bytes: %llu bytes of keys in a line "
            "are not below %llu",
            (unsigned long long)keys_bytes, (unsigned long long)LINE_KEYS_BYTES_END);
    return 0;
}

/* Only a configuration can say that others may reach a listener. */
static int check_listen(const char *bind, struct err *err)
{
    struct address address;

    if (address_parse(&address, bind, err) < 0)
        return err_prefix(err, "--listen");
    if (!address_is_local(&address))
        return err_set(err, ERR_CONFIG,
                       "--listen: %s is not local: only a listener of the configuration that says "
                       "\"allow_remote\": true may be remote; there is no authentication",
                       bind);
    return 0;
}

/* The command line replaces what the file, whole and in order by now, says. */
static int apply_arguments(struct draft *draft, const struct arguments *arguments, struct err *err)
{
    struct config *config = &draft->config;

    if (arguments->listen) {
        done_server(&config->server);
        set_listeners(&draft->listeners, 1);
        set_text(&draft->listeners.at[0].bind, arguments->listen);
        if (check_listen(arguments->listen, err) < 0 || resolve_listeners(draft, err) < 0)
            return err->code;
    }
    if (arguments->http) {
        set_text(&config->http_bind, arguments->http);
        if (check_http("--http", draft, err) < 0)
            return err->code;
    }
    if (arguments->endpoints_file)
        set_text(&config->endpoints_file, arguments->endpoints_file);
    return check_http_is_apart(arguments->http ? "--http" : "http", config, err);
}

/* systemd's STATE_DIRECTORY is a list, of which the first is ours. */
static char *state_directory(void)
{
    const char *list = getenv("STATE_DIRECTORY");
    size_t len = list ? strcspn(list, ":") : 0;

    if (!len)
        return mem_strdup(DEFAULT_DATA_DIR);
    struct text text = {0};

    text_add(&text, list, len);
    text_terminate(&text);
    return text.at;
}

static char *choose_data_dir(const struct draft *draft, const struct arguments *arguments)
{
    if (arguments->data_dir)
        return mem_strdup(arguments->data_dir);
    if (draft->file && draft->config.data_dir)
        return beside_file(draft->file, draft->config.data_dir);
    return state_directory();
}

static void link_parts(struct draft *draft)
{
    struct config *config = &draft->config;

    config->writer.store.data_dir = config->data_dir;
    config->http_hosts = draft->hosts.at;
    config->http = (struct http_config){.bind = config->http_bind,
                                        .hosts = config->http_hosts,
                                        .hosts_n = draft->hosts.n,
                                        .data_dir = config->data_dir};
    draft->hosts = (struct texts){0};
}

static int build(struct draft *draft, const struct arguments *arguments, struct err *err)
{
    char *data_dir;

    if (arguments->config)
        draft->file = arguments->config;
    else if (access(ARGUMENTS_DEFAULT_FILE, F_OK) == 0)
        draft->file = ARGUMENTS_DEFAULT_FILE;
    set_defaults(keys, sizeof keys / sizeof *keys, draft);
    if (draft->file && (apply_file(draft, err) < 0 || check_together(&draft->config, err) < 0))
        return in_file(draft, err);
    if (load_feeds(draft, err) < 0)
        return err->code;
    if (resolve_listeners(draft, err) < 0 || check_http("http", draft, err) < 0 ||
        check_http_is_apart("http", &draft->config, err) < 0)
        return in_file(draft, err);
    if (apply_arguments(draft, arguments, err) < 0)
        return err->code;
    data_dir = choose_data_dir(draft, arguments);
    free(draft->config.data_dir);
    draft->config.data_dir = data_dir;
    link_parts(draft);
    return 0;
}

void config_done(struct config *config)
{
    done_server(&config->server);
    for (size_t i = 0; i < config->feeds_n; i++)
        feed_close(config->feeds[i]);
    free(config->feeds);
    for (size_t i = 0; i < config->http.hosts_n; i++)
        free(config->http_hosts[i]);
    free(config->http_hosts);
    free(config->data_dir);
    free(config->endpoints_file);
    free(config->feeds_dir);
    free(config->http_bind);
    *config = (struct config){0};
}
