/* Each venue's profile on messages of its shape: trades, and what comes on the same connection
 * without being one: ignored, never invalid. */
#include <stdio.h>
#include <string.h>

#include "judging.h"
#include "suite.h"

static const struct {
    const char *profile, *line, *outcome;
} cases[] = {
    {"binance-spot", "{\"result\":null,\"id\":1}", "ignored"},
    {"binance-spot",
     "{\"stream\":\"btcusdt@trade\",\"data\":{\"e\":\"trade\",\"E\":1,\"s\":\"BTCUSDT\",\"t\":12345,"
     "\"p\":\"0.001\",\"q\":\"100\",\"T\":2,\"m\":true,\"M\":true}}",
     "ask BINANCE/BTCUSDT/12345"},
    {"binance-spot", "{\"e\":\"trade\",\"E\":1,\"s\":\"BTCUSDT\",\"t\":12345}",
     "ask BINANCE/BTCUSDT/12345"},
    {"binance-spot", "{\"e\":\"aggTrade\",\"E\":1,\"s\":\"BTCUSDT\",\"a\":5}", "ignored"},
    {"binance-spot", "{\"u\":400900217,\"s\":\"BNBUSDT\",\"b\":\"25.3\",\"B\":\"31.2\"}", "ignored"},
    {"binance-spot",
     "{\"stream\":\"x@depth\",\"data\":{\"lastUpdateId\":160,\"bids\":[[\"1\",\"2\"]]}}", "ignored"},
    {"binance-spot", "{\"error\":{\"code\":2,\"msg\":\"Invalid request\"},\"id\":1}", "ignored"},
    {"binance-usdm",
     "{\"e\":\"trade\",\"E\":9,\"T\":8,\"s\":\"BTCUSDT\",\"t\":7,\"p\":\"1\",\"q\":\"2\"}",
     "ask BINANCE-USDM/BTCUSDT/7"},
    {"binance-coinm", "{\"e\":\"trade\",\"E\":9,\"T\":8,\"s\":\"BTCUSD_PERP\",\"t\":7}",
     "ask BINANCE-COINM/BTCUSD_PERP/7"},
    {"binance-aggtrade",
     "{\"e\":\"aggTrade\",\"s\":\"BTCUSDT\",\"a\":26129,\"f\":100,\"l\":105,\"T\":1}",
     "ask BINANCE-AGG/SRC/BTCUSDT/26129"},
    {"binance-aggtrade", "{\"e\":\"trade\",\"s\":\"BTCUSDT\",\"t\":26129}", "ignored"},

    {"coinbase-exchange",
     "{\"type\":\"match\",\"trade_id\":10,\"sequence\":50,\"time\":\"2014-11-07T08:19:27.028459Z\","
     "\"product_id\":\"BTC-USD\",\"size\":\"5.23512\",\"price\":\"400.23\",\"side\":\"sell\"}",
     "ask COINBASE-EXCHANGE/BTC-USD/10"},
    {"coinbase-exchange", "{\"type\":\"last_match\",\"trade_id\":10,\"product_id\":\"BTC-USD\"}",
     "ask COINBASE-EXCHANGE/BTC-USD/10"},
    {"coinbase-exchange", "{\"type\":\"ticker\",\"trade_id\":10,\"product_id\":\"BTC-USD\"}",
     "ignored"},
    {"coinbase-exchange", "{\"type\":\"heartbeat\",\"last_trade_id\":20,\"product_id\":\"BTC-USD\"}",
     "ignored"},
    {"coinbase-exchange", "{\"type\":\"subscriptions\",\"channels\":[]}", "ignored"},
    {"coinbase-advanced",
     "{\"channel\":\"market_trades\",\"sequence_num\":0,\"events\":[{\"type\":\"snapshot\",\"trades\":["
     "{\"trade_id\":\"000000002\",\"product_id\":\"ETH-USD\",\"price\":\"1260.01\",\"size\":\"0.3\"},"
     "{\"trade_id\":\"000000001\",\"product_id\":\"ETH-USD\",\"price\":\"1260.01\",\"size\":\"0.3\"}]},"
     "{\"type\":\"update\",\"trades\":[]}]}",
     "[ask COINBASE/ETH-USD/000000002, ask COINBASE/ETH-USD/000000001]"},
    {"coinbase-advanced", "{\"channel\":\"heartbeats\",\"events\":[{\"heartbeat_counter\":\"3049\"}]}",
     "ignored"},
    {"coinbase-advanced", "{\"channel\":\"subscriptions\",\"events\":[{\"subscriptions\":{}}]}",
     "ignored"},

    {"kraken",
     "{\"channel\":\"trade\",\"type\":\"snapshot\",\"data\":[{\"symbol\":\"MATIC/"
     "USD\",\"side\":\"buy\","
     "\"price\":0.5147,\"qty\":6423.46326,\"ord_type\":\"limit\",\"trade_id\":4665846,"
     "\"timestamp\":\"2023-09-25T07:48:36.925533Z\"}]}",
     "[ask KRAKEN/MATIC%2FUSD/4665846]"},
    {"kraken", "{\"channel\":\"heartbeat\"}", "ignored"},
    {"kraken", "{\"channel\":\"status\",\"type\":\"update\",\"data\":[{\"system\":\"online\"}]}",
     "ignored"},
    {"kraken", "{\"method\":\"subscribe\",\"result\":{\"channel\":\"trade\"},\"success\":true}",
     "ignored"},
    {"kraken-futures",
     "{\"feed\":\"trade\",\"product_id\":\"PI_XBTUSD\",\"uid\":\"05af78ac-a774-478c-a50c-"
     "8b9c234e071e\","
     "\"side\":\"sell\",\"type\":\"fill\",\"seq\":653355,\"time\":1612266317519,\"qty\":15000,"
     "\"price\":34969.5}",
     "[ask KRAKEN-FUTURES/05af78ac-a774-478c-a50c-8b9c234e071e]"},
    {"kraken-futures",
     "{\"feed\":\"trade_snapshot\",\"product_id\":\"PI_XBTUSD\",\"trades\":[{\"feed\":\"trade\","
     "\"uid\":\"a\"},"
     "{\"feed\":\"trade\",\"uid\":\"b\"}]}",
     "[ask KRAKEN-FUTURES/a, ask KRAKEN-FUTURES/b]"},
    {"kraken-futures", "{\"event\":\"subscribed\",\"feed\":\"trade\",\"product_ids\":[\"PI_XBTUSD\"]}",
     "ignored"},
    {"kraken-futures", "{\"feed\":\"heartbeat\",\"time\":1534262350627}", "ignored"},

    {"bitfinex", "[17470,\"te\",[401597393,1574694475039,0.005,7244.9]]", "[ask BITFINEX/401597393]"},
    {"bitfinex", "[17470,\"tu\",[401597393,1574694475039,-0.005,7245],13]", "[ask BITFINEX/401597393]"},
    {"bitfinex", "[17470,[[401597395,1574694478808,0.005,7245.3],[401597394,1574694478807,-1,7245]]]",
     "[ask BITFINEX/401597395, ask BITFINEX/401597394]"},
    {"bitfinex", "[17470,[[401597395,1574694478808,0.005,7245.3]],13,1574694478999]",
     "[ask BITFINEX/401597395]"},
    {"bitfinex", "[17470,[]]", "ignored"},
    {"bitfinex", "[17470,\"hb\"]", "ignored"},
    {"bitfinex", "[17470,\"hb\",14]", "ignored"},
    {"bitfinex", "[17470,\"cs\",-1904876120]", "ignored"},
    {"bitfinex", "[17470,\"fte\",[636854,1575282755000,59.84,0.00023647,2]]", "ignored"},
    {"bitfinex", "[17470,[[7254.7,3,3.3],[7254.5,1,-2.1]]]", "ignored"},
    {"bitfinex", "[17470,[7254.5,0,1]]", "ignored"},
    {"bitfinex", "[17470,[[34006738527,8744.9,0.25603413]]]", "ignored"},
    {"bitfinex", "[17470,[[0.0003301,30,1,-3862.874],[0.00027999,16,2,2000]]]", "ignored"},
    {"bitfinex", "[17470,[[645902785,120,0.0003301,-3862.874]]]", "ignored"},
    {"bitfinex", "[17470,[[1574698260000,7379.785,7383.8,7388.3,7379.785,1.68829482]]]", "ignored"},
    {"bitfinex", "[17470,[1574698200000,7399.9,7379.7,7399.9,7371.8,41.63633658]]", "ignored"},
    {"bitfinex", "[17470,[7616.5,31.89,7617.5,43.3,-550.8,-0.0674,7617.1,8314.71,8257.8,7500]]",
     "ignored"},
    {"bitfinex", "{\"event\":\"subscribed\",\"channel\":\"trades\",\"chanId\":19111}", "ignored"},
    {"bitfinex", "{\"event\":\"info\",\"version\":2,\"platform\":{\"status\":1}}", "ignored"},

    {"bybit",
     "{\"topic\":\"publicTrade.BTCUSDT\",\"type\":\"snapshot\",\"ts\":1672304486868,\"data\":[{\"T\":"
     "1672304486865,"
     "\"s\":\"BTCUSDT\",\"S\":\"Buy\",\"v\":\"0.001\",\"p\":\"16578.50\",\"L\":\"PlusTick\","
     "\"i\":\"20f43950-d8dd-5b31-9112-a178eb6023af\",\"BT\":false,\"seq\":1783284617}]}",
     "[ask BYBIT/20f43950-d8dd-5b31-9112-a178eb6023af]"},
    {"bybit", "{\"success\":true,\"ret_msg\":\"\",\"conn_id\":\"x\",\"op\":\"subscribe\"}", "ignored"},
    {"bybit", "{\"topic\":\"orderbook.50.BTCUSDT\",\"data\":{\"s\":\"BTCUSDT\",\"b\":[]}}", "ignored"},
    {"okx",
     "{\"arg\":{\"channel\":\"trades\",\"instId\":\"BTC-USDT\"},\"data\":[{\"instId\":\"BTC-USDT\","
     "\"tradeId\":\"130639474\",\"px\":\"42219.9\",\"sz\":\"0.12060306\",\"side\":\"buy\",\"ts\":"
     "\"163\"}]}",
     "[ask OKX/BTC-USDT/130639474]"},
    {"okx", "{\"event\":\"subscribe\",\"arg\":{\"channel\":\"trades\",\"instId\":\"BTC-USDT\"}}",
     "ignored"},
    {"okx", "{\"arg\":{\"channel\":\"tickers\",\"instId\":\"BTC-USDT\"},\"data\":[{}]}", "ignored"},
    {"bitstamp",
     "{\"data\":{\"id\":216000477,\"timestamp\":\"1641343699\",\"amount\":0.0792,\"price\":3805.44,"
     "\"type\":0},"
     "\"channel\":\"live_trades_ethusd\",\"event\":\"trade\"}",
     "ask BITSTAMP/216000477"},
    {"bitstamp",
     "{\"event\":\"bts:subscription_succeeded\",\"channel\":\"live_trades_ethusd\",\"data\":{}}",
     "ignored"},
    {"bitstamp", "{\"event\":\"bts:heartbeat\",\"channel\":\"\",\"data\":{\"status\":\"success\"}}",
     "ignored"},
    {"deribit",
     "{\"jsonrpc\":\"2.0\",\"method\":\"subscription\",\"params\":{\"channel\":\"trades.BTC-PERPETUAL."
     "raw\","
     "\"data\":[{\"trade_seq\":30289442,\"trade_id\":\"48079269\",\"timestamp\":1590484512188,"
     "\"price\":8950,"
     "\"instrument_name\":\"BTC-PERPETUAL\",\"direction\":\"sell\",\"amount\":10}]}}",
     "[ask DERIBIT/BTC-PERPETUAL/48079269]"},
    {"deribit", "{\"jsonrpc\":\"2.0\",\"id\":3600,\"result\":[\"trades.BTC-PERPETUAL.raw\"]}",
     "ignored"},
    {"deribit", "{\"jsonrpc\":\"2.0\",\"method\":\"heartbeat\",\"params\":{\"type\":\"test_request\"}}",
     "ignored"},
    {"deribit",
     "{\"method\":\"subscription\",\"params\":{\"channel\":\"ticker.BTC-PERPETUAL.raw\",\"data\":{}}}",
     "ignored"},

    {"dydx",
     "{\"type\":\"channel_data\",\"id\":\"BTC-USD\",\"channel\":\"v4_trades\",\"contents\":{\"trades\":"
     "[{\"id\":"
     "\"014206a20000000200000002\",\"size\":\"0.0001\",\"price\":\"43000\",\"side\":\"SELL\"}]}}",
     "[ask DYDX/014206a20000000200000002]"},
    {"dydx",
     "{\"type\":\"channel_batch_data\",\"channel\":\"v4_trades\",\"contents\":[{\"trades\":[{\"id\":"
     "\"a\"}]},"
     "{\"trades\":[{\"id\":\"b\"}]}]}",
     "[ask DYDX/a, ask DYDX/b]"},
    {"dydx", "{\"type\":\"connected\",\"connection_id\":\"x\",\"message_id\":0}", "ignored"},
    {"dydx", "{\"type\":\"unsubscribed\",\"channel\":\"v4_trades\",\"id\":\"BTC-USD\"}", "ignored"},
    {"hyperliquid",
     "{\"channel\":\"trades\",\"data\":[{\"coin\":\"AVAX\",\"side\":\"B\",\"px\":\"18.435\",\"sz\":"
     "\"93.53\","
     "\"hash\":\"0x0\",\"time\":1681924500000,\"tid\":118906512037719}]}",
     "[ask HYPERLIQUID/AVAX/1681924500000/118906512037719]"},
    {"hyperliquid", "{\"channel\":\"subscriptionResponse\",\"data\":{\"method\":\"subscribe\"}}",
     "ignored"},
    {"hyperliquid", "{\"channel\":\"pong\"}", "ignored"},
    {"gateio",
     "{\"time\":1606292218,\"channel\":\"spot.trades\",\"event\":\"update\",\"result\":{\"id\":"
     "309143071,"
     "\"create_time\":1606292218,\"side\":\"sell\",\"currency_pair\":\"GT_USDT\",\"amount\":\"16.47\"}"
     "}",
     "ask GATEIO/GT_USDT/309143071"},
    {"gateio",
     "{\"time\":1,\"channel\":\"spot.trades\",\"event\":\"subscribe\",\"result\":{\"status\":"
     "\"success\"}}",
     "ignored"},
    {"kucoin",
     "{\"type\":\"message\",\"topic\":\"/market/"
     "match:BTC-USDT\",\"subject\":\"trade.l3match\",\"data\":{"
     "\"symbol\":\"BTC-USDT\",\"tradeId\":\"5c35c02709e4f67d5266954e\",\"type\":\"match\"}}",
     "ask KUCOIN/5c35c02709e4f67d5266954e"},
    {"kucoin", "{\"id\":\"1545910590801\",\"type\":\"pong\"}", "ignored"},
    {"kucoin", "{\"id\":\"hQvf8jkno\",\"type\":\"welcome\"}", "ignored"},

    {"huobi",
     "{\"ch\":\"market.trioeth.trade.detail\",\"ts\":1,\"tick\":{\"id\":100182534526,\"ts\":1,\"data\":"
     "[{"
     "\"id\":100182534526255757567432481,\"ts\":1618678027940,\"tradeId\":100045088885,\"amount\":"
     "20995.88,"
     "\"price\":9.2E-7,\"direction\":\"buy\"}]}}",
     "[ask HUOBI/market.trioeth.trade.detail/100045088885]"},
    {"huobi", "{\"id\":\"id1\",\"status\":\"ok\",\"subbed\":\"market.btcusdt.trade.detail\",\"ts\":1}",
     "ignored"},
    {"huobi", "{\"ping\":1492420473027}", "ignored"},
    {"huobi", "{\"ch\":\"market.btcusdt.depth.step0\",\"tick\":{\"data\":[{\"tradeId\":1}]}}",
     "ignored"},
    {"huobi",
     "{\"ch\":\"market.ATOM-USD.trade.detail\",\"tick\":{\"data\":[{\"id\":743774717120000}]}}",
     "[ignored]"},
    {"huobi-swap",
     "{\"ch\":\"market.ATOM-USD.trade.detail\",\"tick\":{\"data\":[{\"id\":743774717120000}]}}",
     "[ask HUOBI-SWAP/market.ATOM-USD.trade.detail/743774717120000]"},
    {"huobi-swap",
     "{\"ch\":\"market.trioeth.trade.detail\",\"tick\":{\"data\":[{\"id\":1,\"tradeId\":2}]}}",
     "[ignored]"},
    {"ascendex",
     "{\"m\":\"trades\",\"symbol\":\"NEO/"
     "USDT\",\"data\":[{\"p\":\"94.595\",\"q\":\"1.04\",\"ts\":1618677625691,"
     "\"bm\":true,\"seqnum\":36028838561668184}]}",
     "[ask ASCENDEX/NEO%2FUSDT/36028838561668184]"},
    {"ascendex", "{\"m\":\"ping\",\"hp\":3}", "ignored"},
    {"ascendex", "{\"m\":\"sub\",\"id\":\"abc123\",\"ch\":\"trades:BTC/USDT\",\"code\":0}", "ignored"},
    {"upbit", "{\"type\":\"trade\",\"code\":\"KRW-BTC\",\"trade_price\":489700,\"sequential_id\":1525}",
     "ask UPBIT/KRW-BTC/1525"},
    {"upbit", "{\"ty\":\"trade\",\"cd\":\"KRW-LAMB\",\"tp\":127.0,\"sid\":1618678262000003}",
     "ask UPBIT/KRW-LAMB/1618678262000003"},
    {"upbit", "{\"ty\":\"ticker\",\"cd\":\"KRW-LAMB\",\"tp\":127.0}", "ignored"},
    {"upbit", "{\"status\":\"UP\"}", "ignored"},
    {"bitmex",
     "{\"table\":\"trade\",\"action\":\"insert\",\"data\":[{\"timestamp\":\"2021-07-22T22:36:10.014Z\","
     "\"symbol\":\".BXBT\",\"side\":\"Buy\",\"size\":0,\"price\":17.297,"
     "\"trdMatchID\":\"00000000-0000-0000-0000-000000000000\"}]}",
     "[ask BITMEX/.BXBT/2021-07-22T22:36:10.014Z/00000000-0000-0000-0000-000000000000]"},
    {"bitmex", "{\"info\":\"Welcome to the BitMEX Realtime API.\",\"version\":\"1\"}", "ignored"},
    {"bitmex", "{\"success\":true,\"subscribe\":\"trade:XBTUSD\",\"request\":{\"op\":\"subscribe\"}}",
     "ignored"},
    {"gemini",
     "{\"type\":\"trade\",\"symbol\":\"BTCUSD\",\"event_id\":169841458,\"price\":\"8645.90\"}",
     "ask GEMINI/BTCUSD/169841458"},
    {"gemini", "{\"type\":\"heartbeat\",\"timestamp\":1547742998508}", "ignored"},
    {"gemini", "{\"type\":\"l2_updates\",\"symbol\":\"BTCUSD\",\"changes\":[],\"trades\":[]}",
     "ignored"},
    {"hitbtc",
     "{\"jsonrpc\":\"2.0\",\"method\":\"updateTrades\",\"params\":{\"data\":[{\"id\":1307176266,"
     "\"price\":\"1\","
     "\"quantity\":\"1.57\",\"side\":\"sell\",\"timestamp\":\"2021-07-03T00:56:18.293Z\"}],\"symbol\":"
     "\"EOSBTC\"}}",
     "[ask HITBTC/EOSBTC/1307176266]"},
    {"hitbtc", "{\"jsonrpc\":\"2.0\",\"result\":true,\"id\":123}", "ignored"},
    {"hitbtc", "{\"method\":\"ticker\",\"params\":{\"data\":[{\"id\":1}],\"symbol\":\"EOSBTC\"}}",
     "ignored"},

    {"polygon-stocks",
     "[{\"ev\":\"T\",\"sym\":\"MSFT\",\"x\":11,\"i\":\"0012345\",\"z\":3,\"p\":114.125,\"s\":100,"
     "\"t\":1536036818784},{\"ev\":\"T\",\"sym\":\"MSFT\",\"x\":12,\"i\":\"0012345\",\"trfi\":202,"
     "\"t\":1536036818784},{\"ev\":\"Q\",\"sym\":\"MSFT\"}]",
     "[ask POLYGON/2018-09-03/MSFT/11//0012345, ask POLYGON/2018-09-03/MSFT/12/202/0012345, ignored]"},
    {"polygon-stocks", "[{\"ev\":\"status\",\"status\":\"connected\",\"message\":\"ok\"}]",
     "[ignored]"},
    {"alpaca-stocks",
     "[{\"T\":\"t\",\"i\":96921,\"S\":\"AAPL\",\"x\":\"D\",\"p\":126.55,\"s\":1,\"c\":[\"@\"],\"z\":"
     "\"C\","
     "\"t\":\"2021-02-23T01:51:44.208Z\"},{\"T\":\"x\",\"S\":\"AAPL\",\"i\":96921},"
     "{\"T\":\"c\",\"S\":\"AAPL\",\"oi\":96921},{\"T\":\"q\",\"S\":\"AAPL\"}]",
     "[ask ALPACA/2021-02-22/AAPL/D/C/96921, ignored, ignored, ignored]"},
    {"alpaca-stocks", "[{\"T\":\"success\",\"msg\":\"connected\"}]", "[ignored]"},
    {"alpaca-stocks", "[{\"T\":\"subscription\",\"trades\":[\"AAPL\"]}]", "[ignored]"},
    {"tardis",
     "{\"type\":\"trade\",\"symbol\":\"XBTUSD\",\"exchange\":\"bitmex\",\"id\":\"282a0445\",\"price\":"
     "7996,"
     "\"amount\":50,\"side\":\"sell\",\"timestamp\":\"x\",\"localTimestamp\":\"y\"}",
     "ask TARDIS/bitmex/XBTUSD/282a0445"},
    {"tardis", "{\"type\":\"trade\",\"symbol\":\"XBTUSD\",\"exchange\":\"x\",\"price\":7996}",
     "invalid id_missing"},
    {"tardis", "{\"type\":\"book_change\",\"symbol\":\"XBTUSD\",\"exchange\":\"bitmex\"}", "ignored"},
    {"tardis", "{\"type\":\"disconnect\",\"exchange\":\"bitmex\"}", "ignored"},
    {"ccxt",
     "{\"info\":{\"tid\":1},\"id\":\"12345-67890:09876/"
     "54321\",\"timestamp\":1502962946216,\"symbol\":\"ETH/BTC\","
     "\"side\":\"buy\",\"price\":0.06917684,\"amount\":1.5}",
     "ask SRC/ETH%2FBTC/12345-67890:09876%2F54321"},
    {"ccxt", "{\"info\":{},\"id\":null,\"symbol\":\"ETH/BTC\",\"price\":1,\"amount\":1}",
     "invalid id_missing"},
    {"ccxt", "{\"info\":{},\"symbol\":\"ETH/BTC\",\"bid\":1,\"ask\":2}", "ignored"},
};

