#include "tool/fetch.h"

#include <curl/curl.h>
#include <string.h>

#include "base/address.h"
#include "tool/options.h"

enum { DETAIL_MAX = 200 }; /* bytes of a refusal's body that are shown */

static int check_address(const char *text, struct err *err)
{
    struct address address;

    if (address_parse(&address, text, err) == 0 && address.sockaddr.ss_family != AF_UNIX)
        return 0;
    if (strncmp(text, "unix:", 5) == 0)
        err_set(err, ERR_USAGE, "%s: HTTP is spoken on ADDR:PORT or [IPV6]:PORT", text);
    return option_refuse("from", err);
}

static size_t on_bytes(char *bytes, size_t size, size_t n, void *arg)
{
    struct text *body = arg;

    if (body->len + size * n > FETCH_BYTES_MAX)
        return 0;
    text_add(body, bytes, size * n);
    return size * n;
}

/* No proxy and no redirect: the address is the daemon's own. */
static CURLcode perform(CURL *curl, const char *url, long timeout_ms, struct text *body,
                        long *ret_status)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    CURLcode code = curl_easy_perform(curl);

    if (code == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, ret_status);
    return code;
}

int fetch_get(struct text *body, const char *address, const char *path, long timeout_ms,
              struct err *err)
{
    struct text url = {0};
    size_t begin = body->len;
    long status = 0;

    if (check_address(address, err) < 0)
        return err->code;
    CURL *curl = curl_easy_init();

    if (!curl)
        return err_set(err, ERR_SYSTEM, "libcurl does not start");
    text_add_format(&url, "http://%s%s", address, path);
    CURLcode code = perform(curl, text_terminate(&url), timeout_ms, body, &status);

    curl_easy_cleanup(curl);
    text_done(&url);
    if (code != CURLE_OK)
        return err_set(err, ERR_SYSTEM, "%s: %s", address, curl_easy_strerror(code));
    if (status != 200) {
        size_t len = body->len - begin < DETAIL_MAX ? body->len - begin : DETAIL_MAX;

        return err_set(err, ERR_SYSTEM, "%s answered with status %ld: %.*s", address, status, (int)len,
                       len ? body->at + begin : "");
    }
    return 0;
}

void fetch_add_query(struct text *out, const char *path, const char *key)
{
    char *escaped = curl_easy_escape(NULL, key, (int)strlen(key));

    text_add_format(out, "%s?key=%s", path, escaped ? escaped : "");
    curl_free(escaped);
}
