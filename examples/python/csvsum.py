#!/usr/bin/env python3
"""csvsum.py - sum a column of a CSV file by the values of another.

A step of an ETL job: reads a file of any size with progress, writes the sums
to another.  That one is there whole or not at all, and is the same whichever
attempt wrote it: running twice, or two attempts at once, do no harm.

    [handler csvsum]
    type = etl.csvsum
    command = python3 /usr/local/share/qo/examples/python/csvsum.py
    mode = serve
    instances = 2

    qo submit -t etl.csvsum -i '{"from": "/data/sales.csv",
        "to": "/data/sums.csv", "key": "country", "value": "amount"}'
"""

import csv
import decimal
import os

import qo


def sums_of(task, source, key, value):
    size = max(1, os.fstat(source.fileno()).st_size)
    rows = csv.DictReader(iter(source.readline, ""))
    for name in (key, value):
        if name not in (rows.fieldnames or []):
            raise qo.Fail("the file has no column %r" % name)
    sums = {}
    for n, row in enumerate(rows, 1):
        try:
            amount = decimal.Decimal(row[value])
        except (decimal.InvalidOperation, TypeError):
            raise qo.Fail("row %d: %r is no number" % (n, row[value]))
        sums[row[key]] = sums.get(row[key], 0) + amount
        if n % 10000 == 0:
            task.check()  # ends here when the task was cancelled
            task.progress({"percent": 100 * source.tell() // size})
    return sums


def write(sums, key, value, target, part):
    try:
        with open(part, "w", newline="") as f:
            out = csv.writer(f)
            out.writerow([key, value])
            out.writerows(sorted(sums.items()))
            f.flush()
            os.fsync(f.fileno())
        os.rename(part, target)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


@qo.handler("etl.csvsum")
def csvsum(task):
    try:
        args = [task.input[n] for n in ("from", "to", "key", "value")]
        path, target, key, value = args
    except (KeyError, TypeError):
        raise qo.Fail('the input needs "from", "to", "key" and "value"')
    try:
        source = open(path, newline="")
    except FileNotFoundError:
        raise qo.Retry("%s is not there yet" % path, delay=1)
    with source:
        sums = sums_of(task, source, key, value)
    write(sums, key, value, target, "%s.%s.%d" % (
        target, task.id, task.attempt))
    print("%d groups in %s" % (len(sums), target))  # goes to the log
    return {"groups": len(sums), "total": str(sum(sums.values()))}


qo.run()