START_TEST(a_venues_trades_get_their_keys_and_the_rest_is_ignored)
{
    struct judging judging;
    char file[128];

    snprintf(file, sizeof file, "config/feeds/%s.json", cases[_i].profile);
    judging_load(&judging, file);
    const char *outcome = judging_str(&judging, cases[_i].line);

    ck_assert_msg(!strcmp(outcome, cases[_i].outcome), "%s\n%s\n%s, not %s", cases[_i].profile,
                  cases[_i].line, outcome, cases[_i].outcome);
    judging_done(&judging);
}
END_TEST

static const char binance_trade[] =
    "{\"e\":\"trade\",\"E\":%d,\"s\":\"B\",\"t\":1,\"p\":\"%s\",\"T\":5}";

START_TEST(an_event_time_is_no_content_and_a_price_is)
{
    struct judging judging;
    char line[128];

    judging_load(&judging, "config/feeds/binance-spot.json");
    snprintf(line, sizeof line, binance_trade, 1, "1.5");
    judging_str(&judging, line);
    uint64_t print = judging_trade(&judging)->fingerprint;

    snprintf(line, sizeof line, binance_trade, 2, "1.50");
    judging_str(&judging, line);
    ck_assert_uint_eq(judging_trade(&judging)->fingerprint, print);
    snprintf(line, sizeof line, binance_trade, 1, "1.6");
    judging_str(&judging, line);
    ck_assert_uint_ne(judging_trade(&judging)->fingerprint, print);
    judging_done(&judging);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("venues");
    TCase *tcase = tcase_create("venues");

    tcase_add_loop_test(tcase, a_venues_trades_get_their_keys_and_the_rest_is_ignored, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, an_event_time_is_no_content_and_a_price_is);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
