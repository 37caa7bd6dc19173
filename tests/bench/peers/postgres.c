/* postgres: batches through INSERT ... SELECT unnest ... ON CONFLICT DO NOTHING, one transaction each.
 *
 *   postgres CONNINFO FILE BATCH
 *
 * The arrays go in PostgreSQL's binary form, which is the cheapest to read. */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "input.h"
#include "measure.h"

enum { TEXT_OID = 25, TEXT_ARRAY_OID = 1009, BINARY = 1 };

static const char insert[] =
    "INSERT INTO trade (key, message)"
    " SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT (key) DO NOTHING";

static void add_u32(struct text *out, uint32_t n)
{
    uint32_t wire = htonl(n);

    text_add(out, &wire, sizeof wire);
}

/* One dimension of n texts, none of them null, counted from 1. */
static void begin_array(struct text *out, uint64_t n)
{
    const uint32_t header[] = {1, 0, TEXT_OID, (uint32_t)n, 1};

    out->len = 0;
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        add_u32(out, header[i]);
}

static void add_element(struct text *out, const char *bytes, size_t len)
{
    add_u32(out, (uint32_t)len);
    text_add(out, bytes, len);
}

static void must(PGconn *connection, PGresult *result, ExecStatusType expected)
{
    measure_must(PQresultStatus(result) == expected, "%s", PQerrorMessage(connection));
}

static void execute(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);

    must(connection, result, PGRES_COMMAND_OK);
    PQclear(result);
}

static uint64_t insert_batch(PGconn *connection, const struct text *keys, const struct text *messages)
{
    const char *values[] = {keys->at, messages->at};
    const int lengths[] = {(int)keys->len, (int)messages->len}, formats[] = {BINARY, BINARY};
    PGresult *result = PQexecPrepared(connection, "insert", 2, values, lengths, formats, BINARY);

    must(connection, result, PGRES_COMMAND_OK);
    uint64_t inserted = strtoull(PQcmdTuples(result), NULL, 10);

    PQclear(result);
    return inserted;
}

static uint64_t run(PGconn *connection, const struct input *input, uint64_t batch)
{
    struct text keys = {0}, messages = {0};
    uint64_t fresh = 0;

    for (uint64_t first = 0; first < input->n; first += batch) {
        uint64_t end = first + batch < input->n ? first + batch : input->n;

        begin_array(&keys, end - first);
        begin_array(&messages, end - first);
        for (uint64_t i = first; i < end; i++) {
            char key[MESSAGE_KEY_BYTES];

            message_key_of(key, input_line(input, i));
            add_element(&keys, key, sizeof key);
            add_element(&messages, input_line(input, i), MESSAGE_BYTES);
        }
        fresh += insert_batch(connection, &keys, &messages);
    }
    text_done(&keys);
    text_done(&messages);
    return fresh;
}

int main(int argc, char **argv)
{
    const Oid types[] = {TEXT_ARRAY_OID, TEXT_ARRAY_OID};
    struct input input;

    measure_must(argc == 4, "usage: postgres CONNINFO FILE BATCH");
    uint64_t batch = measure_number(argv[3]);

    measure_must(batch > 0, "BATCH is at least 1");
    input_read(&input, argv[2]);
    PGconn *connection = PQconnectdb(argv[1]);

    measure_must(PQstatus(connection) == CONNECTION_OK, "%s", PQerrorMessage(connection));
    execute(connection, "SET client_min_messages = warning");
    execute(connection, "CREATE TABLE IF NOT EXISTS trade"
                        " (id bigserial, key text NOT NULL UNIQUE, message text NOT NULL)");
    PGresult *prepared = PQprepare(connection, "insert", insert, 2, types);

    must(connection, prepared, PGRES_COMMAND_OK);
    PQclear(prepared);
    int64_t began_us = clock_mono_us();
    uint64_t fresh = run(connection, &input, batch);

    input_report(&input, fresh, began_us);
    PQfinish(connection);
    input_done(&input);
    return 0;
}
