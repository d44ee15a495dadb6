#!/usr/bin/env python3
"""Time zones and cron against Python's zoneinfo and plain counting.

lib/tz.c must say what zoneinfo says of many zones and instants, the far
future included.  Times of cron expressions are found here by looking at every
minute: nothing of lib/cron.c's way of searching is used.
"""
import datetime
import os
import random
import re
import subprocess
import sys
import zoneinfo

TOOL = os.path.join(os.environ["B"], "tests/tools/tzcron")
UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1)
RNG = random.Random(20260329)

ZONES = [
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Dublin",
    "America/New_York", "America/Sao_Paulo", "America/St_Johns",
    "America/Caracas", "Australia/Lord_Howe", "Australia/Sydney",
    "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tehran", "Asia/Gaza",
    "Asia/Pyongyang", "Africa/Casablanca", "Africa/Cairo", "Pacific/Apia",
    "Pacific/Chatham", "Pacific/Kwajalein", "Antarctica/Troll",
    "America/Nuuk", "Etc/GMT+12", "EST5EDT",
]
# minute hour day month weekday
EXPRESSIONS = [
    "* * * * *", "*/5 * * * *", "30 * * * *", "0 */2 * * *", "7 0-23 * * *",
    "0 0 * * *", "30 2 * * *", "*/15 2 * * *", "0,30 1-3 * * *",
    "59 23 * * *", "15 0 * * *", "0 12 * * sun", "5 1,2,3 1 * *",
    "0 0 13 * fri", "45 3 * oct,mar 7", "10 2 */2 * 1-5",
]

failures = 0


def report(name, why=None):
    global failures
    if why is None:
        print(f"ok {name}")
    else:
        failures += 1
        print(f"not ok {name}: {why}")


def ask(*words, numbers=()):
    text = "".join(f"{n}\n" for n in numbers)
    done = subprocess.run([TOOL, *words], input=text, text=True, check=True,
                          capture_output=True, timeout=120)
    return done.stdout.splitlines()


def instant(t):
    return datetime.datetime.fromtimestamp(t, UTC)


def local(zone, t):
    """What the clock shows, in seconds as if it were UTC."""
    shown = instant(t).astimezone(zone)
    return int((shown.replace(tzinfo=None) - EPOCH).total_seconds())


def transitions(zone, first, last):
    """Instants at which the offset changes, by halving."""
    found = []
    step = 6 * 3600
    offset = instant(first).astimezone(zone).utcoffset()
    for t in range(first + step, last, step):
        now = instant(t).astimezone(zone).utcoffset()
        if now == offset:
            continue
        lo, hi = t - step, t
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if instant(mid).astimezone(zone).utcoffset() == offset:
                lo = mid
            else:
                hi = mid
        found.append(hi)
        offset = now
    return found


def check_local(name, zone, moments):
    lines = ask("local", name, numbers=moments)
    for t, line in zip(moments, lines, strict=True):
        d = instant(t).astimezone(zone)
        offset = int(d.utcoffset().total_seconds())
        want = (f"{d:%Y-%m-%d %H:%M:%S} {d.isoweekday() % 7} {offset} "
                f"{d.tzname()}")
        if d.year < 1000:
            want = "0" * (4 - len(str(d.year))) + want.lstrip("0")
        if line != want:
            return f"{t}: {line}, not {want}"
    return None


def check_instants(name, zone, readings):
    lines = ask("instants", name, numbers=readings)
    for reading, line in zip(readings, lines, strict=True):
        naive = EPOCH + datetime.timedelta(seconds=reading)
        want = set()
        for fold in (0, 1):
            t = int(naive.replace(tzinfo=zone, fold=fold).timestamp())
            if local(zone, t) == reading:
                want.add(t)
        if [int(w) for w in line.split()] != sorted(want):
            return f"{naive}: {line}, not {sorted(want)}"
    return None


# Cron by counting

