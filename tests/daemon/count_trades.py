#!/usr/bin/env python3
"""Counts the trades of each venue in a capture, independently of the profiles.

    count_trades.py FILE

One line a feed: its name, the lines that hold trades, the trades, the distinct keys. Every rule is
written out by hand from the venues' own descriptions; nothing of the project is used or read.
Numbers stay the text that they are, and a member that stands twice is an error.
"""
import json
import sys


def no_twins(pairs):
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError(f"a member stands twice: {names}")
    return dict(pairs)


class Number(str):
    """A JSON number as it stands."""


def read(line):
    return json.loads(line, parse_int=Number, parse_float=Number, object_pairs_hook=no_twins)


def is_object(value, *names):
    return isinstance(value, dict) and all(name in value for name in names)


def binance(event, number):
    def rule(m):
        m = m["data"] if is_object(m, "data") else m
        return [(m["s"], m[number])] if is_object(m, "e") and m["e"] == event else []
    return rule


def coinbase_exchange(m):
    if is_object(m, "type") and m["type"] in ("match", "last_match"):
        return [(m["product_id"], m["trade_id"])]
    return []


def coinbase_advanced(m):
    if not is_object(m, "channel", "events") or m["channel"] != "market_trades":
        return []
    return [(t["product_id"], t["trade_id"]) for e in m["events"] for t in e.get("trades", [])]


def kraken(m):
    if is_object(m, "channel", "type", "data") and m["channel"] == "trade":
        return [(t["symbol"], t["trade_id"]) for t in m["data"]]
    return []


def kraken_futures(m):
    if not is_object(m, "feed") or "event" in m:
        return []
    if m["feed"] == "trade_snapshot":
        return [t["uid"] for t in m["trades"]]
    return [m["uid"]] if m["feed"] == "trade" else []


def bitfinex(m):
    def is_trade(row):
        # [id, milliseconds, amount, price]: of what else has four numbers, nothing has a time
        return isinstance(row, list) and len(row) == 4 and isinstance(row[1], Number) \
            and row[1].isdigit() and 1_300_000_000_000 < int(row[1]) < 2_000_000_000_000
    if not isinstance(m, list) or len(m) < 2:
        return []
    if m[1] in ("te", "tu"):
        return [m[2][0]]
    if isinstance(m[1], list):
        return [row[0] for row in m[1] if is_trade(row)]
    return []


def bybit(m):
    if is_object(m, "topic") and m["topic"].startswith("publicTrade."):
        return [t["i"] for t in m["data"]]
    return []


def okx(m):
    if is_object(m, "arg", "data") and m["arg"].get("channel") == "trades":
        return [(t["instId"], t["tradeId"]) for t in m["data"]]
    return []


def bitstamp(m):
    return [m["data"]["id"]] if is_object(m, "event", "data") and m["event"] == "trade" else []


def deribit(m):
    if is_object(m, "method") and m["method"] == "subscription" \
            and m["params"]["channel"].startswith("trades."):
        return [(t["instrument_name"], t["trade_id"]) for t in m["params"]["data"]]
    return []


def dydx(m):
    if is_object(m, "channel", "contents") and m["channel"] == "v4_trades":
        contents = m["contents"] if isinstance(m["contents"], list) else [m["contents"]]
        return [t["id"] for c in contents for t in c["trades"]]
    return []


def hyperliquid(m):
    if is_object(m, "channel", "data") and m["channel"] == "trades":
        return [(t["coin"], t["time"], t["tid"]) for t in m["data"] if "coin" in t]
    return []


def gateio(m):
    if is_object(m, "channel", "event") and (m["channel"], m["event"]) == ("spot.trades", "update"):
        return [(m["result"]["currency_pair"], m["result"]["id"])]
    return []


def kucoin(m):
    if is_object(m, "subject") and m["subject"] == "trade.l3match":
        return [m["data"]["tradeId"]]
    return []


def huobi(m, number, spot):
    if not is_object(m, "ch", "tick") or not m["ch"].startswith("market.") \
            or not m["ch"].endswith(".trade.detail"):
        return []
    return [(m["ch"], t[number]) for t in m["tick"]["data"] if ("tradeId" in t) == spot]


def ascendex(m):
    if is_object(m, "m", "data") and m["m"] == "trades":
        return [(m["symbol"], t["seqnum"]) for t in m["data"]]
    return []


def upbit(m):
    if is_object(m, "ty") and m["ty"] == "trade":
        return [(m["cd"], m["sid"])]
    if is_object(m, "type", "code") and m["type"] == "trade":
        return [(m["code"], m["sequential_id"])]
    return []


def bitmex(m):
    if is_object(m, "table", "data") and m["table"] == "trade":
        return [(t["symbol"], t["timestamp"], t["trdMatchID"]) for t in m["data"]]
    return []


def gemini(m):
    if is_object(m, "type", "event_id") and m["type"] == "trade":
        return [(m["symbol"], m["event_id"])]
    return []


def hitbtc(m):
    if is_object(m, "method") and m["method"] in ("snapshotTrades", "updateTrades"):
        return [(m["params"]["symbol"], t["id"]) for t in m["params"]["data"]]
    return []


def stocks(kind, name, *parts):
    def rule(m):
        elements = m if isinstance(m, list) else []
        return [tuple(t[part] for part in parts)
                for t in elements if is_object(t, kind) and t[kind] == name]
    return rule


def tardis(m):
    if is_object(m, "type", "exchange") and m["type"] == "trade":
        return [(m["exchange"], m["symbol"], m["id"])]
    return []


def ccxt(m):
    return [(m["symbol"], m["id"])] if is_object(m, "info", "symbol", "price", "id") else []


RULES = {
    "binance-spot": binance("trade", "t"),
    "binance-usdm": binance("trade", "t"),
    "binance-coinm": binance("trade", "t"),
    "binance-aggtrade": binance("aggTrade", "a"),
    "coinbase-exchange": coinbase_exchange,
    "coinbase-advanced": coinbase_advanced,
    "kraken": kraken,
    "kraken-futures": kraken_futures,
    "bitfinex": bitfinex,
    "bybit": bybit,
    "okx": okx,
    "bitstamp": bitstamp,
    "deribit": deribit,
    "dydx": dydx,
    "hyperliquid": hyperliquid,
    "gateio": gateio,
    "kucoin": kucoin,
    "huobi": lambda m: huobi(m, "tradeId", True),
    "huobi-swap": lambda m: huobi(m, "id", False),
    "ascendex": ascendex,
    "upbit": upbit,
    "bitmex": bitmex,
    "gemini": gemini,
    "hitbtc": hitbtc,
    "polygon-stocks": stocks("ev", "T", "sym", "x", "i"),
    "alpaca-stocks": stocks("T", "t", "S", "x", "z", "i"),
    "tardis": tardis,
    "ccxt": ccxt,
}


def count(path):
    """{feed: (lines with trades, trades, distinct keys)} for every feed that there is a rule for."""
    lines = dict.fromkeys(RULES, 0)
    trades = dict.fromkeys(RULES, 0)
    keys = {name: set() for name in RULES}
    with open(path, "rb") as capture:
        for line in capture:
            message = read(line)
            for name, rule in RULES.items():
                found = rule(message)
                lines[name] += bool(found)
                trades[name] += len(found)
                keys[name].update(found)
    return {name: (lines[name], trades[name], len(keys[name])) for name in RULES}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for feed, counts in count(sys.argv[1]).items():
        print(feed, *counts)
