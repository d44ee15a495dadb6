"""A strict reader of Prometheus' text format, for what /metrics says."""

import re

SAMPLE = re.compile(
    r'([a-zA-Z_:][a-zA-Z0-9_:]*)'
    r'(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"(?:,(?!\})|(?=\})))'
    r'+\})?'
    r' (-?[0-9.]+(?:e[+-]?[0-9]+)?)$')


def family_of(name, types):
    """A histogram's series have names of their own."""
    base = re.sub("_(bucket|sum|count)$", "", name)
    if base != name and types.get(base) == "histogram":
        return base
    assert types.get(name) in ("counter", "gauge"), name
    assert name.endswith("_total") == (types[name] == "counter"), name
    return name


def check_histograms(samples, types):
    """Buckets rise, and the last of them is the count."""
    rows = {}
    for key, value in samples.items():
        m = re.match(r'(\w+)_bucket(\{.*),le="([^"]+)"\}$', key)
        if m:
            rows.setdefault((m.group(1), m.group(2) + "}"), []).append(
                (float(m.group(3)), value))
    for (name, labels), buckets in rows.items():
        assert types[name] == "histogram", name
        assert buckets == sorted(buckets), (name, labels, buckets)
        values = [v for _, v in buckets]
        assert values == sorted(values), (name, labels, buckets)
        assert buckets[-1] == (float("inf"), samples[name + "_count" + labels])
        assert name + "_sum" + labels in samples, (name, labels)


def read(text):
    """({name and labels: value}, {family: type}); any mistake is an error."""
    samples, types, helped, last, done = {}, {}, set(), None, set()
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        m = re.match(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$", line)
        if m and m.group(1) == "HELP":
            assert m.group(2) not in helped, line
            helped.add(m.group(2))
            continue
        if m:
            assert m.group(2) in helped and m.group(2) not in types, line
            types[m.group(2)] = m.group(3)
            continue
        m = SAMPLE.match(line)
        assert m, "no sample: " + line
        family = family_of(m.group(1), types)
        if family != last:
            assert family not in done, "not in one piece: " + line
            done.add(family)
            last = family
        key = m.group(1) + (m.group(2) or "")
        assert key not in samples, "twice: " + line
        samples[key] = float(m.group(3))
    assert done == helped == set(types), (done, helped)
    check_histograms(samples, types)
    return samples, types