NAMES = {n: i for i, n in enumerate(
    "jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
NAMES.update({n: i for i, n in enumerate(
    "sun mon tue wed thu fri sat".split())})


def members(text, low, high):
    out = set()
    for item in text.split(","):
        body, _, step = item.partition("/")
        if body == "*":
            first, last = low, high
        else:
            ends = [NAMES[e] if e in NAMES else int(e)
                    for e in body.split("-")]
            first, last = ends[0], ends[-1]
        out.update(range(first, last + 1, int(step or 1)))
    return out


class Cron:
    def __init__(self, text):
        f = text.split()
        self.minutes = members(f[0], 0, 59)
        self.hours = members(f[1], 0, 23)
        self.days = members(f[2], 1, 31)
        self.months = members(f[3], 1, 12)
        self.wdays = {d % 7 for d in members(f[4], 0, 6)}
        self.either = "*" not in f[2] and "*" not in f[4]
        self.running = "*" in f[1] or len(self.hours) == 24

    def matches(self, reading):
        if reading % 60 != 0:
            return False
        d = EPOCH + datetime.timedelta(seconds=reading)
        day = d.day in self.days
        wday = d.isoweekday() % 7 in self.wdays
        return (d.minute in self.minutes and d.hour in self.hours and
                d.month in self.months and
                ((day or wday) if self.either else (day and wday)))


def due_times(cron, clock, start, after):
    """clock[i] is the reading at start + 60 i; times after `after'."""
    due = []
    high = clock[0]
    for i, reading in enumerate(clock):
        t = start + 60 * i
        if cron.running:
            hit = cron.matches(reading)
        else:
            # All that is shown, or was passed over, for the first time.
            hit = any(cron.matches(r)
                      for r in range(high + 60, reading + 1, 60))
            high = max(high, reading)
        if hit and t > after:
            due.append(t)
    return due


def check_cron(name, zone, moments):
    for moment in moments:
        # Two days before, so that what was shown before is known.
        start = moment // 60 * 60 - 3 * 86400
        after = start + 86400
        clock = [local(zone, start + 60 * i) for i in range(7 * 1440)]
        if any(r % 60 for r in clock):
            continue  # local mean time: no whole minutes
        for text in EXPRESSIONS:
            want = due_times(Cron(text), clock, start, after)
            lines = ask("next", name, text, str(after), str(len(want)))
            got = [int(x) for x in lines]
            if got != want:
                bad = sorted(set(got) ^ set(want))[:3]
                return f"{text!r} after {instant(after)}: {bad}"
    return None


def main():
    now = int(datetime.datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    year = 31556952
    for name in ZONES:
        try:
            zone = zoneinfo.ZoneInfo(name)
        except zoneinfo.ZoneInfoNotFoundError:
            print(f"skip tz {name}: not in this database")
            continue
        changes = transitions(zone, now - 30 * year, now + 20 * year)
        changes += transitions(zone, now + 300 * year, now + 302 * year)
        old = transitions(zone, now - 60 * year, now - 30 * year)
        moments = [RNG.randrange(now - 200 * year, now + 1000 * year)
                   for _ in range(500)]
        for c in changes + old:
            moments += [c - 1, c, c + 1, c - 3600, c + 3599, c + 3600]
        report(f"tz local {name}", check_local(name, zone, moments))
        readings = [m + 1800 * k for m in moments[500:] for k in (-3, 0, 5, 21)]
        readings += moments[:500]
        report(f"tz instants {name}", check_instants(name, zone, readings))
        picked = RNG.sample(changes, min(2, len(changes)))
        # A day that was skipped, and one that was had twice.
        if name == "Pacific/Apia":
            picked.append(1325239200)
        if name == "Pacific/Kwajalein":
            picked.append(745934400)
        picked.append(RNG.randrange(now, now + 5 * year))
        report(f"cron {name}", check_cron(name, zone, picked))
    bad = subprocess.run([TOOL, "local", "../../etc/passwd"], text=True,
                         capture_output=True, check=False)
    report("tz name", None if bad.returncode == 2 and
           re.search("is no time zone", bad.stderr) else bad.stderr)
    sys.exit(1 if failures else 0)


main()
